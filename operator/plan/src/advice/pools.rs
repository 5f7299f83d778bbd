//! IP pools that Windows nodes cannot use, or not as Linux nodes do.

use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::calico::pools;
use crate::field::who;
use crate::network::role::Backend;
use crate::observed::ConfigObject;

const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";
const REQUIREMENTS: &str = "tigera/docs windows-calico/requirements.mdx";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1020",
        severity: Severity::Warning,
        title: "An IPv6 pool selects Windows nodes",
        limit: "Calico for Windows supports IPv4 only: pods on Windows nodes get no address of an IPv6 pool.",
        reads: "IPPool spec.cidr, spec.nodeSelector, spec.disabled",
        fix: "run pods that need IPv6 on Linux nodes, and restrict spec.nodeSelector of the pool to them",
        source: LIMITATIONS,
        check: ipv6,
    },
    Rule {
        code: "WN1021",
        severity: Severity::Warning,
        title: "CrossSubnet on a pool of Linux nodes",
        limit: "Windows nodes encapsulate all traffic to a VXLAN pool. Linux nodes of a CrossSubnet pool do not encapsulate their \
                answers within a subnet, so requests and answers take different paths.",
        reads: "IPPool spec.vxlanMode of pools that do not serve Windows nodes",
        fix: "set spec.vxlanMode of the pool to Always",
        source: "projectcalico/calico felix/dataplane/windows (vxlan manager); tigera/docs#1547",
        check: cross_subnet,
    },
    Rule {
        code: "WN1022",
        severity: Severity::Warning,
        title: "Pools with different encapsulation",
        limit: "Windows nodes have one kind of network: they do not reach pods in pools with another encapsulation, IPIP above all.",
        reads: "IPPool spec.ipipMode, spec.vxlanMode of pools that do not serve Windows nodes",
        fix: "give every pool that Windows pods must reach the encapsulation of spec.network.type",
        source: REQUIREMENTS,
        check: mixed,
    },
    Rule {
        code: "WN1023",
        severity: Severity::Warning,
        title: "A block holds fewer pods than the kubelet accepts",
        limit: "A Windows node has one block of addresses, of which Windows uses four. Only as many pods as the rest can run on the \
                node: 60 with a /26.",
        reads: "IPPool spec.blockSize; Node status.allocatable.pods of Windows nodes",
        fix: "create a pool with larger blocks (spec.blockSize 25 holds 124 pods) for Windows nodes, or lower the kubelet's maxPods; the \
                block size of a pool cannot be changed",
        source: "projectcalico/calico#4861; libcalico-go lib/ipam (HostReservedAttr, MaxBlocksPerHost)",
        check: block_size,
    },
    Rule {
        code: "WN1024",
        severity: Severity::Warning,
        title: "natOutgoing was changed after pods were created",
        limit: "Windows reads natOutgoing of a pool when a pod is created; older pods keep the earlier value. Only a change by another \
                manager than the pool's creator is detected.",
        reads: "IPPool metadata.managedFields of spec.natOutgoing; IPAMBlock spec.attributes timestamp of pods on Windows nodes",
        fix: "recreate these pods",
        source: LIMITATIONS,
        check: nat_changed,
    },
    Rule {
        code: "WN1025",
        severity: Severity::Warning,
        title: "The blocks of a pool are too small for Windows nodes",
        limit: "Windows uses four addresses of a block, so IPAM ignores pools with a block size above 29 for Windows nodes.",
        reads: "IPPool spec.blockSize, spec.nodeSelector",
        fix: "create a pool with spec.blockSize 29 or less for Windows nodes, or exclude them with spec.nodeSelector of the pool",
        source: "libcalico-go lib/ipam/ipam.go getMaxPrefixLen",
        check: small_blocks,
    },
    Rule {
        code: "WN1026",
        severity: Severity::Info,
        title: "No NAT for traffic of Windows pods that leaves the cluster",
        limit: "Without natOutgoing, pods keep their address in traffic to hosts outside the pools, which need a route back.",
        reads: "IPPool spec.natOutgoing of pools that serve Windows nodes",
        fix: "set spec.natOutgoing to true unless the network outside has routes to the pool's addresses",
        source: "kubernetes-sigs/sig-windows-tools#378; projectcalico/calico#7594",
        check: no_nat,
    },
];

fn object(name: &str) -> String {
    format!("IPPool {name}")
}

/// Pools that serve Windows nodes; none where Calico does not network them.
fn serving<'a>(cluster: &Cluster<'a>) -> Vec<(&'a str, &'a ConfigObject)> {
    if cluster.backend.is_some() {
        pools::serving_windows(cluster.observed)
    } else {
        Vec::new()
    }
}

