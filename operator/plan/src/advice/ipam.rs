//! IPAM's settings, and blocks that are not as Windows needs them.

use serde_json::Value;
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::spec::{Ipam, Policy};
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::calico::capacity;
use crate::observed::ConfigObject;

const IPAM: &str = "IPAMConfiguration default";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1030",
        severity: Severity::Error,
        title: "strictAffinity is off and only reported",
        limit: "Windows nodes cannot borrow addresses, and IPAM refuses to assign any while strictAffinity is not true.",
        reads: "IPAMConfiguration `default` (IPAMConfig in v1) spec.strictAffinity; spec.calico.strictAffinity of the \
                WindowsNodeConfig",
        fix: "set it to true, or set spec.calico.strictAffinity of the WindowsNodeConfig to Enforce",
        source: "libcalico-go lib/ipam/ipam.go ErrStrictAffinity; projectcalico/calico#10619",
        check: strict_affinity,
    },
    Rule {
        code: "WN1031",
        severity: Severity::Info,
        title: "maxBlocksPerHost depends on strictAffinity",
        limit: "Calico's clients refuse an IPAM configuration with maxBlocksPerHost and without strictAffinity. Restoring strictAffinity \
                on deletion would leave such a configuration.",
        reads: "IPAMConfiguration `default` spec.maxBlocksPerHost; status.calico.originals of the WindowsNodeConfig",
        fix: "set maxBlocksPerHost to 0 before you delete the WindowsNodeConfig, or set its deletionPolicy to Retain",
        source: "libcalico-go lib/ipam/ipam.go SetIPAMConfig",
        check: max_blocks,
    },
    Rule {
        code: "WN1032",
        severity: Severity::Warning,
        title: "Pods of other nodes have addresses of a Windows block",
        limit: "A Windows node routes its whole block to itself, so it does not reach a pod on another node that borrowed an address of \
                the block while strictAffinity was off.",
        reads: "IPAMBlock spec.affinity, spec.attributes of blocks of Windows nodes",
        fix: "delete these pods, so that they get addresses of their own nodes' blocks",
        source: "tigera/docs windows-calico/limitations.mdx (address borrowing); libcalico-go lib/ipam",
        check: foreign,
    },
    Rule {
        code: "WN1035",
        severity: Severity::Warning,
        title: "Few free blocks of addresses are left",
        limit: "With strictAffinity a node without a block cannot borrow addresses of another node's block: its pods stay in \
                ContainerCreating.",
        reads: "IPPool spec.cidr, spec.blockSize, spec.nodeSelector; IPAMBlock spec.cidr, spec.affinity; labels of Nodes",
        fix: "add an IPPool before the next nodes join",
        source: "libcalico-go lib/ipam/ipam.go autoAssign (StrictAffinity)",
        check: few_blocks,
    },
];

fn configuration<'a>(cluster: &Cluster<'a>) -> Option<&'a ConfigObject> {
    cluster.backend?;
    cluster.object(ConfigKind::IpamConfiguration, DEFAULT)
}

fn strict_affinity(cluster: &Cluster) -> Vec<Hit> {
    let off = configuration(cluster).filter(|ipam| !ipam.is_true("strictAffinity"));
    off.filter(|_| cluster.spec.calico.strict_affinity == Policy::Report)
        .map(|_| {
            Hit::new(
                IPAM,
                "spec.strictAffinity",
                "strictAffinity is not true, so no pod on a Windows node gets an address",
            )
        })
        .into_iter()
        .collect()
}

fn max_blocks(cluster: &Cluster) -> Vec<Hit> {
    let limit = configuration(cluster)
        .and_then(|ipam| ipam.number("maxBlocksPerHost"))
        .filter(|n| *n > 0);
    limit
        .filter(|_| gives_back_strict_affinity(cluster))
        .map(|limit| {
            let message = format!(
                "maxBlocksPerHost is {limit}, which is invalid once strictAffinity has its original value again"
            );
            Hit::new(IPAM, "spec.maxBlocksPerHost", message)
        })
        .into_iter()
        .collect()
}

fn gives_back_strict_affinity(cluster: &Cluster) -> bool {
    let status = cluster.observed.readable().and_then(|c| c.status.as_ref());
    let originals = status
        .and_then(|s| s.calico.as_ref())
        .map(|c| c.originals.as_slice());
    originals.into_iter().flatten().any(|o| {
        let it = o.kind == ConfigKind::IpamConfiguration && o.field == "strictAffinity";
        it && o.previous != Some(Value::Bool(true))
    })
}

fn few_blocks(cluster: &Cluster) -> Vec<Hit> {
    let asked = cluster.backend.is_some() && cluster.spec.network.ipam == Ipam::CalicoIpam;
    let short = asked
        .then(|| capacity::nearly_too_small(cluster.observed))
        .flatten();
    short
        .map(|short| {
            let message = format!(
                "IPPool {} has few free blocks left for further nodes",
                short.pools
            );
            Hit::new("IPPools", "spec.cidr", message)
        })
        .into_iter()
        .collect()
}

fn foreign(cluster: &Cluster) -> Vec<Hit> {
    let blocks = cluster.windows_blocks().filter(|(_, block)| block.foreign);
    let hosts = blocks.map(|(_, block)| block.host.as_str());
    Hit::of_many("IPAMBlocks", "spec.attributes", hosts, |nodes| {
        format!("pods of other nodes have addresses of the blocks of {nodes}")
    })
    .into_iter()
    .collect()
}
