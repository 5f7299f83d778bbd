//! The node's addresses: a confirmed claim, one block, four addresses of it kept for Windows, one left.

use ipnet::Ipv4Net;
use wn_api::node_reasons::NodeReason;
use wn_api::spec::Ipam;

use super::check::{Finding, View, find};
use super::deadlines::SET_UP;
use crate::observed::BlockFacts;

pub fn check(view: &View) -> Vec<Finding> {
    if view.setting.ipam == Ipam::HostLocal {
        return pod_cidr(view).into_iter().collect();
    }
    let mut owned: Vec<_> = view.blocks.iter().filter(|b| confirmed(view, b)).collect();
    owned.sort_by_key(|b| b.cidr);
    let Some(block) = owned.first() else {
        return vec![none(view)];
    };
    let cidr = block.cidr.map(|c| c.to_string()).unwrap_or_default();
    let mut found = Vec::new();
    if !block.reserved {
        let cause = format!("block {cidr} does not hold its first three and last address for Windows");
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

/// Host-local addresses: without a pod CIDR, which `NetworkConfigured` says, the agent does not start.
fn pod_cidr(view: &View) -> Option<Finding> {
    let cidr = view.node.pod_cidr?;
    small(view, cidr, "pod CIDR")
}

fn small(view: &View, range: Ipv4Net, what: &str) -> Option<Finding> {
    let size = 1_u64 << (32 - range.prefix_len());
    let room = size.saturating_sub(RESERVED);
    let wanted = view.node.max_pods?;
    (u64::from(wanted) > room).then(|| {
        let cause = format!("the kubelet takes {wanted} pods, {what} {range} has addresses for {room}");
        find(NodeReason::BlockSmallerThanMaxPods, cause)
    })
}
