//! Compares ACLs with the meaning of the policies, packet by packet.

use std::net::Ipv4Addr;

use crate::cluster::{Class, Cluster};
use crate::felix::{Acl, AclAction, Acls, RuleType};
use crate::meaning::Meanings;
use crate::model::{Direction, Rule, Side};
use crate::packet::Packet;
use crate::sample::Sample;

/// Result of the comparison of a pod's ACLs with the meaning of its policies.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// No packet has a different result.
    Same,
    /// Windows allows packets that the policies deny.
    MoreOpen,
    /// Windows denies packets that the policies allow.
    MoreClosed,
    /// Windows allows some packets that it should deny, and denies some that it should allow.
    Both,
    /// Felix panics, so the node has no ACLs.
    FelixPanics,
}

impl Verdict {
    /// The word in the output, such as `more-open`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::MoreOpen => "more-open",
            Self::MoreClosed => "more-closed",
            Self::Both => "both",
            Self::FelixPanics => "felix-panics",
        }
    }
}

/// Packets of one direction for which the ACLs differ from the policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Direction of the packets, seen from the pod.
    pub direction: Direction,
    /// Number of packets that were compared.
    pub packets: usize,
    /// Number of these packets that Windows allows.
    pub let_through: usize,
    /// Packets that Windows allows and the policies deny.
    pub more_open: Vec<Packet>,
    /// Packets that Windows denies and the policies allow.
    pub more_closed: Vec<Packet>,
}

/// Compares both directions of a pod with the address `local`. Directions without a difference are left out.
pub fn of_endpoint(
    cluster: &Cluster,
    class: &Class,
    acls: &Acls,
    samples: &[Sample; 2],
    (local, node_addresses): (Ipv4Addr, &[Ipv4Addr]),
) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (direction, sample) in Direction::BOTH.into_iter().zip(samples) {
        let meanings = Meanings::new(cluster, class, direction);
        let acls = acls.of(direction);
        let mut difference = Difference {
            direction,
            packets: 0,
            let_through: 0,
            more_open: Vec::new(),
            more_closed: Vec::new(),
        };
        for packet in sample.packets(direction, node_addresses) {
            difference.packets += 1;
            let is_open = lets_through(acls, direction, &packet, local);
            difference.let_through += usize::from(is_open);
            match (is_open, meanings.of(&packet, local).is_allowed) {
                (true, false) => difference.more_open.push(packet),
                (false, true) => difference.more_closed.push(packet),
                _ => {}
            }
        }
        if !difference.more_open.is_empty() || !difference.more_closed.is_empty() {
            differences.push(difference);
        }
    }
    differences
}

impl Difference {
    /// Removes packets between the pod with the address `own` and itself. `None` if no packet is left.
    pub fn without(&self, own: Ipv4Addr) -> Option<Self> {
        let others = |packets: &[Packet]| packets.iter().filter(|p| p.remote != own).copied().collect();
        let difference = Self {
            more_open: others(&self.more_open),
            more_closed: others(&self.more_closed),
            ..*self
        };
        let is_any = !difference.more_open.is_empty() || !difference.more_closed.is_empty();
        is_any.then_some(difference)
    }
}

/// The verdict on a pod with these differences.
pub fn verdict(differences: &[Difference]) -> Verdict {
    let is_open = differences.iter().any(|d| !d.more_open.is_empty());
    let is_closed = differences.iter().any(|d| !d.more_closed.is_empty());
    match (is_open, is_closed) {
        (true, true) => Verdict::Both,
        (true, false) => Verdict::MoreOpen,
        (false, true) => Verdict::MoreClosed,
        (false, false) => Verdict::Same,
    }
}

/// Whether HNS allows a packet: the matching ACL with the lowest priority number decides. `acls` must be
/// sorted by priority.
pub fn lets_through(acls: &[Acl], direction: Direction, packet: &Packet, local: Ipv4Addr) -> bool {
    let first = deciding(acls, direction, packet, local);
    first.is_some_and(|acl| acl.action == AclAction::Allow)
}

/// The ACL that decides about a packet, if one matches.
pub fn deciding<'a>(
    acls: &'a [Acl],
    direction: Direction,
    packet: &Packet,
    local: Ipv4Addr,
) -> Option<&'a Acl> {
    let mut switch = acls.iter().filter(|acl| acl.rule_type == RuleType::Switch);
    switch.find(|acl| is_about(acl, direction, packet, local))
}

/// Whether an ACL matches a packet.
pub fn is_about(acl: &Acl, direction: Direction, packet: &Packet, local: Ipv4Addr) -> bool {
    let (source_port, destination_port) = packet.content.ports();
    let (local_port, remote_port) = match direction {
        Direction::Ingress => (destination_port, source_port),
        Direction::Egress => (source_port, destination_port),
    };
    acl.matches(
        packet.content.protocol(),
        (local, local_port),
        (packet.remote, remote_port),
    )
}

/// Whether the result depends on the endpoint within a class, because some rule matches the pod's own
/// address.
pub fn depends_on_pod(cluster: &Cluster, class: &Class) -> bool {
    Direction::BOTH.into_iter().any(|direction| {
        let tiers = cluster.tiers_of(class, direction);
        let policies = tiers.flat_map(|(_, policies)| policies);
        policies
            .flat_map(|policy| policy.rules(direction))
            .any(|rule| matches_own_end(rule, direction))
    })
}

fn matches_own_end(rule: &Rule, direction: Direction) -> bool {
    let own = match direction {
        Direction::Ingress => &rule.destination,
        Direction::Egress => &rule.source,
    };
    let Side {
        nets,
        not_nets,
        named_ports,
        not_named_ports,
        selector,
        not_selector,
        service,
        ports: _,
        not_ports: _,
    } = own;
    !(nets.is_empty() && not_nets.is_empty() && named_ports.is_empty() && not_named_ports.is_empty())
        || selector.is_some()
        || not_selector.is_some()
        || service.is_some()
}
