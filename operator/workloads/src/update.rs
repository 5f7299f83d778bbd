//! The effect of an edit on running pods: which pods get new ACLs, and which keep the old ones until
//! something else triggers an update.
//!
//! Felix recomputes the ACLs of an endpoint when the endpoint or its list of policies changes, and when it
//! finds the endpoint by a policy, profile or IP set that changed. It searches the first tier only, and since
//! v3.32 by a name that policies no longer have.

mod named_sets;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cluster::{Class, Cluster, Endpoint, Refused};
use crate::evaluate::Evaluation;
use crate::input::pod::{Addresses, Pod as PodObject, PodClass};
use crate::input::{Key, Objects};
use crate::model::{Direction, Policy, PolicyId};
use crate::output::{AclLine, acl_lines};
use crate::release::Release;
use crate::validate;
use named_sets::{ends, of_end, referenced};

/// The effect of an edit on a running pod.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodUpdate {
    /// Namespace and name.
    pub pod: String,
    /// The pod's node, for filters; not in the output.
    #[serde(skip)]
    pub node: String,
    /// Messages that Felix on the pod's node sends to its dataplane.
    pub messages: Vec<&'static str>,
    /// Whether the pod keeps its old ACLs.
    pub stale: bool,
    /// ACLs before the edit.
    pub before: Vec<AclLine>,
    /// ACLs after the edit.
    pub after: Vec<AclLine>,
    /// ACLs after the edit and a restart of Felix.
    pub after_restart: Vec<AclLine>,
}

/// The effect of an edit on the first pod that it changes, and on all pods.
#[derive(Clone, Debug, Serialize)]
pub struct UpdateReport {
    /// The pod whose fields are at the top level of the output.
    #[serde(flatten)]
    pub first: Option<PodUpdate>,
    /// All pods, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodUpdate>,
}

impl UpdateReport {
    /// Puts the first pod whose ACLs the edit should change at the top level, or else the first pod.
    pub fn new(pods: Vec<PodUpdate>) -> Self {
        let changed = pods.iter().find(|pod| pod.before != pod.after_restart);
        let first = changed.or(pods.first()).cloned();
        let pods = if pods.len() > 1 { pods } else { Vec::new() };
        Self { first, pods }
    }
}

/// The effect on the pods of Windows nodes that run before and after the edit, sorted by address. Objects of
/// the edit that Calico refuses change nothing.
pub fn of(before: &Objects, update: &Objects, release: Release) -> Vec<PodUpdate> {
    let after = before.updated(&validate::accepted(update, release));
    let old = Evaluation::new(before, release, Refused::LeftOut);
    let new = Evaluation::new(&after, release, Refused::LeftOut);
    let mut nodes: BTreeMap<&str, Change<'_>> = BTreeMap::new();
    let mut updates = Vec::new();
    for (_, endpoint) in new.endpoints() {
        let same = |e: &&Endpoint| e.name() == endpoint.name() && e.pod.node == endpoint.pod.node;
        let Some(was) = old.cluster.endpoints.iter().find(same) else {
            continue;
        };
        let change =
            nodes.entry(&*endpoint.pod.node).or_insert_with(|| {
                let sides = [(before, &old), (&after, &new)];
                Change::new(sides.map(|(objects, evaluation)| {
                    State::new(objects, &evaluation.cluster, &endpoint.pod.node)
                }))
            });
        let (before, after_restart) = (acl_lines(&old, was), acl_lines(&new, endpoint));
        let after = if change.reaches(was, endpoint, release) {
            after_restart.clone()
        } else {
            before.clone()
        };
        updates.push(PodUpdate {
            pod: endpoint.name(),
            node: endpoint.pod.node.to_string(),
            messages: change.messages.clone(),
            stale: after != after_restart,
            before,
            after,
            after_restart,
        });
    }
    updates
}

/// The state of Felix on one node.
struct State<'a> {
    objects: &'a Objects,
    cluster: &'a Cluster,
    /// Policies that are active on the node.
    policies: BTreeMap<&'a PolicyId, &'a Policy>,
    /// IP sets by name, with their IPv4 members as text.
    sets: BTreeMap<String, Vec<String>>,
    endpoints: BTreeMap<String, &'a Endpoint>,
    profiles: BTreeMap<String, Option<bool>>,
}

