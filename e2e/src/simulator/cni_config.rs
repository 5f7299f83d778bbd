//! `install-cni`: the CNI configuration a Windows node gets, and what is wrong with it
//! (`cni-plugin/pkg/install/{install,install_windows}.go`).

use std::net::Ipv4Addr;

use serde_json::Value;

use super::agent::AgentInput;
use super::containers::Env;
use super::failure::{Kind, Verdict, api_endpoint, refuse};
use super::ipam::Cidr;

/// Rules of the container, in the order it would stumble over them.
pub const RULES: &[fn(&AgentInput<'_>) -> Verdict] = &[endpoint, ipam_type, valid_json, complete, mode];

/// In a HostProcess container the installer goes "in cluster" with these two variables, to write the
/// plugin's kubeconfig and to ask for its token (`rest.InClusterConfig`).
fn endpoint(input: &AgentInput<'_>) -> Verdict {
    let Some(env) = input.install else { return Ok(()) };
    let host = env.get("KUBERNETES_SERVICE_HOST").map_or("", String::as_str);
    refuse(
        env.get("KUBERNETES_SERVICE_PORT").is_none_or(String::is_empty),
        Kind::Exit,
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined",
    )?;
    api_endpoint(host, input.cluster_ip, Kind::Exit)
}

/// `replacePlatformSpecificVars`: `log.Fatalf`.
fn ipam_type(input: &AgentInput<'_>) -> Verdict {
    let Some(env) = input.install else { return Ok(()) };
    let ipam = get(env, "CNI_IPAM_TYPE", "calico-ipam");
    refuse(
        backend(env) == "vxlan" && ipam != "calico-ipam",
        Kind::Exit,
        format!("Calico VXLAN requires IPAM type calico-ipam, not {ipam}"),
    )
}

/// `writeCNIConfig`: what stands after the replacements must be a JSON object.
fn valid_json(input: &AgentInput<'_>) -> Verdict {
    let Some(text) = input.install.and_then(rendered) else {
        return Ok(());
    };
    let parsed = serde_json::from_str::<serde_json::Map<String, Value>>(&text);
    let error = parsed.as_ref().err().map(ToString::to_string).unwrap_or_default();
    refuse(
        parsed.is_err(),
        Kind::Exit,
        format!("{text} is not a valid json object\nerror: {error}"),
    )
}

/// Stricter than the installer, which writes whatever it is given: HNS refuses an empty or malformed
/// exception of the outbound NAT and an empty name server only when the first pod starts, and no pod's
/// sandbox is made here. The installer's own defaults (`10.96.0.10` for both) serve no cluster.
fn complete(input: &AgentInput<'_>) -> Verdict {
    let Some(plugin) = input.install.and_then(plugin) else {
        return Ok(());
    };
    let incomplete = |what: &str| format!("CNI configuration is incomplete: {what}");
    let leftover = plugin.to_string().contains("\"__");
    refuse(
        leftover,
        Kind::Exit,
        incomplete("a placeholder was left in place"),
    )?;
    let servers = strings(&plugin["DNS"]["Nameservers"]);
    let usable = !servers.is_empty() && servers.iter().all(|server| server.parse::<Ipv4Addr>().is_ok());
    refuse(!usable, Kind::Exit, incomplete("no usable DNS name servers"))?;
    let exceptions = policy_value(&plugin, "OutBoundNAT").map(|value| strings(&value["ExceptionList"]));
    let usable = exceptions.is_some_and(|list| !list.is_empty() && list.iter().all(|one| is_network(one)));
    refuse(!usable, Kind::Exit, incomplete("no usable service CIDRs"))
}

/// Stricter than the installer: mode and backend are set in two places, and pods get no network when
/// they differ (`cni-plugin/pkg/dataplane/windows/dataplane_windows.go` picks the HNS network by mode).
fn mode(input: &AgentInput<'_>) -> Verdict {
    let Some(plugin) = input.install.and_then(plugin) else {
        return Ok(());
    };
    let mode = plugin["mode"].as_str().unwrap_or_default();
    let backend = get(input.node, "CALICO_NETWORKING_BACKEND", "");
    refuse(
        ["vxlan", "windows-bgp"].contains(&backend) && mode != backend,
        Kind::Exit,
        format!("CNI mode \"{mode}\" is not the node's backend \"{backend}\""),
    )
}

fn plugin(env: &Env) -> Option<Value> {
    let config: Value = serde_json::from_str(&rendered(env)?).ok()?;
    Some(
        config["plugins"]
            .as_array()?
            .iter()
            .find(|plugin| plugin["type"] == "calico")?
            .clone(),
    )
}

fn policy_value<'a>(plugin: &'a Value, kind: &str) -> Option<&'a Value> {
    let policies = plugin["policies"].as_array()?;
    policies
        .iter()
        .map(|policy| &policy["Value"])
        .find(|value| value["Type"] == kind)
}

