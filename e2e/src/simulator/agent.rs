//! What keeps Calico's agent from starting on a Windows node: one small rule each.

use std::collections::BTreeMap;

use super::cni_config;
use super::containers::Env;
use super::failure::{Kind, Verdict, api_endpoint, refuse};
use super::ipam::Pool;
use super::selector;

/// All the agent reads.
pub struct AgentInput<'a> {
    /// Is every container a HostProcess container?
    pub host_process: bool,
    /// Environment of container `install-cni`, where there is one.
    pub install: Option<&'a Env>,
    /// Environment of container `node`.
    pub node: &'a Env,
    pub node_name: &'a str,
    pub node_labels: &'a BTreeMap<String, String>,
    pub node_ip: Option<&'a str>,
    /// ClusterIP of Service `default/kubernetes`.
    pub cluster_ip: Option<&'a str>,
    /// Is the API of Calico that this agent uses served?
    pub api_served: bool,
    /// `None` where the cluster has no IPAM configuration.
    pub strict_affinity: Option<bool>,
    pub pools: &'a [Pool],
    /// The Node has a `spec.podCIDR`.
    pub pod_cidr: bool,
    /// A block of this node's exists already.
    pub has_block: bool,
    /// Other agents that live on this node.
    pub rivals: usize,
}

/// Does the agent start? The first rule that says no is the one seen on the node.
///
/// Encapsulation of the pools against the backend is *not* among the rules: no program on the node
/// compares them, traffic just does not arrive.
pub fn start(input: &AgentInput<'_>) -> Verdict {
    before_ipam(input)?;
    IPAM_RULES.iter().try_for_each(|rule| rule(input))
}

/// Everything up to the first IPAM call.
pub fn before_ipam(input: &AgentInput<'_>) -> Verdict {
    host_process(input)?;
    cni_config::RULES
        .iter()
        .chain(RULES)
        .try_for_each(|rule| rule(input))
}

