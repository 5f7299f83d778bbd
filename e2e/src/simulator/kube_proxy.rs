//! What keeps kube-proxy from starting on a Windows node: one small rule each, in the order the start
//! script and then the program meet them. How the program ends is taken from the record of what the Windows
//! binary of each minor was seen to do (`seen.rs`); the script cannot be run, its rules are read off it.

use std::collections::BTreeMap;

use super::containers::{Env, Resolved};
use super::failure::{Kind, Verdict, api_endpoint, refuse};
use super::gates;
use super::seen::{self, TestCluster};

/// Newest minor whose behaviour is known: what an image without a readable version is taken for.
const NEWEST_MINOR: u32 = 37;

/// HNS network that Calico makes, and the node's own endpoint in it.
const CALICO: &str = "Calico";
const ENDPOINT: &str = "Calico_ep";
/// The IPAM plugin that reserves a source VIP where nothing has one (rke2 `pkg/windows/flannel.go`).
const HOST_LOCAL: &str = "host-local";

/// Type of an HNS network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    L2Bridge,
    Overlay,
}

/// The start script, as far as it can be found.
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// The image's own (`hostprocess/calico/kube-proxy/start.ps1` of sig-windows-tools): adds `--source-vip`.
    Image,
    /// From a ConfigMap mounted where the arguments look for it.
    Mounted(String),
    /// A ConfigMap is mounted there, and has no such file.
    Missing(String),
}

/// All kube-proxy and its start script read.
pub struct ProxyInput<'a> {
    pub host_process: bool,
    pub script: Script,
    pub flags: BTreeMap<String, String>,
    pub minor: u32,
    pub env: &'a Env,
    pub node_name: &'a str,
    pub cluster_ip: Option<&'a str>,
    /// Windows version, `10.0.<build>.<revision>`.
    pub kernel: &'a str,
    pub network: Option<Network>,
    /// Name and type of the node's other HNS network.
    pub other: Option<(&'a str, Network)>,
    /// Does HNS endpoint `Calico_ep` exist?
    pub endpoint: bool,
}

pub fn start(input: &ProxyInput<'_>) -> Verdict {
    RULES.iter().try_for_each(|rule| rule(input))
}