fn is_network(text: &str) -> bool {
    Cidr::parse(text).is_some()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|one| one.as_str().unwrap_or_default())
        .collect()
}

/// The template after the installer's replacements. Without one the installer uses its own, which has
/// every field and is filled from the same variables.
fn rendered(env: &Env) -> Option<String> {
    let template = env.get("CNI_NETWORK_CONFIG").filter(|text| !text.is_empty())?;
    let cidrs = quoted(get(env, "KUBERNETES_SERVICE_CIDRS", "10.96.0.10"));
    let route = |cidr: &String| {
        format!(
            r#"{{"Name": "EndpointPolicy", "Value": {{"Type": "__ROUTE_TYPE__", "DestinationPrefix": {cidr}, "NeedEncap": true}}}}"#
        )
    };
    let routes: Vec<String> = cidrs.iter().map(route).collect();
    let routes = routes.join(",\n");
    let (cidrs, servers) = (
        cidrs.join(","),
        quoted(get(env, "KUBERNETES_DNS_SERVERS", "10.96.0.10")).join(","),
    );
    let replacements = [
        ("__KUBECONFIG_FILEPATH__", "c:/etc/cni/net.d/calico-kubeconfig"),
        (
            "__LOG_FILE_PATH__",
            get(env, "LOG_FILE_PATH", "c:/var/log/calico/cni/cni.log"),
        ),
        ("__LOG_FILE_MAX_SIZE__", get(env, "LOG_FILE_MAX_SIZE", "100")),
        ("__LOG_FILE_MAX_AGE__", get(env, "LOG_FILE_MAX_AGE", "30")),
        ("__LOG_FILE_MAX_COUNT__", get(env, "LOG_FILE_MAX_COUNT", "10")),
        ("__LOG_LEVEL__", get(env, "LOG_LEVEL", "info")),
        ("__KUBERNETES_SERVICE_CIDRS__", &cidrs),
        ("__KUBERNETES_ROUTE_POLICIES__", &routes),
        // After the route policies, which contain it.
        ("__ROUTE_TYPE__", get(env, "ROUTE_TYPE", "SDNROUTE")),
        ("__VNI__", get(env, "VXLAN_VNI", "4096")),
        ("__MAC_PREFIX__", get(env, "MAC_PREFIX", "0E-2A")),
        (
            "__NODENAME_FILE__",
            get(env, "CALICO_NODENAME_FILE", "c:/var/run/calico/nodename"),
        ),
        ("__KUBERNETES_DNS_SERVERS__", &servers),
        ("__MODE__", backend(env)),
        ("__IPAM_TYPE__", get(env, "CNI_IPAM_TYPE", "calico-ipam")),
        ("\"__DSR_SUPPORT__\"", "true"),
        ("__DATASTORE_TYPE__", get(env, "DATASTORE_TYPE", "kubernetes")),
        (
            "__KUBERNETES_NODE_NAME__",
            get(env, "KUBERNETES_NODE_NAME", "hostname"),
        ),
        ("__CNI_MTU__", get(env, "CNI_MTU", "1500")),
        (
            "__KUBERNETES_SERVICE_HOST__",
            get(env, "KUBERNETES_SERVICE_HOST", ""),
        ),
        (
            "__KUBERNETES_SERVICE_PORT__",
            get(env, "KUBERNETES_SERVICE_PORT", ""),
        ),
        ("__SERVICEACCOUNT_TOKEN__", "token"),
        ("__ETCD_KEY_FILE__", ""),
        ("__ETCD_CERT_FILE__", ""),
        ("__ETCD_CA_CERT_FILE__", ""),
        ("__ETCD_ENDPOINTS__", get(env, "ETCD_ENDPOINTS", "")),
        ("__ETCD_DISCOVERY_SRV__", get(env, "ETCD_DISCOVERY_SRV", "")),
    ];
    Some(
        replacements
            .iter()
            .fold(template.clone(), |text, (name, value)| text.replace(name, value)),
    )
}

