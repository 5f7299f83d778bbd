//! The findings of policies, computed again only where something changed.
//!
//! Endpoints are evaluated by class. The result of a class is kept with the fingerprint of everything that its evaluation
//! reads, and used again while the fingerprint is the same. An empty cache gives the same findings.

mod class;
mod prints;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;

use super::{Code, Finding, ObjectName, Severity, shapes, sort, words};
use crate::cluster::{Cluster, Refused};
use crate::felix::{self, Panic, PolicySets};
use crate::fingerprint::{Fingerprint, Keys};
use crate::input::Objects;
use crate::model::{Direction, PolicyId};
use crate::prepared::Policies;
use crate::release::Release;
use class::{Effect, Effects};
use prints::Prints;

/// Results of an earlier state of the cluster.
#[derive(Debug, Default)]
pub struct Cache {
    keys: Keys,
    policies: Policies,
    release: Option<Release>,
    /// Without the objects that Calico refuses.
    left_out: Layer,
    /// With them.
    stored: Layer,
}

/// Results of one evaluation of the cluster.
#[derive(Debug, Default)]
struct Layer {
    classes: HashMap<Fingerprint, Known>,
    /// Findings about the number of addresses, by policy and its sets.
    addresses: HashMap<Fingerprint, Vec<Finding>>,
}

/// The result of a class.
#[derive(Debug)]
struct Known {
    panic: Option<Panic>,
    /// The nodes of the class on which Felix panics.
    panicking: Fingerprint,
    /// The pods at the other end of packets with a different result.
    remotes: Fingerprint,
    effects: Effects,
}

/// Position of each endpoint of a class in the cluster, sorted by address.
type Members = Vec<usize>;

impl Cache {
    /// All findings about the policies of `objects`, sorted.
    pub fn findings(&mut self, objects: &Objects, release: Release) -> Vec<Finding> {
        if self.release != Some(release) {
            (self.left_out, self.stored) = (Layer::default(), Layer::default());
            self.release = Some(release);
        }
        let cluster = Cluster::with(objects, release, Refused::LeftOut, &mut self.policies);
        let classes = self.left_out.evaluate(&cluster, &self.keys);
        let mut findings = of_differences(&cluster, &classes);
        findings.extend(shapes::panics(&cluster, classes.panics()));
        findings.extend(classes.addresses.values().flatten().cloned());
        findings.extend(shapes::of_cluster(&cluster));
        let is_any_refused = !cluster.refused.is_empty();
        drop((cluster, classes));
        if is_any_refused {
            let stored = Cluster::with(objects, release, Refused::Stored, &mut self.policies);
            let opens = self.stored.evaluate(&stored, &self.keys).opens();
            findings.extend(shapes::of_refused(&stored, opens));
        } else {
            self.stored = Layer::default();
        }
        sort(&mut findings);
        findings
    }
}

/// The results of an evaluation.
struct Classes<'a> {
    /// In the order of the cluster.
    all: Vec<(Members, &'a Known)>,
    addresses: &'a HashMap<Fingerprint, Vec<Finding>>,
}

impl Classes<'_> {
    /// Each panic with the endpoints whose ACLs cause it.
    fn panics(&self) -> impl Iterator<Item = (&Panic, &[usize])> {
        let classes = self.all.iter();
        classes.filter_map(|(members, known)| Some((known.panic.as_ref()?, members.as_slice())))
    }

    /// Whether Windows allows a packet that the policies deny.
    fn opens(&self) -> bool {
        let mut classes = self.all.iter();
        classes.any(|(_, known)| known.panic.is_some() || known.effects.is_open)
    }
}

