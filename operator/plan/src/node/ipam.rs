//! The node's addresses: a confirmed claim, one block, four addresses of it kept for Windows, one left.

use ipnet::Ipv4Net;
use wn_api::names::MIN_VXLAN_VNI;
use wn_api::node_reasons::NodeReason;
use wn_api::spec::Ipam;

use super::check::{Finding, View, find};
use super::cluster_context::CalicoIpam;
use super::deadlines::SET_UP;
use crate::calico::pools::{LONGEST_WINDOWS_BLOCK, Offer};
use crate::observed::BlockFacts;

pub fn check(view: &View) -> Vec<Finding> {
    if view.cluster.ipam == Ipam::HostLocal {
        return small_pod_cidr(view).into_iter().collect();
    }
    if !view.calico_networks() {
        return Vec::new();
    }
    let mut owned: Vec<_> = view.blocks.iter().filter(|b| confirmed(view, b)).collect();
    owned.sort_by_key(|b| b.cidr);
    let Some(block) = owned.first() else {
        return vec![none(view)];
    };
    let cidr = block.cidr.map(|c| c.to_string()).unwrap_or_default();
    let mut found = Vec::new();
    if !block.reserved {
        let cause = format!(
            "the first three addresses of block {cidr} and its last one are not reserved for Windows"
        );
        found.push(find(NodeReason::BlockReservationMissing, cause));
    }
    if owned.iter().all(|b| b.exhausted) {
        found.push(find(
            NodeReason::BlockExhausted,
            format!("block {cidr} has no free address"),
        ));
    }
    if owned.len() > 1 {
        found.push(find(
            NodeReason::MultipleBlocks,
            format!("the node has {} blocks", owned.len()),
        ));
    }
    if owned.iter().any(|b| b.foreign) {
        let cause = format!("pods of other nodes have addresses of block {cidr}");
        found.push(find(NodeReason::ForeignAllocations, cause));
    }
    found.extend(block.cidr.and_then(|range| small(view, range, "block")));
    found
}

/// What of Calico's configuration keeps the node from its addresses: the cause of a missing block, and of pods that
/// cannot be created on a node that has one.
pub fn configuration(view: &View) -> Vec<Finding> {
    if !view.calico_networks() {
        return Vec::new();
    }
    let vni = view
        .cluster
        .felix_vni
        .filter(|vni| view.overlay() && *vni < i64::from(MIN_VXLAN_VNI));
    let vni = vni.map(|vni| {
        let cause = format!(
            "vxlanVNI of FelixConfiguration default is {vni}, and Windows accepts none below {MIN_VXLAN_VNI}"
        );
        find(NodeReason::VNITooLow, cause)
    });
    let asked = view.cluster.ipam != Ipam::HostLocal;
    let ipam = view.cluster.calico_ipam.as_ref().filter(|_| asked);
    ipam.and_then(refusal)
        .into_iter()
        .chain(ipam.and_then(|ipam| pool(view, &ipam.pools)))
        .chain(vni)
        .collect()
}

fn refusal(ipam: &CalicoIpam) -> Option<Finding> {
    let cause =
        "strictAffinity of IPAMConfiguration default is false, so Calico's IPAM refuses Windows nodes";
    ipam.lax.then(|| find(NodeReason::StrictAffinityFalse, cause))
}

/// Pools are asked again for each pod, but for one that has too small blocks: a block that is there was not of it.
fn pool(view: &View, pools: &[Offer]) -> Option<Finding> {
    let mut selecting = pools.iter().filter(|p| p.selects(&view.node.labels)).peekable();
    if pools.is_empty() {
        Some(find(
            NodeReason::NoQualifiedPool,
            "there is no enabled IPv4 IPPool for workloads",
        ))
    } else if selecting.peek().is_none() {
        Some(find(
            NodeReason::NoPoolForNode,
            "no enabled IPv4 IPPool for workloads selects the node",
        ))
    } else if selecting.all(|p| !p.fits) && view.blocks.is_empty() {
        let cause =
            format!("the IPPools that select the node have a blockSize above {LONGEST_WINDOWS_BLOCK}");
        Some(find(NodeReason::NoQualifiedPool, cause))
    } else {
        None
    }
}

/// Where pods get addresses of the Node's own range, it must have one.
pub fn pod_cidr(view: &View) -> Vec<Finding> {
    let needed = view.profile().uses_pod_cidrs || view.cluster.ipam == Ipam::HostLocal;
    let missing = || {
        find(NodeReason::PodCIDRMissing, "the Node has no spec.podCIDR").due(view.began() + SET_UP, view.now)
    };
    (needed && view.node.pod_cidr.is_none())
        .then(missing)
        .into_iter()
        .collect()
}

fn confirmed(view: &View, block: &BlockFacts) -> bool {
    let cidr = block.cidr.map(|c| c.to_string());
    view.affinities
        .iter()
        .any(|a| a.confirmed && cidr.as_ref() == Some(&a.cidr))
}

fn none(view: &View) -> Finding {
    let cause = if view.blocks.is_empty() && view.affinities.is_empty() {
        "Calico's IPAM has no block for the node"
    } else {
        "the node's block of addresses is not confirmed by a BlockAffinity"
    };
    find(NodeReason::NoIPAMBlock, cause).due(view.began() + SET_UP, view.now)
}

/// Four addresses of a block are Windows' own, and of a pod CIDR as many: the plugin leaves out the first three and
/// the last (cni-plugin `internal/pkg/utils`, `UpdateHostLocalIPAMDataForWindows`).
const RESERVED: u64 = 4;

/// Host-local addresses.
fn small_pod_cidr(view: &View) -> Option<Finding> {
    let cidr = view.node.pod_cidr?;
    small(view, cidr, "pod CIDR")
}

fn small(view: &View, range: Ipv4Net, what: &str) -> Option<Finding> {
    let size = 1_u64 << (32 - range.prefix_len());
    let room = size.saturating_sub(RESERVED);
    let wanted = view.node.max_pods?;
    (u64::from(wanted) > room).then(|| {
        let cause = format!("the kubelet accepts {wanted} pods, but {what} {range} has addresses for {room}");
        find(NodeReason::BlockSmallerThanMaxPods, cause)
    })
}