impl<'a> State<'a> {
    fn new(objects: &'a Objects, cluster: &'a Cluster, node: &str) -> Self {
        let local: Vec<&Endpoint> = cluster
            .endpoints
            .iter()
            .filter(|e| &*e.pod.node == node)
            .collect();
        let classes: BTreeSet<usize> = local.iter().map(|e| e.class).collect();
        let matched = classes.iter().flat_map(|class| &cluster.classes[*class].tiers);
        let matched: BTreeSet<usize> = matched.flat_map(|(_, policies)| policies).copied().collect();
        let active = cluster.policies.iter().enumerate();
        let active = active.filter(|(i, policy)| policy.everywhere || matched.contains(i));
        let policies: BTreeMap<_, _> = active.map(|(_, policy)| (&policy.id, &**policy)).collect();
        let mut sets = BTreeMap::new();
        for policy in policies.values() {
            for end in ends(policy) {
                sets.extend(of_end(end, &cluster.sets));
            }
        }
        let profiles = local.iter().flat_map(|e| e.pod.profiles.iter());
        let profiles = profiles.map(|name| (name.clone(), cluster.profiles.get(name).copied()));
        Self {
            objects,
            cluster,
            policies,
            sets,
            profiles: profiles.collect(),
            endpoints: local.into_iter().map(|e| (e.name(), e)).collect(),
        }
    }

    fn class(&self, endpoint: &Endpoint) -> &Class {
        &self.cluster.classes[endpoint.class]
    }

    /// Policies of an endpoint with the metadata that decides their order.
    fn matched(&self, endpoint: &Endpoint) -> Vec<(&PolicyId, Metadata<'_>)> {
        let tiers = self.class(endpoint).tiers.iter();
        let policies = tiers
            .flat_map(|(_, policies)| policies)
            .map(|i| &self.cluster.policies[*i]);
        policies.map(|policy| (&policy.id, metadata(policy))).collect()
    }

    /// Policies of the endpoint's first tier, and whether Felix also searches profiles.
    fn first_tier(&self, endpoint: &Endpoint) -> (BTreeSet<&PolicyId>, bool) {
        let class = self.class(endpoint);
        let of = |direction| self.cluster.tiers_of(class, direction).collect::<Vec<_>>();
        let (ingress, egress) = (of(Direction::Ingress), of(Direction::Egress));
        let position = |name: &str| self.cluster.tiers.iter().position(|tier| tier.name == name);
        let names = ingress.iter().chain(&egress).map(|(tier, _)| tier.name.as_str());
        let Some(first) = names.min_by_key(|name| position(name)) else {
            return (BTreeSet::new(), true);
        };
        let mut policies = BTreeSet::new();
        let mut governs = [false; 2];
        for (i, tiers) in [&ingress, &egress].into_iter().enumerate() {
            for (_, of_tier) in tiers.iter().filter(|(tier, _)| tier.name == first) {
                governs[i] = true;
                policies.extend(of_tier.iter().map(|policy| &policy.id));
            }
        }
        (policies, governs != [true; 2])
    }
}

/// The metadata by which Felix sorts policies and puts them into tiers.
type Metadata<'a> = (&'a str, u64, [bool; 4]);

fn metadata(policy: &Policy) -> Metadata<'_> {
    let flags = [
        policy.ingress,
        policy.egress,
        policy.do_not_track,
        policy.pre_dnat,
    ];
    (&policy.tier, policy.order.to_bits(), flags)
}

/// The changes of an edit for Felix on one node.
struct Change<'a> {
    old: State<'a>,
    new: State<'a>,
    /// Policies that are new or changed.
    policies: Vec<&'a PolicyId>,
    /// IP sets that are new or have other members.
    sets: BTreeSet<String>,
    /// Profiles with other rules.
    profiles: BTreeSet<String>,
    /// Endpoints that Felix's calculation has evaluated again.
    endpoints: BTreeSet<String>,
    messages: Vec<&'static str>,
}