impl Layer {
    fn evaluate(&mut self, cluster: &Cluster, keys: &Keys) -> Classes<'_> {
        let prints = Prints::new(cluster, keys);
        let mut members: Vec<Members> = vec![Vec::new(); cluster.classes.len()];
        for (position, endpoint) in cluster.endpoints.iter().enumerate() {
            members[endpoint.class].push(position);
        }
        let of_classes = members.iter().enumerate();
        let of_classes: Vec<Fingerprint> = of_classes.map(|(i, members)| prints.class(i, members)).collect();
        let mut sets = PolicySets::new();
        let mut panics: Vec<Option<Panic>> = Vec::new();
        for (class, print) in cluster.classes.iter().zip(&of_classes) {
            panics.push(match self.classes.get(print) {
                Some(known) => known.panic.clone(),
                None => felix::of_class(cluster, class, &mut sets).err(),
            });
        }
        let endpoints = cluster.endpoints.iter();
        let panicking = endpoints.filter(|endpoint| panics[endpoint.class].is_some());
        let panicking: HashSet<&str> = panicking.map(|endpoint| &*endpoint.pod.node).collect();
        let mut before = std::mem::take(&mut self.classes);
        for ((class, panic), print) in panics.into_iter().enumerate().zip(&of_classes) {
            let members = &members[class];
            let own_nodes = members.iter().map(|i| &*cluster.endpoints[*i].pod.node);
            let own_nodes: BTreeSet<&str> = own_nodes.filter(|node| panicking.contains(node)).collect();
            let own_nodes = keys.of(own_nodes);
            let is_same = |known: &Known| {
                known.panicking == own_nodes && known.remotes == prints.pods(&known.effects.remotes)
            };
            let known = before.remove(print).filter(is_same).unwrap_or_else(|| {
                let effects = class::evaluate(cluster, class, members, &panicking, &mut sets);
                Known {
                    panic,
                    panicking: own_nodes,
                    remotes: prints.pods(&effects.remotes),
                    effects,
                }
            });
            self.classes.insert(*print, known);
        }
        self.count_addresses(cluster, &prints);
        let of_classes = members.into_iter().zip(&of_classes);
        let known = of_classes.filter_map(|(members, print)| Some((members, self.classes.get(print)?)));
        Classes {
            all: known.collect(),
            addresses: &self.addresses,
        }
    }

    fn count_addresses(&mut self, cluster: &Cluster, prints: &Prints<'_>) {
        let mut before = std::mem::take(&mut self.addresses);
        let policies = cluster.policies.iter().enumerate();
        for (i, policy) in policies.filter(|(_, policy)| !policy.id.kind.is_staged()) {
            let print = prints.policy(i);
            let known = before.remove(&print);
            let findings = known.unwrap_or_else(|| shapes::many_addresses(cluster, policy));
            self.addresses.insert(print, findings);
        }
    }
}

/// Packets of all endpoints with a different result because of one cause.
#[derive(Default)]
struct Merged<'a> {
    first: Option<&'a Effect>,
    open: bool,
    closed: bool,
    cuts_off: bool,
    example: Option<(&'a class::Example, (Ipv4Addr, &'a str, &'a str))>,
    pods: BTreeSet<String>,
}

fn of_differences(cluster: &Cluster, classes: &Classes<'_>) -> Vec<Finding> {
    let mut causes: BTreeMap<&(Code, PolicyId, Direction, usize), Merged<'_>> = BTreeMap::new();
    for (members, known) in &classes.all {
        for (key, effect) in &known.effects.causes {
            causes.entry(key).or_default().add(cluster, members, effect);
        }
    }
    let findings = causes.into_iter();
    findings
        .filter_map(|((code, policy, ..), merged)| merged.finding(*code, policy))
        .collect()
}

impl<'a> Merged<'a> {
    fn add(&mut self, cluster: &'a Cluster, members: &[usize], effect: &'a Effect) {
        let endpoint = |member: &u32| {
            let position = usize::try_from(*member).ok()?;
            cluster.endpoints.get(*members.get(position)?)
        };
        self.first.get_or_insert(effect);
        self.open |= effect.open;
        self.closed |= effect.closed;
        self.cuts_off |= effect.cuts_off;
        self.pods
            .extend(effect.pods.iter().filter_map(endpoint).map(|e| e.name()));
        let Some(at) = endpoint(&effect.example.member) else {
            return;
        };
        // Of examples with the same rank, that of the first endpoint counts.
        let place = (at.pod.address, &*at.pod.namespace, &*at.pod.name);
        let is_better = self.example.is_none_or(|(best, best_place)| {
            let rank = effect.example.rank.cmp(&best.rank);
            rank.then_with(|| best_place.cmp(&place)).is_gt()
        });
        if is_better {
            self.example = Some((&effect.example, place));
        }
    }

    fn finding(self, code: Code, policy: &PolicyId) -> Option<Finding> {
        let first = self.first?;
        let entry = code.entry();
        Some(Finding {
            code,
            severity: if self.open || self.cuts_off {
                Severity::Error
            } else {
                Severity::Warning
            },
            object: ObjectName::of_policy(policy),
            field: Some(first.field.clone()),
            message: words::message(&first.what, self.open, self.closed, self.cuts_off),
            flow: self.example.map(|(example, _)| example.flow.clone()),
            fix: entry.fix,
            source: entry.source,
            pods: self.pods.into_iter().collect(),
        })
    }
}