/// Enabled IPv4 pools for pods, with the backend beside which they live, that do not serve Windows nodes.
fn beside<'a>(cluster: &Cluster<'a>) -> Vec<(Backend, &'a str, &'a ConfigObject)> {
    let Some(backend) = cluster.backend else {
        return Vec::new();
    };
    let serving = pools::serving_windows(cluster.observed);
    pools::all(cluster.observed)
        .filter(|(name, pool)| {
            let live = pools::is_enabled_v4(pool) && pools::allows_workloads(pool);
            live && !serving.iter().any(|(n, _)| n == name)
        })
        .map(|(name, pool)| (backend, name, pool))
        .collect()
}

fn ipv6(cluster: &Cluster) -> Vec<Hit> {
    let networked = cluster.backend.is_some();
    pools::all(cluster.observed)
        .filter(|(_, pool)| networked && pool.text("cidr").contains(':') && !pool.is_true("disabled"))
        .filter(|(_, pool)| pools::selects_windows(cluster.observed, pool))
        .map(|(name, pool)| {
            let message = format!(
                "the pool has an IPv6 CIDR ({}), which Windows nodes do not support",
                pool.text("cidr")
            );
            Hit::new(object(name), "spec.nodeSelector", message)
        })
        .collect()
}

fn cross_subnet(cluster: &Cluster) -> Vec<Hit> {
    beside(cluster)
        .into_iter()
        .filter(|(backend, _, pool)| *backend == Backend::Vxlan && pool.text("vxlanMode") == "CrossSubnet")
        .map(|(_, name, _)| {
            let message =
                "vxlanMode is CrossSubnet, but Windows nodes always encapsulate traffic to the pool";
            Hit::new(object(name), "spec.vxlanMode", message)
        })
        .collect()
}

fn mixed(cluster: &Cluster) -> Vec<Hit> {
    let off = |mode: &str| matches!(mode, "" | "Never");
    beside(cluster)
        .into_iter()
        .filter_map(|(backend, name, pool)| {
            let (ipip, vxlan) = (pool.text("ipipMode"), pool.text("vxlanMode"));
            let (field, message) = match backend {
                _ if !off(ipip) => (
                    "spec.ipipMode",
                    format!("ipipMode is {ipip}, which Windows nodes do not support"),
                ),
                Backend::Vxlan if off(vxlan) => (
                    "spec.vxlanMode",
                    "the pool is not encapsulated, but Windows nodes have an overlay".to_owned(),
                ),
                Backend::Bgp if !off(vxlan) => (
                    "spec.vxlanMode",
                    format!("vxlanMode is {vxlan}, but Windows nodes have no overlay"),
                ),
                Backend::Vxlan | Backend::Bgp => return None,
            };
            Some(Hit::new(object(name), field, message))
        })
        .collect()
}

fn block_size(cluster: &Cluster) -> Vec<Hit> {
    let most = cluster.observed.nodes.values().filter_map(|n| n.max_pods).max();
    serving(cluster)
        .into_iter()
        .filter_map(|(name, pool)| {
            let size = pools::block_size(pool);
            let room = pools::capacity(size);
            let most = most.map(u64::from).filter(|most| *most > room)?;
            let message = format!(
                "a /{size} block holds {room} pods, but kubelets of Windows nodes accept up to {most}"
            );
            Some(Hit::new(object(name), "spec.blockSize", message))
        })
        .collect()
}

fn nat_changed(cluster: &Cluster) -> Vec<Hit> {
    serving(cluster)
        .into_iter()
        .filter_map(|(name, pool)| {
            let (cidr, change) = (pool.cidr_v4()?, pool.nat_change.as_ref()?);
            let older = cluster.windows_blocks().any(|(_, b)| b.older_in(cidr, change.at));
            older.then(|| {
                let now = if pool.is_true("natOutgoing") {
                    "true"
                } else {
                    "false"
                };
                let message = format!(
                    "{} set natOutgoing to {now} after pods that still run on Windows nodes were created",
                    who(&change.by)
                );
                Hit::new(object(name), "spec.natOutgoing", message)
            })
        })
        .collect()
}

fn small_blocks(cluster: &Cluster) -> Vec<Hit> {
    beside(cluster)
        .into_iter()
        .filter(|(_, _, pool)| {
            pools::block_size(pool) > pools::LONGEST_WINDOWS_BLOCK
                && pools::selects_windows(cluster.observed, pool)
        })
        .map(|(_, name, pool)| {
            let message = format!(
                "a /{} block has no room for the addresses that Windows uses",
                pools::block_size(pool)
            );
            Hit::new(object(name), "spec.blockSize", message)
        })
        .collect()
}

fn no_nat(cluster: &Cluster) -> Vec<Hit> {
    serving(cluster)
        .into_iter()
        .filter(|(_, pool)| !pool.is_true("natOutgoing"))
        .map(|(name, _)| {
            Hit::new(
                object(name),
                "spec.natOutgoing",
                "natOutgoing is not true, so pods reach only hosts that have a route back to them",
            )
        })
        .collect()
}
