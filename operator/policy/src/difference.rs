//! What Windows does other than the policies mean, packet by packet.

use std::net::Ipv4Addr;

use crate::cluster::{Class, Cluster};
use crate::felix::{Acl, AclAction, Acls, RuleType};
use crate::meaning::Meanings;
use crate::model::{Direction, Rule, Side};
use crate::packet::Packet;
use crate::sample::Sample;

/// A pod's ACLs against what its policies mean.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    Same,
    MoreOpen,
    MoreClosed,
    Both,
    FelixPanics,
}

impl Verdict {
    /// As in the output.
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

/// Packets of one direction that Windows treats otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub direction: Direction,
    /// Packets looked at.
    pub packets: usize,
    /// Those of them that Windows lets through.
    pub let_through: usize,
    /// Let through, and should not be.
    pub more_open: Vec<Packet>,
    /// Dropped, and should not be.
    pub more_closed: Vec<Packet>,
}

/// Both directions of a pod with the address `local`; directions without a difference are left out.
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
    /// Without packets of a pod to itself; `None` where nothing is left.
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

/// In one word.
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

/// What HNS does: the ACL of the lowest priority that matches decides. `acls` are in the order of their priorities.
pub fn lets_through(acls: &[Acl], direction: Direction, packet: &Packet, local: Ipv4Addr) -> bool {
    let first = deciding(acls, direction, packet, local);
    first.is_some_and(|acl| acl.action == AclAction::Allow)
}

/// The ACL that decides about a packet.
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

/// Whether it matters which endpoint of a class a packet is at: some rule matches the pod's own end.
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
