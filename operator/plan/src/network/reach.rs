//! Who reaches whose pods by routes: pod CIDRs, and what the API knows of the nodes' networks.

use std::collections::BTreeSet;

use ipnet::Ipv4Net;
use jiff::{SignedDuration, Timestamp};
use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::finding::names_of;
use crate::observed::Observed;

/// A node as far as routes matter, of either system.
struct Node<'a> {
    name: &'a str,
    created: Option<Timestamp>,
    pod_cidr: Option<Ipv4Net>,
    /// Annotation `projectcalico.org/IPv4Address`: Calico found the prefix on the node.
    address: Option<Ipv4Net>,
}

fn nodes(observed: &Observed) -> impl Iterator<Item = Node<'_>> {
    let windows = observed.nodes.iter().map(|(name, n)| Node {
        name,
        created: n.created,
        pod_cidr: n.pod_cidr,
        address: n.bgp_address.parse().ok(),
    });
    let linux = observed.linux.iter().map(|(name, n)| Node {
        name,
        created: n.created,
        pod_cidr: n.pod_cidr,
        address: n.bgp_address.parse().ok(),
    });
    windows.chain(linux)
}

/// How long a node that joined may lack what controllers give it: they take seconds, and up to half a minute when one
/// of them has just been replaced (leases last 15 s).
const GRACE: SignedDuration = SignedDuration::from_secs(30);

/// Names of those that lacked something too long, and when the next one will have.
pub fn overdue<'a>(
    lacking: impl Iterator<Item = (&'a str, Option<Timestamp>)>,
    now: Timestamp,
) -> (String, Option<Timestamp>) {
    let due = |created: Option<Timestamp>| created.map(|at| at + GRACE).filter(|at| *at > now);
    let (late, coming): (Vec<_>, Vec<_>) = lacking
        .map(|(name, created)| (name, due(created)))
        .partition(|(_, due)| due.is_none());
    let next = coming.into_iter().filter_map(|(_, due)| due).min();
    (names_of(late.into_iter().map(|(name, _)| name)), next)
}

/// Nodes without a range of pod addresses.
pub fn without_pod_cidr(observed: &Observed, now: Timestamp) -> (Option<Finding>, Option<Timestamp>) {
    let missing = nodes(observed).filter(|n| n.pod_cidr.is_none());
    let (late, next) = overdue(missing.map(|n| (n.name, n.created)), now);
    let finding = (!late.is_empty()).then(|| Finding {
        reason: Reason::PodCIDRMissing,
        message: format!(
            "Node {late} has no spec.podCIDR (IPv4): run kube-controller-manager with --allocate-node-cidrs and \
             --cluster-cidr"
        ),
    });
    (finding, next)
}

/// Nodes whose ranges overlap: a route leads to one of them only.
pub fn pod_cidr_conflict(observed: &Observed) -> Option<Finding> {
    let mut all: Vec<_> = nodes(observed)
        .filter_map(|n| Some((n.pod_cidr?, n.name)))
        .collect();
    // A range stands right before those within it, as ranges either contain one another or do not meet.
    all.sort_by_key(|(net, name)| (net.network(), net.prefix_len(), *name));
    let (first, second) = all
        .iter()
        .zip(all.iter().skip(1))
        .find(|((a, _), (b, _))| a.contains(b))?;
    Some(Finding {
        reason: Reason::PodCIDRConflict,
        message: format!(
            "Node {} has spec.podCIDR {} and Node {} has {}, which overlap, so one of them is not reachable; join one of them again \
             with a range of its own",
            first.1, first.0, second.1, second.0
        ),
    })
}

/// What is known of the nodes' own networks.
pub enum Adjacency {
    Same,
    /// The first node of each of two networks.
    Different(String),
    /// No annotation, or one without a prefix (some clouds give each node a /32).
    CannotKnow,
}

pub fn adjacency(observed: &Observed) -> Adjacency {
    let usable = |n: &Node| n.address.is_some_and(|a| a.prefix_len() < 32);
    let mut known = nodes(observed).filter(usable).peekable();
    let Some(first) = known.next() else {
        return Adjacency::CannotKnow;
    };
    // Same subnet as the first is same subnet as each other.
    let apart = |n: &Node| {
        let both = first.address.zip(n.address);
        both.is_some_and(|(a, b)| !a.contains(&b.addr()) || !b.contains(&a.addr()))
    };
    if let Some(other) = known.find(apart) {
        let shown = |n: &Node| n.address.map(|a| a.trunc().to_string()).unwrap_or_default();
        return Adjacency::Different(format!(
            "Node {} is in {} and Node {} in {} (annotation projectcalico.org/IPv4Address)",
            first.name,
            shown(&first),
            other.name,
            shown(&other)
        ));
    }
    if nodes(observed).all(|n| usable(&n)) {
        Adjacency::Same
    } else {
        Adjacency::CannotKnow
    }
}

/// A range that all pods are in. No object says which one the cluster was given, so it is the smallest that holds every
/// node's, and never smaller than /16, so that the next node is likely to be in it, too.
pub fn pod_network(observed: &Observed) -> String {
    const LONGEST: u8 = 16;
    let mut all = nodes(observed).filter_map(|n| n.pod_cidr);
    let Some(first) = all.next() else {
        return String::new();
    };
    let widened = Ipv4Net::new(first.network(), first.prefix_len().min(LONGEST)).unwrap_or(first);
    all.fold(widened.trunc(), |range, cidr| {
        std::iter::successors(Some(range), Ipv4Net::supernet)
            .find(|wider| wider.contains(&cidr))
            .unwrap_or(range)
    })
    .to_string()
}

/// Every node that routes can lead to: range, address, name; in the order of ranges.
pub fn table(observed: &Observed) -> BTreeSet<(Ipv4Net, std::net::Ipv4Addr, &str)> {
    let windows = observed
        .nodes
        .iter()
        .map(|(name, n)| (name, n.pod_cidr, n.internal_ip));
    let linux = observed
        .linux
        .iter()
        .map(|(name, n)| (name, n.pod_cidr, n.internal_ip));
    windows
        .chain(linux)
        .filter_map(|(name, cidr, ip)| Some((cidr?, ip?, name.as_str())))
        .collect()
}
