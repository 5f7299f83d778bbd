//! The meaning of policies, packet by packet. This module does not use ACLs.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::cluster::{Class, Cluster};
use crate::model::{Action, Direction, Icmp, Policy, PolicyId, Rule, Side, Tier};
use crate::packet::{Content, Packet};
use crate::sets::{Sets, Socket};

/// What decided the result of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Decider<'a> {
    Rule(&'a PolicyId, &'a Rule),
    /// No rule of the tier matched.
    EndOfTier(&'a Tier),
    Profile,
}

/// Whether the policies allow a packet, and what decided it.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning<'a> {
    /// Whether the policies allow the packet.
    pub is_allowed: bool,
    /// What decided the result.
    pub decider: Decider<'a>,
}

/// Evaluates the policies of a class for packets of one direction.
pub struct Meanings<'a> {
    cluster: &'a Cluster,
    class: &'a Class,
    direction: Direction,
    /// Without staged policies, and without tiers that have only staged policies.
    tiers: Vec<(&'a Tier, Vec<&'a Policy>)>,
}

impl<'a> Meanings<'a> {
    /// For the endpoints of `class`.
    pub fn new(cluster: &'a Cluster, class: &'a Class, direction: Direction) -> Self {
        let tiers = cluster.tiers_of(class, direction);
        let enforced = tiers.map(|(tier, policies)| {
            let policies = policies.into_iter().filter(|p| !p.id.kind.is_staged());
            (tier, policies.collect::<Vec<_>>())
        });
        Self {
            cluster,
            class,
            direction,
            tiers: enforced.filter(|(_, policies)| !policies.is_empty()).collect(),
        }
    }

    /// The result of a packet at the pod with the address `local`.
    pub fn of(&self, packet: &Packet, local: Ipv4Addr) -> Meaning<'a> {
        let flow = Flow::new(packet, local, self.direction);
        let decided = |is_allowed, decider| Meaning { is_allowed, decider };
        for (tier, policies) in &self.tiers {
            match self.first_match(policies, &flow) {
                Some((policy, rule)) => match rule.action {
                    Action::Allow => return decided(true, Decider::Rule(&policy.id, rule)),
                    Action::Deny => return decided(false, Decider::Rule(&policy.id, rule)),
                    Action::Pass | Action::Log => {}
                },
                None if tier.passes() => {}
                None => return decided(false, Decider::EndOfTier(tier)),
            }
        }
        decided(self.profiles_allow(), Decider::Profile)
    }

    fn first_match(&self, policies: &[&'a Policy], flow: &Flow) -> Option<(&'a Policy, &'a Rule)> {
        let rules = policies.iter().flat_map(|policy| {
            policy
                .rules(self.direction)
                .iter()
                .map(move |rule| (*policy, rule))
        });
        let deciding = rules.filter(|(_, rule)| rule.action != Action::Log && !rule.http);
        let mut matching = deciding.filter(|(_, rule)| flow.is_matched(rule, &self.cluster.sets));
        matching.next()
    }

    /// The first profile with rules decides; one that does not exist denies.
    fn profiles_allow(&self) -> bool {
        let mut known = self
            .class
            .profiles
            .iter()
            .map(|name| self.cluster.profiles.get(name));
        let first = known.find(|profile| *profile != Some(&false));
        first == Some(Some(&true))
    }
}

/// A packet with its source and destination.
pub struct Flow {
    content: Content,
    source: Ipv4Addr,
    destination: Ipv4Addr,
}

impl Flow {
    /// A packet at the pod with the address `local`.
    pub fn new(packet: &Packet, local: Ipv4Addr, direction: Direction) -> Self {
        let (source, destination) = match direction {
            Direction::Ingress => (packet.remote, local),
            Direction::Egress => (local, packet.remote),
        };
        Self {
            content: packet.content,
            source,
            destination,
        }
    }

    /// Whether a rule matches the packet. Matches of HTTP requests are ignored.
    pub fn is_matched(&self, rule: &Rule, sets: &Sets) -> bool {
        let number = self.content.protocol();
        let (source_port, destination_port) = self.content.ports();
        rule.version().is_none_or(|version| version == 4)
            && rule.protocol.is_none_or(|p| p.number() == number)
            && rule.not_protocol.is_none_or(|p| p.number() != number)
            && rule.icmp.is_none_or(|icmp| self.is_icmp(icmp))
            && rule.not_icmp.is_none_or(|icmp| !self.is_icmp(icmp))
            && self.end_matches(&rule.source, (self.source, source_port), sets)
            && self.end_matches(&rule.destination, (self.destination, destination_port), sets)
            && self.service_matches(&rule.destination, sets)
    }

    fn is_icmp(&self, icmp: Icmp) -> bool {
        matches!(self.content, Content::Icmp(kind, code)
            if i64::from(kind) == icmp.kind && icmp.code.is_none_or(|c| c == i64::from(code)))
    }

    fn end_matches(&self, side: &Side, (address, port): (Ipv4Addr, Option<u16>), sets: &Sets) -> bool {
        let selected = |selector| sets.selected(selector).spans.contains(address);
        let of_ports = |numbers: &[(u16, u16)], names: &[std::sync::Arc<str>]| {
            port.is_some_and(|port| {
                let socket = (address, self.content.protocol(), port);
                numbers.iter().any(|(low, high)| (*low..=*high).contains(&port))
                    || names.iter().any(|name| has(sets.named_port(side, name), socket))
            })
        };
        let has_ports = !side.ports.is_empty() || !side.named_ports.is_empty();
        (side.nets.is_empty() || in_any(&side.nets, address))
            && !in_any(&side.not_nets, address)
            && side.selector.as_ref().is_none_or(selected)
            && !side.not_selector.as_ref().is_some_and(selected)
            && (!has_ports || of_ports(&side.ports, &side.named_ports))
            && !of_ports(&side.not_ports, &side.not_named_ports)
            && self.source_service_matches(side, address, sets)
    }

    /// Matches a service as the source: any port of its endpoints. A service as the destination is matched
    /// together with the port.
    fn source_service_matches(&self, side: &Side, address: Ipv4Addr, sets: &Sets) -> bool {
        let service = side.service.as_ref();
        service.is_none_or(|service| sets.service(service).spans.contains(address))
    }

    fn service_matches(&self, destination: &Side, sets: &Sets) -> bool {
        let Some(service) = &destination.service else {
            return true;
        };
        let (_, port) = self.content.ports();
        let socket = port.map(|port| (self.destination, self.content.protocol(), port));
        socket.is_some_and(|socket| has(sets.service_sockets(service), socket))
    }
}

fn has(sorted: &[Socket], socket: Socket) -> bool {
    sorted.binary_search(&socket).is_ok()
}

fn in_any(nets: &[IpNet], address: Ipv4Addr) -> bool {
    nets.iter().any(|net| net.contains(&IpAddr::V4(address)))
}
