//! What keeps flannel, or an agent of static routes, from networking a Windows node, and the HNS network it makes.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use serde_json::Value;

use super::containers::{Files, Resolved};
use super::engine::Shared;
use super::failure::{Failure, Kind, Verdict, api_endpoint, refuse};
use super::faults::Fault;
use super::ipam::Cidr;
use super::kube_proxy::Network;
use super::node::{self, Seen, View, failed, given, is_host_process, start_id};
use super::pod_status::Outcome;

/// HNS accepts no lower one (`pkg/backend/vxlan/vxlan_windows.go`), and this port only.
const LOWEST_VNI: i64 = 4096;
const PORT: i64 = 4789;

/// All such an agent reads.
pub struct Input<'a> {
    pub host_process: bool,
    pub container: &'a Resolved,
    pub pod_cidr: Option<&'a str>,
    pub node_name: &'a str,
    pub node_ip: Option<&'a str>,
    pub cluster_ip: Option<&'a str>,
}

/// What becomes of the agent in `pod` now.
pub fn look(shared: &Shared, view: &mut View, pod: &Pod) -> Seen {
    let id = start_id(pod);
    let crash = view.faults.iter().find_map(|fault| fault.network_agent_crash());
    if crash.is_some() {
        view.run.started.remove(&id);
    }
    if view.run.started.contains_key(&id) {
        return running(view);
    }
    let given = match given(shared, view, pod, Fault::NetworkAgentImagePull) {
        Ok(given) => given,
        Err(seen) => return seen,
    };
    let Some(container) = given.first() else {
        return (Outcome::Running, Some("the pod has no container".to_owned()));
    };
    if let Some(words) = crash {
        return failed(view, pod, &container.name, Failure::exit(words));
    }
    let cluster_ip = shared.cache().cluster_ip.clone();
    let name = view.node.name_any();
    let made = start(&Input {
        host_process: is_host_process(pod),
        container,
        pod_cidr: pod_cidr(&view.node),
        node_name: &name,
        node_ip: view.ip.as_deref(),
        cluster_ip: cluster_ip.as_deref(),
    });
    match made {
        Err(failure) => {
            node::reread(view, pod);
            failed(view, pod, &container.name, failure)
        }
        Ok(network) => {
            view.run.other = Some(network);
            view.run.started.insert(id, view.at.clone());
            running(view)
        }
    }
}

fn running(view: &View) -> Seen {
    if view.faults.contains(&Fault::NetworkAgentNotReady) {
        (
            Outcome::Running,
            Some("the network is not made: injected".to_owned()),
        )
    } else {
        (Outcome::Ready, None)
    }
}

/// The HNS network, or why there is none.
pub fn start(input: &Input<'_>) -> Result<(String, Network), Failure> {
    refuse(
        !input.host_process,
        Kind::Create,
        "container is not a HostProcess container: windowsOptions.hostProcess and hostNetwork are needed",
    )?;
    let network = match file(input, "net-conf.json") {
        Some(conf) => flannel(input, conf)?,
        None => static_routes(input)?,
    };
    cni(input, &network.0)?;
    Ok(network)
}

/// flanneld: configuration, API server, its Node, then the backend.
fn flannel(input: &Input<'_>, conf: &str) -> Result<(String, Network), Failure> {
    let conf: Value = serde_json::from_str(conf)
        .map_err(|error| exit(format!("Failed to parse net-conf.json: {error}")))?;
    let host = env(input, "KUBERNETES_SERVICE_HOST");
    api_endpoint(host, input.cluster_ip, Kind::Exit)?;
    let name = env(input, "NODE_NAME");
    refuse(
        name != input.node_name,
        Kind::Exit,
        format!("Failed to create SubnetManager: error retrieving pod spec for '{name}'"),
    )?;
    refuse(
        input.pod_cidr.is_none(),
        Kind::Exit,
        format!("Error registering network: failed to acquire lease: node \"{name}\" pod cidr not assigned"),
    )?;
    interface(input)?;
    let backend = &conf["Backend"];
    let given = backend["Name"].as_str();
    match backend["Type"].as_str().unwrap_or_default() {
        "host-gw" => Ok((given.unwrap_or("cbr0").to_owned(), Network::L2Bridge)),
        "vxlan" => {
            let vni = backend["VNI"].as_i64().unwrap_or(LOWEST_VNI);
            let port = backend["Port"].as_i64().unwrap_or(PORT);
            refuse(
                vni < LOWEST_VNI,
                Kind::Exit,
                format!("invalid VNI [{vni}]. VNI must be greater than or equal to {LOWEST_VNI}"),
            )?;
            refuse(
                port != PORT,
                Kind::Exit,
                format!("invalid Port [{port}]. Port must be {PORT}"),
            )?;
            let name = given.map_or_else(|| format!("flannel.{vni}"), str::to_owned);
            Ok((name, Network::Overlay))
        }
        other => Err(exit(format!("unknown backend type: {other}"))),
    }
}

