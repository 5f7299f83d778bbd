//! Facts of Calico's IPAM: blocks of addresses, and the nodes that claim them.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;
use wn_api::calico::WINDOWS_RESERVED_HANDLE;

use super::node_index::OnNode;
use super::reservations::{self, Reservations};
use super::{flag, items, parse_time, text};

/// A block of addresses of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockFacts {
    /// `spec.cidr`; `None` for IPv6.
    pub cidr: Option<Ipv4Net>,
    /// The node that the block is affine to; empty when there is none.
    pub host: String,
    /// Pods of a Linux node have addresses of the block. Windows pods do not count: their encapsulation did not work before.
    pub serves_linux_pods: bool,
    /// Addresses 0, 1, 2 and the last one are reserved for Windows.
    pub reserved: bool,
    /// No address is left. The number of free addresses is not kept, because it changes with every pod.
    pub exhausted: bool,
    /// Pods of other nodes have addresses of the block.
    pub foreign: bool,
    /// When the oldest of its pods got its address; blocks of Windows nodes only.
    pub oldest: Option<Timestamp>,
}

impl BlockFacts {
    /// The facts of an `IPAMBlock`; `None` when it is marked as deleted.
    pub fn read(block: &Value) -> Option<Self> {
        if flag(block, "/spec/deleted") {
            return None;
        }
        let attributes: Vec<_> = items(block, "/spec/attributes").collect();
        let allocations: Vec<_> = items(block, "/spec/allocations")
            .map(|i| attributes.get(usize::try_from(i.as_u64()?).ok()?))
            .collect();
        let windows = attributes.iter().any(|a| is_reservation(a));
        let in_use = allocations.iter().flatten().any(|a| is_pod(a));
        let host = text(block, "/spec/affinity")
            .strip_prefix("host:")
            .unwrap_or_default();
        let foreign =
            |a: &Value| !matches!(text(a, "/secondary/node"), "") && text(a, "/secondary/node") != host;
        let cidr: Option<Ipv4Net> = text(block, "/spec/cidr").parse().ok();
        let last = cidr.map_or(0, |c| (1_usize << (32 - c.prefix_len()).min(16)) - 1);
        let held = |ordinal: usize| {
            allocations
                .get(ordinal)
                .copied()
                .flatten()
                .is_some_and(|a| is_reservation(a))
        };
        Some(Self {
            cidr,
            serves_linux_pods: in_use && !windows,
            reserved: [0, 1, 2, last].into_iter().all(held),
            exhausted: items(block, "/spec/unallocated").next().is_none(),
            foreign: !host.is_empty() && allocations.iter().flatten().any(|a| foreign(a)),
            host: host.to_owned(),
            oldest: allocations
                .iter()
                .flatten()
                .filter(|a| windows && !is_reservation(a))
                .filter_map(|a| go_time(text(a, "/secondary/timestamp")))
                .min(),
        })
    }

    /// Addresses that no pod has.
    pub fn free(block: &Value) -> Vec<Ipv4Addr> {
        let cidr: Option<Ipv4Net> = text(block, "/spec/cidr").parse().ok();
        let base = cidr.map(|c| u32::from(c.network()));
        let ordinals = items(block, "/spec/unallocated").filter_map(|o| u32::try_from(o.as_u64()?).ok());
        ordinals
            .filter_map(|o| Some(base?.wrapping_add(o).into()))
            .collect()
    }

    /// Free addresses that are reserved are not given to anybody.
    #[must_use]
    pub fn reserving(self, free: &[Ipv4Addr], reservations: &Reservations) -> Self {
        let exhausted = free.iter().all(|a| reservations::cover(reservations, *a));
        Self { exhausted, ..self }
    }

    /// What decisions about the cluster as a whole read of it: `changes` are the pools whose `natOutgoing` was
    /// changed, and when.
    pub fn of_plan(&self, changes: &[(Ipv4Net, Timestamp)]) -> (Option<Ipv4Net>, bool, bool, bool) {
        (
            self.cidr,
            self.serves_linux_pods,
            self.foreign,
            changes.iter().any(|(pool, at)| self.older_in(*pool, *at)),
        )
    }

    /// Is it of that pool, and has it a pod that got its address before then?
    pub fn older_in(&self, pool: Ipv4Net, at: Timestamp) -> bool {
        self.cidr.is_some_and(|c| pool.contains(&c)) && self.oldest.is_some_and(|oldest| oldest < at)
    }
}

impl OnNode for BlockFacts {
    fn node(&self) -> &str {
        &self.host
    }
}

/// Found by its handle, not by its index: Calico compacts the attributes when an address is released.
fn is_reservation(attribute: &Value) -> bool {
    text(attribute, "/handle_id").eq_ignore_ascii_case(WINDOWS_RESERVED_HANDLE)
}

/// A node's claim of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct AffinityFacts {
    /// Name of the node.
    pub node: String,
    /// CIDR of the block.
    pub cidr: String,
    /// `spec.state` is `confirmed`: the node has the block.
    pub confirmed: bool,
}

impl AffinityFacts {
    /// The facts of a `BlockAffinity`; `None` when it is marked as deleted (a string in v1, a boolean in v3).
    pub fn read(affinity: &Value) -> Option<Self> {
        let deleted = flag(affinity, "/spec/deleted") || text(affinity, "/spec/deleted") == "true";
        let host = matches!(text(affinity, "/spec/type"), "" | "host");
        (!deleted && host).then(|| Self {
            node: text(affinity, "/spec/node").to_owned(),
            cidr: text(affinity, "/spec/cidr").to_owned(),
            confirmed: text(affinity, "/spec/state") == "confirmed",
        })
    }
}

impl OnNode for AffinityFacts {
    fn node(&self) -> &str {
        &self.node
    }
}

/// Go's `Time.String()` of a time in UTC: `2026-05-01 10:00:00.123456789 +0000 UTC` (Calico's
/// `cni-plugin/pkg/ipamplugin`, `AttributeTimestamp`).
fn go_time(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_once(' ')?;
    let time = rest.split(' ').next()?;
    parse_time(&format!("{date}T{time}Z"))
}

/// Tunnel addresses and released, cooling addresses are no pod's (calico-node `secondary.type`).
fn is_pod(attribute: &Value) -> bool {
    !text(attribute, "/secondary/type").ends_with("TunnelAddress")
        && attribute.get("releasedAt").is_none_or(Value::is_null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn block(attributes: Value, allocations: Value) -> Value {
        json!({"spec": {"cidr": "10.0.0.0/26", "attributes": attributes, "allocations": allocations}})
    }

    #[test]
    fn a_linux_pod_makes_a_block_used() {
        let pod = json!([{"handle_id": "k8s-pod-network.1", "secondary": {"pod": "a"}}]);
        assert!(
            BlockFacts::read(&block(pod.clone(), json!([0, null])))
                .unwrap()
                .serves_linux_pods
        );
        assert!(
            !BlockFacts::read(&block(pod, json!([null, null])))
                .unwrap()
                .serves_linux_pods
        );
    }

    #[test]
    fn tunnels_and_windows_blocks_are_not_linux_pods() {
        let tunnel = json!([{"handle_id": "t", "secondary": {"type": "ipipTunnelAddress"}}]);
        assert!(
            !BlockFacts::read(&block(tunnel, json!([0])))
                .unwrap()
                .serves_linux_pods
        );
        let windows = json!([{"handle_id": "windows-reserved-ipam-handle"}, {"handle_id": "pod"}]);
        assert!(
            !BlockFacts::read(&block(windows, json!([0, 0, 0, 1])))
                .unwrap()
                .serves_linux_pods
        );
    }
}
