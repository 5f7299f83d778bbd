//! Chooses the packets to compare: those at the boundaries of everything that rules match. One address or
//! port represents all those that no rule distinguishes from it, so that few packets are enough.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;

use ipnet::IpNet;

use crate::cluster::{Class, Cluster};
use crate::model::{Direction, Protocol, Rule, Side};
use crate::net::Spans;
use crate::packet::{CLIENT_PORT, Content, OTHER_PROTOCOL, Packet, PortProtocol};

/// Addresses outside of most clusters, and one in a common pod range that no pod has.
const STRANGERS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(8, 8, 8, 8),
    Ipv4Addr::new(203, 0, 113, 7),
    Ipv4Addr::new(192, 168, 77, 1),
    Ipv4Addr::new(10, 244, 9, 9),
];

/// Maximum number of ranges of one match whose boundaries are used, counted from either end.
const RANGES: usize = 64;
/// Number of addresses, or ports, that represent all those that no rule distinguishes.
const ALIKE: usize = 2;
/// Maximum number of pods whose addresses are candidates.
const PODS: usize = 64;

/// Remote addresses and contents of packets for the endpoints of a class.
#[derive(Clone, Debug)]
pub struct Sample {
    addresses: Vec<Ipv4Addr>,
    contents: Vec<Content>,
}

impl Sample {
    /// Chooses the sample for all rules of a class in a direction, including staged ones.
    pub fn new(cluster: &Cluster, class: &Class, direction: Direction) -> Self {
        let rules: Vec<&Rule> = cluster
            .tiers_of(class, direction)
            .flat_map(|(_, policies)| policies)
            .flat_map(|policy| policy.rules(direction))
            .collect();
        Self {
            addresses: addresses(cluster, &rules),
            contents: contents(cluster, &rules),
        }
    }

    /// Those of the addresses that are remote addresses of the sample.
    pub fn among(&self, addresses: &[Ipv4Addr]) -> Vec<Ipv4Addr> {
        let found = addresses
            .iter()
            .filter(|address| self.addresses.contains(address));
        found.copied().collect()
    }

    /// The packets for pods of a node, without packets from the node itself, which are always allowed.
    pub fn packets<'a>(
        &'a self,
        direction: Direction,
        node_addresses: &'a [Ipv4Addr],
    ) -> impl Iterator<Item = Packet> + 'a {
        let is_let_in = move |a: &&Ipv4Addr| direction == Direction::Ingress && node_addresses.contains(a);
        let remotes = self.addresses.iter().filter(move |a| !is_let_in(a));
        remotes.flat_map(|remote| {
            self.contents.iter().map(|content| Packet {
                remote: *remote,
                content: *content,
            })
        })
    }
}

/// Pods whose addresses are candidates of every sample.
pub fn pods(cluster: &Cluster) -> impl Iterator<Item = Ipv4Addr> {
    cluster.pods.keys().take(PODS).copied()
}

fn sides<'a>(rules: &'a [&Rule]) -> impl Iterator<Item = &'a Side> {
    rules.iter().flat_map(|rule| rule.sides())
}

fn addresses(cluster: &Cluster, rules: &[&Rule]) -> Vec<Ipv4Addr> {
    let matches = address_matches(cluster, rules);
    let borders = matches.iter().flat_map(borders);
    let all: Vec<Ipv4Addr> = pods(cluster).chain(STRANGERS).chain(borders).collect();
    let mut chosen = one_of_each(all, |a| matches.iter().map(|spans| spans.contains(*a)).collect());
    chosen.sort_unstable();
    chosen
}

/// Every set of addresses that some rule matches.
fn address_matches(cluster: &Cluster, rules: &[&Rule]) -> Vec<Spans> {
    let mut all = Vec::new();
    for side in sides(rules) {
        for nets in [&side.nets, &side.not_nets] {
            all.extend(nets.iter().filter_map(|net| match net {
                IpNet::V4(net) => Some(Spans::of([net])),
                IpNet::V6(_) => None,
            }));
        }
        let selected = side.selector.iter().chain(&side.not_selector);
        all.extend(selected.map(|selector| cluster.sets.selected(selector).spans.clone()));
        all.extend(
            side.service
                .iter()
                .map(|service| cluster.sets.service(service).spans.clone()),
        );
        for name in side.named_ports.iter().chain(&side.not_named_ports) {
            let sockets = cluster.sets.named_port(side, name);
            let nets: Vec<_> = sockets
                .iter()
                .map(|(address, ..)| crate::net::host(*address))
                .collect();
            all.push(Spans::of(&nets));
        }
    }
    let mut distinct: Vec<Spans> = Vec::new();
    for spans in all {
        if !spans.is_empty() && !distinct.contains(&spans) {
            distinct.push(spans);
        }
    }
    distinct
}