/// microsoft/SDN `AddRoutes.ps1` and `start-kubelet.ps1`: a bridge of the node's range, whatever its name.
fn static_routes(input: &Input<'_>) -> Result<(String, Network), Failure> {
    interface(input)?;
    let nodes = file(input, "nodes").unwrap_or_default();
    let own = nodes.lines().find_map(|line| {
        let mut parts = line.split(' ');
        let (cidr, _, name) = (parts.next()?, parts.next()?, parts.next()?);
        (name == input.node_name).then_some(cidr)
    });
    let usable = own.is_some_and(|cidr| Cidr::parse(cidr).is_some() && input.pod_cidr == Some(cidr));
    refuse(
        !usable,
        Kind::Waits,
        "the node's range of pod addresses is not known",
    )?;
    Ok((env(input, "HNS_NETWORK").to_owned(), Network::L2Bridge))
}

fn interface(input: &Input<'_>) -> Verdict {
    let wanted = env(input, "NODE_IP");
    refuse(
        input.node_ip != Some(wanted),
        Kind::Exit,
        format!(
            "failed to find interface to use that matches the interfaces and/or regexes provided: {wanted}"
        ),
    )
}

/// Stricter than any installer: pods get no network when the configuration is of another network than the one made.
fn cni(input: &Input<'_>, network: &str) -> Verdict {
    let text = file(input, "cni.conf").unwrap_or_default();
    let conf: Value = serde_json::from_str(text).unwrap_or_default();
    let name = conf["name"].as_str().unwrap_or_default();
    refuse(
        name != network,
        Kind::Exit,
        format!("CNI configuration is of network {name:?}, the node has {network:?}"),
    )
}

/// A file of any mounted ConfigMap.
fn file<'a>(input: &'a Input<'_>, name: &str) -> Option<&'a str> {
    let mounts = input.container.mounts.values();
    mounts
        .filter_map(|files: &Files| files.get(name))
        .map(String::as_str)
        .next()
}

fn env<'a>(input: &'a Input<'_>, name: &str) -> &'a str {
    input.container.env.get(name).map_or("", String::as_str)
}

fn exit(message: String) -> Failure {
    Failure {
        kind: Kind::Exit,
        message,
    }
}

fn pod_cidr(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.pod_cidr.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// flannel with this backend on a node where all else is right.
    fn flannel(backend: &str, spoil: impl FnOnce(&mut Resolved)) -> Result<(String, Network), String> {
        let files = [
            ("net-conf.json", format!(r#"{{"Backend": {backend}}}"#)),
            ("cni.conf", r#"{"name": "flannel.4096"}"#.to_owned()),
        ];
        let env = [
            ("NODE_NAME", "win-0"),
            ("NODE_IP", "172.20.0.2"),
            ("KUBERNETES_SERVICE_HOST", "172.20.0.1"),
        ];
        let mut container = Resolved {
            env: env.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            mounts: [("/etc/x".to_owned(), files.map(|(k, v)| (k.to_owned(), v)).into())].into(),
            ..Resolved::default()
        };
        spoil(&mut container);
        start(&Input {
            host_process: true,
            container: &container,
            pod_cidr: Some("10.244.1.0/24"),
            node_name: "win-0",
            node_ip: Some("172.20.0.2"),
            cluster_ip: Some("10.96.0.1"),
        })
        .map_err(|failure| failure.message)
    }

    #[test]
    fn makes_what_the_configuration_says() {
        let good = r#"{"Type": "vxlan", "VNI": 4096, "Port": 4789}"#;
        let made = flannel(good, |_| {});
        assert_eq!(made, Ok(("flannel.4096".to_owned(), Network::Overlay)));
        let low = flannel(r#"{"Type": "vxlan", "VNI": 1}"#, |_| {});
        assert!(low.unwrap_err().contains("invalid VNI [1]"));
        let port = flannel(r#"{"Type": "vxlan", "VNI": 4096, "Port": 8472}"#, |_| {});
        assert!(port.unwrap_err().contains("invalid Port [8472]"));
        let other = flannel(r#"{"Type": "host-gw"}"#, |_| {});
        assert!(other.unwrap_err().contains("CNI configuration is of network"));
        let service = |container: &mut Resolved| {
            container
                .env
                .insert("KUBERNETES_SERVICE_HOST".to_owned(), "10.96.0.1".to_owned());
        };
        assert!(flannel(good, service).is_err());
    }
}