/// Rules of container `node`, in the order its start meets them. The container has no probe and tries
/// again every second ("Calico node initialisation failed, will retry...",
/// `node/windows-packaging/CalicoWindows/node/node-service.ps1`): it runs, Felix is not ready.
const RULES: &[fn(&AgentInput<'_>) -> Verdict] = &[
    rivals,
    endpoint,
    node_name,
    datastore,
    node_address,
    backend,
    pod_cidr,
];

const IPAM_RULES: &[fn(&AgentInput<'_>) -> Verdict] = &[strict_affinity, qualified_pool, pool_for_node, vni];

/// Only HostProcess containers reach HNS and the host's file system
/// (`uninstall-calico-hpc.ps1`, the first init container, works on the host).
fn host_process(input: &AgentInput<'_>) -> Verdict {
    refuse(
        !input.host_process,
        Kind::Create,
        "container is not a HostProcess container: windowsOptions.hostProcess and hostNetwork are needed",
    )
}

/// On its first run after boot each agent deletes every HNS network that is not of type NAT, the other
/// agent's among them (`node-service.ps1`, "cleaning out any old network state").
fn rivals(input: &AgentInput<'_>) -> Verdict {
    refuse(
        input.rivals > 0,
        Kind::Waits,
        format!(
            "HNS network Calico was deleted by one of {} other agents on this node",
            input.rivals
        ),
    )
}

/// As in `install-cni`; alone here where Calico's CNI is not installed by the pod.
fn endpoint(input: &AgentInput<'_>) -> Verdict {
    let host = text(input.node, "KUBERNETES_SERVICE_HOST");
    api_endpoint(host, input.cluster_ip, Kind::Waits)
}

/// Without NODENAME the script takes the lower-case host name (`config-hpc.ps1`), which need not be the
/// node's name (and never is on a host renamed at join); any other name makes a Calico node nobody reads.
fn node_name(input: &AgentInput<'_>) -> Verdict {
    let name = text(input.node, "NODENAME");
    refuse(
        name != input.node_name,
        Kind::Waits,
        format!(
            "NODENAME is \"{name}\", but nodes \"{}\" is this host's Node",
            input.node_name
        ),
    )
}

/// WAIT_FOR_DATASTORE (`node/pkg/lifecycle/startup/startup.go`).
fn datastore(input: &AgentInput<'_>) -> Verdict {
    refuse(
        !input.api_served,
        Kind::Waits,
        "Waiting for datastore: Calico's API is not served",
    )
}

/// `configureIPsAndSubnets`, `node/pkg/lifecycle/startup/startup.go`.
fn node_address(input: &AgentInput<'_>) -> Verdict {
    refuse(
        input.node_ip.is_none(),
        Kind::Waits,
        "Couldn't autodetect an IPv4 address. If auto-detecting, choose a different autodetection method",
    )
}

/// `ensureNetworkForOS`, `node/pkg/lifecycle/startup/startup_windows.go`.
fn backend(input: &AgentInput<'_>) -> Verdict {
    let backend = text(input.node, "CALICO_NETWORKING_BACKEND");
    let known = ["none", "vxlan", "windows-bgp"].contains(&backend);
    refuse(!known, Kind::Waits, "invalid backend configuration")
}

/// With `USE_POD_CIDR`, which `config-hpc.ps1` takes from `CNI_IPAM_TYPE`, the network's subnet is the Node's
/// (`startup_windows.go`).
fn pod_cidr(input: &AgentInput<'_>) -> Verdict {
    refuse(
        networked(input) && !asks_ipam(input) && !input.pod_cidr,
        Kind::Waits,
        format!("node {} has no pod CIDR", input.node_name),
    )
}

/// `ErrStrictAffinity`, `libcalico-go/lib/ipam/ipam.go`: raised by every IPAM call made on Windows.
/// Only the agent's start makes one, so an agent that runs does not stop when the field turns false.
fn strict_affinity(input: &AgentInput<'_>) -> Verdict {
    refuse(
        asks_ipam(input) && input.strict_affinity != Some(true),
        Kind::Waits,
        "global strict affinity should not be false for Windows node",
    )
}

/// `ErrNoQualifiedPool`, `libcalico-go/lib/ipam/ipam.go`.
fn qualified_pool(input: &AgentInput<'_>) -> Verdict {
    let none = !input.pools.iter().any(Pool::qualifies);
    refuse(
        asks_ipam(input) && !input.has_block && none,
        Kind::Waits,
        "cannot find a qualified ippool",
    )
}

/// `determinePools`, `libcalico-go/lib/ipam/ipam.go`.
fn pool_for_node(input: &AgentInput<'_>) -> Verdict {
    refuse(
        asks_ipam(input) && !input.has_block && pools(input.pools, input.node_labels).is_empty(),
        Kind::Waits,
        format!("no configured Calico pools for node {}", input.node_name),
    )
}

/// `strconv.ParseInt` in `startup_windows.go`, then `ensureVxlanNetworkExists` in
/// `cni-plugin/pkg/dataplane/windows/dataplane_windows.go`.
fn vni(input: &AgentInput<'_>) -> Verdict {
    if text(input.node, "CALICO_NETWORKING_BACKEND") != "vxlan" {
        return Ok(());
    }
    let vni = text(input.node, "VXLAN_VNI");
    let Ok(number) = vni.parse::<i64>() else {
        return refuse(
            true,
            Kind::Waits,
            format!("strconv.ParseInt: parsing \"{vni}\": invalid syntax"),
        );
    };
    refuse(
        number < 4096,
        Kind::Waits,
        "Windows does not support VXLANVNI < 4096",
    )
}

/// The pools a node's block may come from.
pub fn pools<'a>(pools: &'a [Pool], labels: &BTreeMap<String, String>) -> Vec<&'a Pool> {
    pools
        .iter()
        .filter(|pool| pool.qualifies() && selector::matches(&pool.node_selector, labels))
        .collect()
}

/// Does Calico give this node a block?
pub fn asks_ipam(input: &AgentInput<'_>) -> bool {
    networked(input) && text(input.node, "CNI_IPAM_TYPE") != "host-local"
}

/// Does Calico give this node an HNS network?
pub fn networked(input: &AgentInput<'_>) -> bool {
    ["vxlan", "windows-bgp"].contains(&text(input.node, "CALICO_NETWORKING_BACKEND"))
}

fn text<'a>(env: &'a Env, name: &str) -> &'a str {
    env.get(name).map_or("", String::as_str)
}

#[cfg(test)]
#[path = "agent_tests.rs"]
pub mod tests;