fn borders(spans: &Spans) -> impl Iterator<Item = Ipv4Addr> {
    let ranges = spans.ranges();
    let from_the_end = ranges.len().saturating_sub(RANGES).max(RANGES.min(ranges.len()));
    let ranges = ranges[..RANGES.min(ranges.len())]
        .iter()
        .chain(&ranges[from_the_end..]);
    let points = ranges.flat_map(|(low, high)| {
        [
            low.checked_sub(1),
            Some(*low),
            Some(low + (high - low) / 2),
            Some(*high),
            high.checked_add(1),
        ]
    });
    points
        .flatten()
        .map(Ipv4Addr::from_bits)
        .collect::<Vec<_>>()
        .into_iter()
}

/// The first [`ALIKE`] items of each group for which `look` returns the same.
fn one_of_each<T: Copy + Ord>(all: Vec<T>, look: impl Fn(&T) -> Vec<bool>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let mut times: HashMap<Vec<bool>, usize> = HashMap::new();
    let mut chosen = Vec::new();
    for one in all {
        if !seen.insert(one) {
            continue;
        }
        let times = times.entry(look(&one)).or_default();
        *times += 1;
        if *times <= ALIKE {
            chosen.push(one);
        }
    }
    chosen
}

fn contents(cluster: &Cluster, rules: &[&Rule]) -> Vec<Content> {
    let mut contents = BTreeSet::from([
        Content::Icmp(3, 1),
        Content::Icmp(8, 0),
        Content::Other(OTHER_PROTOCOL),
    ]);
    for rule in rules {
        let icmp = rule.icmp.iter().chain(&rule.not_icmp);
        contents.extend(icmp.filter_map(|icmp| {
            Some(Content::Icmp(
                icmp.kind.try_into().ok()?,
                icmp.code.unwrap_or_default().try_into().ok()?,
            ))
        }));
        contents.extend(rule.protocol.iter().chain(&rule.not_protocol).filter_map(other));
    }
    let sources = ports(cluster, rules, |rule| &rule.source, &[CLIENT_PORT]);
    let destinations = ports(cluster, rules, |rule| &rule.destination, &[1, 65_000]);
    for protocol in PortProtocol::ALL {
        for source in &sources {
            contents.extend(destinations.iter().map(|d| Content::Ports(protocol, *source, *d)));
        }
    }
    contents.into_iter().collect()
}

/// Content of a packet of a protocol without ports other than ICMP.
fn other(protocol: &Protocol) -> Option<Content> {
    let number = protocol.number();
    let is_special = number == 1 || PortProtocol::ALL.iter().any(|p| p.number() == number);
    (!is_special).then_some(Content::Other(number))
}

fn ports(cluster: &Cluster, rules: &[&Rule], side: impl Fn(&Rule) -> &Side, always: &[u16]) -> Vec<u16> {
    let mut matches: BTreeSet<Vec<(u16, u16)>> = BTreeSet::new();
    for rule in rules {
        let side = side(rule);
        for list in [&side.ports, &side.not_ports] {
            matches.insert(list.clone());
        }
        for name in side.named_ports.iter().chain(&side.not_named_ports) {
            let sockets = cluster.sets.named_port(side, name);
            matches.extend(sockets.iter().map(|(_, _, port)| vec![(*port, *port)]));
        }
        let services = side.service.iter().flat_map(|s| cluster.sets.service_sockets(s));
        matches.extend(services.map(|(_, _, port)| vec![(*port, *port)]));
    }
    let is_in = |list: &Vec<(u16, u16)>, port: u16| list.iter().any(|(l, h)| (*l..=*h).contains(&port));
    let borders = matches.iter().flatten().flat_map(|(low, high)| {
        [
            Some(*low),
            Some(*high),
            low.checked_sub(1).filter(|p| *p > 0),
            high.checked_add(1),
        ]
    });
    let all: Vec<u16> = always.iter().copied().chain(borders.flatten()).collect();
    one_of_each(all, |port| {
        matches.iter().map(|list| is_in(list, *port)).collect()
    })
}