const RULES: &[fn(&ProxyInput<'_>) -> Verdict] = &[
    host_process,
    script,
    network,
    source_endpoint,
    proxy_mode,
    feature_gates,
    kubeconfig,
    node_name,
    dsr_gate,
    dsr_platform,
    overlay_gate,
    source_vip,
];

fn host_process(input: &ProxyInput<'_>) -> Verdict {
    refuse(
        !input.host_process,
        Kind::Create,
        "container is not a HostProcess container: windowsOptions.hostProcess and hostNetwork are needed",
    )
}

/// `powershell.exe -File` with a file that is not there.
fn script(input: &ProxyInput<'_>) -> Verdict {
    let Script::Missing(path) = &input.script else {
        return Ok(());
    };
    refuse(
        true,
        Kind::Exit,
        format!("The argument '{path}' to the -File parameter does not exist."),
    )
}

/// Every start script waits for the HNS network first; without one kube-proxy would say
/// `could not find HNS network`.
fn network(input: &ProxyInput<'_>) -> Verdict {
    refuse(
        network_type(input).is_none(),
        Kind::Waits,
        format!("waiting for HNS network {}", network_name(input)),
    )
}

/// `NewProxier`: the flag, else the environment; the image's own script sets the latter.
fn network_name<'a>(input: &'a ProxyInput<'_>) -> &'a str {
    let of_env = || input.env.get("KUBE_NETWORK").map_or("", String::as_str);
    [flag(input, "network-name"), of_env()]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or(CALICO)
}

/// The network of its configuration, if the node has it.
fn network_type(input: &ProxyInput<'_>) -> Option<Network> {
    let name = network_name(input);
    if name == CALICO {
        return input.network;
    }
    input
        .other
        .filter(|(other, _)| *other == name)
        .map(|(_, network)| network)
}

/// The script waits for the endpoint whose address is the source VIP; it is made with the tunnel address
/// (`createAndAttachVxlanHostEP`, `cni-plugin/pkg/dataplane/windows/dataplane_windows.go`).
fn source_endpoint(input: &ProxyInput<'_>) -> Verdict {
    let calico = network_name(input) == CALICO;
    let waits = calico && input.network == Some(Network::Overlay) && !input.endpoint;
    refuse(waits, Kind::Waits, "waiting for HNS endpoint Calico_ep")
}

fn proxy_mode(input: &ProxyInput<'_>) -> Verdict {
    if ["", "kernelspace"].contains(&flag(input, "proxy-mode")) {
        return Ok(());
    }
    seen::ends(input.minor, "proxy-mode iptables", TestCluster::Flags)
}

fn feature_gates(input: &ProxyInput<'_>) -> Verdict {
    gates::refused(flag(input, "feature-gates"), input.minor)
}

fn kubeconfig(input: &ProxyInput<'_>) -> Verdict {
    api_endpoint(&server(input), input.cluster_ip, Kind::Exit)
}

/// A name that the script takes from the environment and nobody put there is empty; kube-proxy then takes
/// the host's name, asks half a minute for a Node of that name, and goes on with the pods of no node (seen from
/// every minor). Played as one that never gets ready.
fn node_name(input: &ProxyInput<'_>) -> Verdict {
    let from_script = match &input.script {
        Script::Image => Some("NODENAME"),
        Script::Mounted(text) => ["NODENAME", "NODE_NAME"]
            .into_iter()
            .find(|name| mentions(text, name)),
        Script::Missing(_) => None,
    };
    let given = from_script.map(|name| input.env.get(name).map_or("", String::as_str));
    let name = match flag(input, "hostname-override") {
        literal if !literal.is_empty() && !literal.contains('$') => Some(literal),
        _ => given,
    };
    let other = name.is_some_and(|name| name != input.node_name);
    refuse(
        other,
        Kind::Waits,
        format!("nodes \"{}\" not found", name.unwrap_or_default()),
    )
}

/// The gate is off by default up to 1.32.
fn dsr_gate(input: &ProxyInput<'_>) -> Verdict {
    let condition = match gates::named(flag(input, "feature-gates"), "WinDSR") {
        None => "WinDSR not named",
        Some("true") => "WinDSR=true",
        Some(_) => "WinDSR=false",
    };
    if dsr(input) {
        seen::ends(input.minor, condition, TestCluster::Proxier)
    } else {
        Ok(())
    }
}

/// `hcn.DsrSupported()`: in HNS from 1903 on, and in 17763 with the update of October 2020 (KB4580390).
fn dsr_platform(input: &ProxyInput<'_>) -> Verdict {
    if dsr(input) && !dsr_supported(input.kernel) {
        seen::ends(input.minor, "HNS without DSR", TestCluster::Proxier)
    } else {
        Ok(())
    }
}

fn overlay_gate(input: &ProxyInput<'_>) -> Verdict {
    let off = gates::named(flag(input, "feature-gates"), "WinOverlay") == Some("false");
    if off && network_type(input) == Some(Network::Overlay) {
        seen::ends(input.minor, "WinOverlay=false", TestCluster::Proxier)
    } else {
        Ok(())
    }
}

/// An overlay network needs one (kubernetes/kubernetes#78338). Only the script
/// knows the address, so it has to look the endpoint up and to pass the flag.
fn source_vip(input: &ProxyInput<'_>) -> Verdict {
    let given = !flag(input, "source-vip").is_empty();
    let added = match &input.script {
        Script::Image => true,
        Script::Mounted(text) => {
            let source = if network_name(input) == CALICO {
                ENDPOINT
            } else {
                HOST_LOCAL
            };
            text.contains("--source-vip") && names(text, input.env, source)
        }
        Script::Missing(_) => false,
    };
    let overlay = network_type(input) == Some(Network::Overlay);
    if overlay && !given && !added {
        seen::ends(input.minor, "no source VIP", TestCluster::Proxier)
    } else {
        Ok(())
    }
}

/// By itself, or through a variable that holds the name.
fn names(script: &str, env: &Env, what: &str) -> bool {
    // The plugin's own name is in a script that may call it: whether it does, its environment says.
    let literal = what == ENDPOINT && script.contains(what);
    literal
        || env
            .iter()
            .any(|(name, value)| value == what && mentions(script, name))
}

fn dsr(input: &ProxyInput<'_>) -> bool {
    flag(input, "enable-dsr") == "true"
}

fn dsr_supported(kernel: &str) -> bool {
    let mut parts = kernel
        .split('.')
        .skip(2)
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let (build, revision) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    build > 17763 || build == 17763 && revision >= 1432
}

fn flag<'a>(input: &'a ProxyInput<'_>, name: &str) -> &'a str {
    input.flags.get(name).map_or("", String::as_str)
}

fn mentions(script: &str, variable: &str) -> bool {
    script.contains(&format!("$env:{variable}")) || script.contains(&format!("${{env:{variable}}}"))
}

/// Host and port kube-proxy talks to: the server the script writes into its kubeconfig, where that can be
/// read off it, else the variables every in-cluster client uses.
fn server(input: &ProxyInput<'_>) -> String {
    let url = match &input.script {
        Script::Mounted(text) => text.split_once("https://").map(|(_, rest)| rest),
        _ => None,
    };
    let end = |c: char| c.is_whitespace() || ['"', '\'', '/', '`'].contains(&c);
    let written = url.map(|rest| substitute(rest.split(end).next().unwrap_or_default(), input.env));
    match written {
        Some(server) if !server.contains(['$', '{', '(']) => server.trim_end_matches(':').to_owned(),
        _ => input
            .env
            .get("KUBERNETES_SERVICE_HOST")
            .cloned()
            .unwrap_or_default(),
    }
}

/// PowerShell's `${env:NAME}`, `$($env:NAME)` and `$env:NAME`; a variable that is not there is empty.
fn substitute(text: &str, env: &Env) -> String {
    let mut text = text.replace("$($env:", "${env:").replace(')', "}");
    for form in ["${env:", "$env:"] {
        while let Some(start) = text.find(form) {
            let name_at = start + form.len();
            let rest = &text[name_at..];
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let value = env.get(&rest[..length]).cloned().unwrap_or_default();
            let braced = form.starts_with("${") && rest[length..].starts_with('}');
            text.replace_range(start..name_at + length + usize::from(braced), &value);
        }
    }
    text
}

/// The flags among a container's arguments, whatever shell they are wrapped in.
pub fn flags(args: &[String]) -> BTreeMap<String, String> {
    let words = args.iter().flat_map(|arg| arg.split_whitespace());
    let mut flags = BTreeMap::<String, String>::new();
    for word in words {
        let Some(flag) = word.trim_matches(['"', '\'', ',']).strip_prefix("--") else {
            continue;
        };
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        match flags.get_mut(name) {
            // Maps are merged (`MapStringBool`), anything else is replaced.
            Some(gates) if name == "feature-gates" => *gates = format!("{gates},{value}"),
            _ => drop(flags.insert(name.to_owned(), value.to_owned())),
        }
    }
    flags
}

/// The start script: the `.ps1` among the arguments, looked for in the ConfigMaps mounted at its folder.
pub fn script_of(container: &Resolved) -> Script {
    let words = container.args.iter().flat_map(|arg| arg.split_whitespace());
    let unquoted = words.map(|word| word.trim_matches(['"', '\'', ';']));
    let Some(word) = unquoted.into_iter().find(|word| word.ends_with(".ps1")) else {
        return Script::Image;
    };
    let path = on_host(word);
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
    let files = container
        .mounts
        .iter()
        .find(|(mount, _)| on_host(mount) == folder)
        .map(|(_, files)| files);
    match files {
        None => Script::Image,
        Some(files) => files.get(file).map_or_else(
            || Script::Missing(word.to_owned()),
            |text| Script::Mounted(text.clone()),
        ),
    }
}

/// A path without the volume's root: a HostProcess container sees its mounts below
/// CONTAINER_SANDBOX_MOUNT_POINT, with containerd 1.7 also where they were mounted.
fn on_host(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path
        .split_once("CONTAINER_SANDBOX_MOUNT_POINT")
        .map_or(path.as_str(), |(_, rest)| rest);
    let path = path.trim_start_matches(['}', '%', ')']);
    let path = path
        .strip_prefix("c:")
        .or_else(|| path.strip_prefix("C:"))
        .unwrap_or(path);
    path.trim_end_matches('/').to_owned()
}

/// Minor version of the program: the image's tag, else what the environment says, else the newest known.
pub fn minor(image: &str, env: &Env) -> u32 {
    let tag = image
        .split('@')
        .next()
        .and_then(|name| name.rsplit_once(':'))
        .map(|(_, tag)| tag);
    let value = ["KUBE_PROXY_VERSION", "K8S_VERSION"]
        .iter()
        .find_map(|name| env.get(*name));
    tag.and_then(minor_of)
        .or_else(|| minor_of(value?))
        .unwrap_or(NEWEST_MINOR)
}

fn minor_of(version: &str) -> Option<u32> {
    version
        .trim_start_matches('v')
        .strip_prefix("1.")?
        .split(['.', '-', '_'])
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
#[path = "kube_proxy_tests.rs"]
mod tests;
