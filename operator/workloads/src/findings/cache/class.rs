//! The evaluation of one class of endpoints: which packets have a different result, and why.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;

use super::super::cause::{self, Cause};
use super::super::table::Code;
use super::super::words;
use crate::cluster::{Cluster, Endpoint};
use crate::difference::{self, Difference, depends_on_pod};
use crate::felix::{self, PolicySets};
use crate::model::{Direction, PolicyId};
use crate::packet::{CLIENT_PORT, Content, Packet, PortProtocol};
use crate::sample::Sample;

/// Packets of a class with a different result on Windows.
#[derive(Debug, Default)]
pub struct Effects {
    /// By cause: code, policy, direction and position of the rule.
    pub causes: BTreeMap<(Code, PolicyId, Direction, usize), Effect>,
    /// Whether Windows allows a packet that the policies deny.
    pub is_open: bool,
    /// Addresses at the other end of the packets.
    pub remotes: Box<[Ipv4Addr]>,
}

/// Packets with a different result because of one cause.
#[derive(Debug)]
pub struct Effect {
    /// The field that is the cause.
    pub field: String,
    /// What is different on Windows.
    pub what: String,
    /// Whether a packet is allowed that should be denied.
    pub open: bool,
    /// Whether a packet is denied that should be allowed.
    pub closed: bool,
    /// Whether no packet is allowed.
    pub cuts_off: bool,
    /// The best packet to show.
    pub example: Example,
    /// Positions of the endpoints among those of the class.
    pub pods: Box<[u32]>,
}

/// A packet as an example.
#[derive(Debug)]
pub struct Example {
    /// Higher ranks are better examples.
    pub rank: Rank,
    /// Position of the endpoint among those of the class.
    pub member: u32,
    /// The packet in words.
    pub flow: String,
}

/// Rank of a packet as the example: allowed packets first, then TCP, then packets of a pod.
pub type Rank = [bool; 3];

fn rank(cluster: &Cluster, packet: &Packet, is_open: bool) -> Rank {
    let is_tcp = matches!(packet.content, Content::Ports(PortProtocol::Tcp, CLIENT_PORT, _));
    [is_open, is_tcp, cluster.pods.contains_key(&packet.remote)]
}

/// What is known of a cause while packets are added.
struct Found<'a> {
    cause: Cause<'a>,
    open: bool,
    closed: bool,
    cuts_off: bool,
    example: (Rank, u32, Packet),
    pods: Vec<u32>,
}

/// Evaluates the endpoints of a class, which are those at positions of the cluster. Nodes on which Felix panics have no ACLs.
pub fn evaluate(
    cluster: &Cluster,
    class: usize,
    members: &[usize],
    panicking: &HashSet<&str>,
    sets: &mut PolicySets,
) -> Effects {
    let of_class = &cluster.classes[class];
    let Ok(acls) = felix::of_class(cluster, of_class, sets) else {
        return Effects::default();
    };
    let samples = Direction::BOTH.map(|direction| Sample::new(cluster, of_class, direction));
    let depends = depends_on_pod(cluster, of_class);
    let mut by_node: HashMap<Vec<Ipv4Addr>, Vec<Difference>> = HashMap::new();
    let mut findings = Findings {
        cluster,
        depends,
        causes: HashMap::new(),
        found: BTreeMap::new(),
        is_open: false,
        remotes: BTreeSet::new(),
    };
    for (member, position) in (0_u32..).zip(members) {
        let endpoint = &cluster.endpoints[*position];
        if panicking.contains(&*endpoint.pod.node) {
            continue;
        }
        let at = (endpoint.pod.address, &*endpoint.node_addresses);
        let compare = || difference::of_endpoint(cluster, of_class, &acls, &samples, at);
        if depends {
            findings.add(member, endpoint, &compare());
        } else {
            // Endpoints of a class differ only in the packets of their node, which are always allowed.
            let key = samples[Direction::Ingress as usize].among(&endpoint.node_addresses);
            findings.add(member, endpoint, by_node.entry(key).or_insert_with(compare));
        }
    }
    let Findings {
        found,
        is_open,
        remotes,
        ..
    } = findings;
    let causes = found.into_values().map(|found| {
        let (rank, member, packet) = found.example;
        let flow = usize::try_from(member)
            .ok()
            .and_then(|member| members.get(member));
        let flow = flow.map(|position| {
            let endpoint = &cluster.endpoints[*position];
            words::flow(cluster, &acls, endpoint, found.cause.direction, &packet)
        });
        let effect = Effect {
            field: words::field(&found.cause),
            what: words::what(&found.cause),
            open: found.open,
            closed: found.closed,
            cuts_off: found.cuts_off,
            example: Example {
                rank,
                member,
                flow: flow.unwrap_or_default(),
            },
            pods: found.pods.into(),
        };
        (found.cause.key(), effect)
    });
    Effects {
        causes: causes.collect(),
        is_open,
        remotes: remotes.into_iter().collect(),
    }
}

struct Findings<'a> {
    cluster: &'a Cluster,
    depends: bool,
    /// Causes of packets that do not depend on the endpoint.
    causes: HashMap<(Direction, Packet), Option<Cause<'a>>>,
    /// By code, policy, direction and position of the rule.
    found: BTreeMap<(Code, &'a PolicyId, Direction, usize), Found<'a>>,
    is_open: bool,
    remotes: BTreeSet<Ipv4Addr>,
}

impl<'a> Findings<'a> {
    fn add(&mut self, member: u32, endpoint: &Endpoint, differences: &[Difference]) {
        for difference in differences {
            let open = difference.more_open.iter().map(|packet| (packet, true));
            let closed = difference.more_closed.iter().map(|packet| (packet, false));
            let packets = open.chain(closed);
            for (packet, is_open) in packets.filter(|(packet, _)| packet.remote != endpoint.pod.address) {
                self.is_open |= is_open;
                self.remotes.insert(packet.remote);
                if let Some(cause) = self.cause(endpoint, difference.direction, packet) {
                    let cuts_off = difference.let_through == 0;
                    self.packet(cause, member, packet, is_open, cuts_off);
                }
            }
        }
    }

    fn cause(&mut self, endpoint: &Endpoint, direction: Direction, packet: &Packet) -> Option<Cause<'a>> {
        let cluster = self.cluster;
        let of = || cause::of(cluster, endpoint, direction, packet);
        if self.depends {
            return of();
        }
        *self.causes.entry((direction, *packet)).or_insert_with(of)
    }

    fn packet(&mut self, cause: Cause<'a>, member: u32, packet: &Packet, is_open: bool, cuts_off: bool) {
        let rank = rank(self.cluster, packet, is_open);
        let index = cause.rule.map_or(0, |rule| rule.origin.index);
        let key = (cause.code, &cause.policy.id, cause.direction, index);
        let found = self.found.entry(key).or_insert_with(|| Found {
            cause,
            open: false,
            closed: false,
            cuts_off: false,
            example: (rank, member, *packet),
            pods: Vec::new(),
        });
        if rank > found.example.0 {
            found.example = (rank, member, *packet);
        }
        found.open |= is_open;
        found.closed |= !is_open;
        found.cuts_off |= cuts_off;
        if found.pods.last() != Some(&member) {
            found.pods.push(member);
        }
    }
}
