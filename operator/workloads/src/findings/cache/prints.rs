//! Fingerprints of what the evaluation of a class reads.

use std::net::Ipv4Addr;

use crate::cluster::{Cluster, PodName};
use crate::fingerprint::{Fingerprint, Keys};
use crate::model::{Direction, Policy, Side};
use crate::sample;
use crate::sets::felix_selector;

/// The fingerprints of a cluster.
pub struct Prints<'a> {
    cluster: &'a Cluster,
    keys: &'a Keys,
    /// Of the policies with the members of their sets.
    policies: Vec<Fingerprint>,
    /// Of the addresses of pods in every sample.
    sampled: Fingerprint,
}

impl<'a> Prints<'a> {
    /// Computes what many classes share.
    pub fn new(cluster: &'a Cluster, keys: &'a Keys) -> Self {
        let items = cluster.sets.items().iter();
        let items: Vec<Fingerprint> = items.map(|item| keys.of(&item.nets)).collect();
        let policies = cluster.policies.iter().zip(&cluster.numbers);
        let of_policy = |(policy, number)| of_policy(cluster, keys, &items, policy, number);
        Self {
            policies: policies
                .map(|(policy, number)| of_policy((&**policy, *number)))
                .collect(),
            sampled: keys.of(sample::pods(cluster).collect::<Vec<_>>()),
            cluster,
            keys,
        }
    }

    /// A policy with the members of its sets.
    pub fn policy(&self, position: usize) -> Fingerprint {
        self.policies[position]
    }

    /// The class at a position, with its endpoints.
    pub fn class(&self, position: usize, members: &[usize]) -> Fingerprint {
        let cluster = self.cluster;
        let class = &cluster.classes[position];
        let tiers = class.tiers.iter().map(|(tier, policies)| {
            let tier = &cluster.tiers[*tier];
            let policies: Vec<Fingerprint> = policies.iter().map(|i| self.policies[*i]).collect();
            (tier.name.as_str(), tier.default_action.as_str(), policies)
        });
        let profiles = class.profiles.iter();
        let profiles = profiles.map(|name| (name.as_str(), cluster.profiles.get(name)));
        let endpoints = members.iter().map(|position| {
            let endpoint = &cluster.endpoints[*position];
            let pod = &endpoint.pod;
            let node = (&*pod.node, &*endpoint.node_addresses);
            (pod.address, &*pod.namespace, &*pod.name, node)
        });
        self.keys.of((
            tiers.collect::<Vec<_>>(),
            profiles.collect::<Vec<_>>(),
            endpoints.collect::<Vec<_>>(),
            self.sampled,
        ))
    }

    /// The pods that have the addresses.
    pub fn pods(&self, addresses: &[Ipv4Addr]) -> Fingerprint {
        let pods = addresses.iter().map(|address| self.cluster.pods.get(address));
        self.keys.of(pods.collect::<Vec<Option<&PodName>>>())
    }
}

fn of_policy(
    cluster: &Cluster,
    keys: &Keys,
    items: &[Fingerprint],
    policy: &Policy,
    number: u64,
) -> Fingerprint {
    let rules = Direction::BOTH
        .into_iter()
        .flat_map(|direction| policy.rules(direction));
    let sides = rules.flat_map(|rule| rule.sides());
    let sides: Vec<Fingerprint> = sides.map(|side| of_side(cluster, keys, items, side)).collect();
    keys.of((number, sides))
}

/// The members of the sets of one side of a rule.
fn of_side(cluster: &Cluster, keys: &Keys, items: &[Fingerprint], side: &Side) -> Fingerprint {
    let sets = &cluster.sets;
    let combined = felix_selector(side);
    let selectors = side.selector.iter().chain(&side.not_selector).chain(&combined);
    let selected = selectors.map(|selector| {
        let items = sets
            .positions(selector)
            .iter()
            .map(|position| items.get(*position));
        items.collect::<Vec<_>>()
    });
    let service = side.service.as_ref();
    let service = service.map(|service| (&sets.service(service).nets, sets.service_sockets(service)));
    let names = side.named_ports.iter().chain(&side.not_named_ports);
    let named_ports = names.map(|name| sets.named_port(side, name));
    keys.of((
        selected.collect::<Vec<_>>(),
        service,
        named_ports.collect::<Vec<_>>(),
    ))
}