fn backend(env: &Env) -> &str {
    match get(env, "CALICO_NETWORKING_BACKEND", "vxlan") {
        "bird" | "bgp" => "windows-bgp",
        other => other,
    }
}

fn quoted(list: &str) -> Vec<String> {
    list.split(',').map(|one| format!("\"{}\"", one.trim())).collect()
}

/// `getEnv` of the installer: a variable that is set and empty stays empty.
fn get<'a>(env: &'a Env, name: &str, default: &'a str) -> &'a str {
    env.get(name).map_or(default, String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::agent::tests::{Case, check};

    const fn exits(text: &'static str) -> Option<(Kind, &'static str)> {
        Some((Kind::Exit, text))
    }

    #[test]
    fn install_cni() {
        let set = |name: &'static str, value: &'static str| {
            move |case: &mut Case| drop(case.install.insert(name.to_owned(), value.to_owned()))
        };
        check(RULES, "good", |_| {}, None);
        check(
            RULES,
            "no host",
            set("KUBERNETES_SERVICE_HOST", ""),
            exits("host must be a URL"),
        );
        check(
            RULES,
            "no port",
            set("KUBERNETES_SERVICE_PORT", ""),
            exits("in-cluster configuration"),
        );
        check(
            RULES,
            "ClusterIP",
            set("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
            exits("before kube-proxy"),
        );
        check(
            RULES,
            "host-local",
            set("CNI_IPAM_TYPE", "host-local"),
            exits("requires IPAM type calico-ipam"),
        );
        check(
            RULES,
            "no JSON",
            set("CNI_NETWORK_CONFIG", "{\"a\": __VNI__,}"),
            exits("not a valid json object"),
        );
        check(
            RULES,
            "no object",
            set("CNI_NETWORK_CONFIG", "[]"),
            exits("not a valid json object"),
        );
        check(
            RULES,
            "bad VNI",
            set("VXLAN_VNI", ""),
            exits("not a valid json object"),
        );
        check(
            RULES,
            "no CIDRs",
            set("KUBERNETES_SERVICE_CIDRS", ""),
            exits("no usable service CIDRs"),
        );
        check(
            RULES,
            "two CIDRs",
            set("KUBERNETES_SERVICE_CIDRS", "10.96.0.0/12, 10.112.0.0/16"),
            None,
        );
        check(
            RULES,
            "no DNS",
            set("KUBERNETES_DNS_SERVERS", ""),
            exits("no usable DNS name servers"),
        );
        check(
            RULES,
            "other mode",
            set("CALICO_NETWORKING_BACKEND", "bgp"),
            exits("not the node's backend"),
        );
    }

    #[test]
    fn default_service_cidr_serves_nobody() {
        let unset = |case: &mut Case| drop(case.install.remove("KUBERNETES_SERVICE_CIDRS"));
        check(RULES, "CIDRs unset", unset, exits("no usable service CIDRs"));
    }
}
