//! IP pools that Windows nodes cannot use, or not as Linux nodes do.

use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::calico::pools;
use crate::field::who;
use crate::network::role::Backend;
use crate::observed::CalicoObject;

const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";
const REQUIREMENTS: &str = "tigera/docs windows-calico/requirements.mdx";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1020",
        severity: Severity::Warning,
        title: "An IPv6 pool selects Windows nodes",
        limit: "Calico for Windows does IPv4 only: pods on Windows nodes get no address of an IPv6 pool.",
        reads: "IPPool spec.cidr, spec.nodeSelector, spec.disabled",
        fix: "keep pods that need IPv6 on Linux nodes, and say so in the pool's spec.nodeSelector",
        source: LIMITATIONS,
        check: ipv6,
    },
    Rule {
        code: "WN1021",
        severity: Severity::Warning,
        title: "CrossSubnet on a pool of Linux nodes",
        limit: "Windows nodes encapsulate to every VXLAN pool in any case, while Linux nodes of a CrossSubnet pool answer \
                without within a subnet: packets between them take two ways.",
        reads: "IPPool spec.vxlanMode of pools that do not serve Windows nodes",
        fix: "set spec.vxlanMode of the pool to Always",
        source: "projectcalico/calico felix/dataplane/windows (vxlan manager); tigera/docs#1547",
        check: cross_subnet,
    },
    Rule {
        code: "WN1022",
        severity: Severity::Warning,
        title: "Pools of several encapsulations",
        limit: "Windows nodes have one kind of network: they cannot talk to pods in pools that are encapsulated otherwise, \
                least of all by IPIP.",
        reads: "IPPool spec.ipipMode, spec.vxlanMode of pools that do not serve Windows nodes",
        fix: "give every pool that Windows pods must reach the encapsulation of spec.network.type",
        source: REQUIREMENTS,
        check: mixed,
    },
    Rule {
        code: "WN1023",
        severity: Severity::Warning,
        title: "A block holds fewer pods than the kubelet takes",
        limit: "A Windows node has one block of addresses and Windows keeps four of it, so that no more pods than the rest can run \
                there: 60 with blocks of 26 bits.",
        reads: "IPPool spec.blockSize; Node status.allocatable.pods of Windows nodes",
        fix: "make a pool with larger blocks (spec.blockSize 25 holds 124 pods) for Windows nodes, or lower the kubelet's maxPods; a \
               pool's block size cannot be changed",
        source: "projectcalico/calico#4861; libcalico-go lib/ipam (HostReservedAttr, MaxBlocksPerHost)",
        check: block_size,
    },
    Rule {
        code: "WN1024",
        severity: Severity::Warning,
        title: "natOutgoing was changed after pods were created",
        limit: "Windows reads a pool's natOutgoing when a pod is created, and pods that are older keep what was said then. A change by \
                whoever made the pool cannot be told from their other writes, so only one by somebody else is seen.",
        reads: "IPPool metadata.managedFields of spec.natOutgoing; IPAMBlock spec.attributes timestamp of pods on Windows nodes",
        fix: "create these pods anew",
        source: LIMITATIONS,
        check: nat_changed,
    },
    Rule {
        code: "WN1025",
        severity: Severity::Warning,
        title: "A pool's blocks are too small for Windows nodes",
        limit: "A block of a Windows node holds four addresses that Windows keeps, so IPAM passes over pools with a block size \
                beyond 29 there.",
        reads: "IPPool spec.blockSize, spec.nodeSelector",
        fix: "make a pool with spec.blockSize of 29 or less for Windows nodes, or keep them out by the pool's spec.nodeSelector",
        source: "libcalico-go lib/ipam/ipam.go getMaxPrefixLen",
        check: small_blocks,
    },
    Rule {
        code: "WN1026",
        severity: Severity::Info,
        title: "Pods on Windows nodes reach the outside without NAT",
        limit: "Without natOutgoing pods keep their address towards the world outside the pools, which must know a way back.",
        reads: "IPPool spec.natOutgoing of pools that serve Windows nodes",
        fix: "set spec.natOutgoing to true unless the network outside routes the pool's addresses",
        source: "kubernetes-sigs/sig-windows-tools#378; projectcalico/calico#7594",
        check: no_nat,
    },
];

fn object(name: &str) -> String {
    format!("IPPool {name}")
}

/// Pools that serve Windows nodes; none where Calico does not network them.
fn serving<'a>(cluster: &Cluster<'a>) -> Vec<(&'a str, &'a CalicoObject)> {
    if cluster.backend.is_some() {
        pools::serving_windows(cluster.observed)
    } else {
        Vec::new()
    }
}

/// Enabled IPv4 pools for pods, with the backend beside which they live, that do not serve Windows nodes.
fn beside<'a>(cluster: &Cluster<'a>) -> Vec<(Backend, &'a str, &'a CalicoObject)> {
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
                "the pool is of IPv6 ({}), which Windows nodes do not do",
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
            let message = "vxlanMode is CrossSubnet, and Windows nodes always encapsulate towards it";
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
                    format!("ipipMode is {ipip}, which Windows nodes do not speak"),
                ),
                Backend::Vxlan if off(vxlan) => (
                    "spec.vxlanMode",
                    "the pool is not encapsulated, and Windows nodes have an overlay".to_owned(),
                ),
                Backend::Bgp if !off(vxlan) => (
                    "spec.vxlanMode",
                    format!("vxlanMode is {vxlan}, and Windows nodes have no overlay"),
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
                "blocks of {size} bits hold {room} pods, and kubelets of Windows nodes take up to {most}"
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
                    "natOutgoing was set to {now} by {} when there were pods on Windows nodes that still run",
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
                "blocks of {} bits cannot hold what Windows keeps of them",
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
                "natOutgoing is not true, so pods reach only what knows a way back to them",
            )
        })
        .collect()
}