impl<'a> Change<'a> {
    fn new([old, new]: [State<'a>; 2]) -> Self {
        let changed = |(id, policy): &(&&'a PolicyId, &&'a Policy)| old.policies.get(**id) != Some(*policy);
        let policies: Vec<&PolicyId> = new.policies.iter().filter(changed).map(|(id, _)| *id).collect();
        let removed_policies = old
            .policies
            .keys()
            .filter(|id| !new.policies.contains_key(**id))
            .count();
        let added: BTreeSet<String> = new
            .sets
            .keys()
            .filter(|s| !old.sets.contains_key(*s))
            .cloned()
            .collect();
        let differs = |(name, members): &(&String, &Vec<String>)| {
            old.sets.get(*name).is_some_and(|old| old != *members)
        };
        let altered: BTreeSet<String> = new
            .sets
            .iter()
            .filter(differs)
            .map(|(name, _)| name.clone())
            .collect();
        let removed_sets = old
            .sets
            .keys()
            .filter(|name| !new.sets.contains_key(*name))
            .count();
        let profiles = new
            .profiles
            .iter()
            .filter(|(name, rules)| old.profiles.get(*name) != Some(*rules));
        let profiles: BTreeSet<String> = profiles.map(|(name, _)| name.clone()).collect();
        let names = new.endpoints.keys();
        let endpoints: BTreeSet<String> = names.filter(|name| is_dirty(&old, &new, name)).cloned().collect();
        let gone = old
            .endpoints
            .keys()
            .filter(|name| !new.endpoints.contains_key(*name))
            .count();
        let messages = [
            ("IPSetUpdate", added.len()),
            ("IPSetDeltaUpdate", altered.len()),
            ("ActivePolicyUpdate", policies.len()),
            ("ActiveProfileUpdate", profiles.len()),
            ("WorkloadEndpointUpdate", endpoints.len()),
            ("WorkloadEndpointRemove", gone),
            ("ActivePolicyRemove", removed_policies),
            ("IPSetRemove", removed_sets),
            (
                "ServiceAccountUpdate",
                changed_objects(&old.objects.service_accounts, &new.objects.service_accounts),
            ),
            (
                "NamespaceUpdate",
                changed_objects(&old.objects.namespaces, &new.objects.namespaces),
            ),
        ];
        let messages = messages
            .into_iter()
            .flat_map(|(message, times)| std::iter::repeat_n(message, times));
        Self {
            policies,
            sets: added.into_iter().chain(altered).collect(),
            profiles,
            endpoints,
            messages: messages.collect(),
            old,
            new,
        }
    }

    /// Whether Felix computes the ACLs of an endpoint again.
    fn reaches(&self, was: &Endpoint, endpoint: &Endpoint, release: Release) -> bool {
        if self.endpoints.contains(&endpoint.name()) || was.node_addresses != endpoint.node_addresses {
            return true;
        }
        let (first_tier, has_profiles) = self.old.first_tier(was);
        let finds_policies = !release.loses_rule_edits();
        let by_policy = || {
            self.policies
                .iter()
                .any(|id| !id.kind.is_staged() && first_tier.contains(id))
        };
        let by_profile = || was.pod.profiles.iter().any(|name| self.profiles.contains(name));
        let by_set = || {
            let policies = self
                .new
                .policies
                .iter()
                .filter(|(id, _)| first_tier.contains(**id));
            let enforced = policies.filter(|(id, _)| !id.kind.is_staged());
            let mut ends = enforced.flat_map(|(_, policy)| ends(policy));
            ends.any(|end| referenced(end).any(|name| self.sets.contains(&name)))
        };
        (finds_policies && by_policy()) || (has_profiles && by_profile()) || by_set()
    }
}

/// Whether Felix's calculation sends an endpoint again.
fn is_dirty(old: &State<'_>, new: &State<'_>, name: &str) -> bool {
    let (Some(was), Some(is)) = (old.endpoints.get(name), new.endpoints.get(name)) else {
        return true;
    };
    let key = (is.pod.namespace.clone(), is.pod.name.clone());
    let [was_object, is_object] = [old, new].map(|state| state.objects.pods.get(&key).map(of_endpoint));
    let matched = new.matched(is);
    // If a tier changes, Felix evaluates all endpoints with policies again.
    let tiers_changed = old.objects.tiers != new.objects.tiers && !matched.is_empty();
    tiers_changed || was_object != is_object || old.matched(was) != matched
}

fn changed_objects<T: PartialEq>(old: &BTreeMap<Key, T>, new: &BTreeMap<Key, T>) -> usize {
    new.iter()
        .filter(|(key, object)| old.get(*key) != Some(*object))
        .count()
}

/// What the endpoint of a pod depends on.
fn of_endpoint(pod: &PodObject) -> (&PodClass, &str, &Addresses) {
    (&pod.class, &pod.node, &pod.addresses)
}
