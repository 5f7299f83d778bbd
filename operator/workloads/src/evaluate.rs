//! Evaluates a whole cluster: ACLs and differences of every endpoint, and the effect of every rule.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{Cluster, Endpoint, Refused};
use crate::difference::{self, Difference, Verdict, depends_on_pod, is_about};
use crate::felix::{self, AclAction, Acls, Lost, Panic, PolicySets, Reason};
use crate::input::Objects;
use crate::meaning::Flow;
use crate::model::{Action, Direction, Policy, Rule};
use crate::release::Release;
use crate::sample::Sample;

/// A cluster with the ACLs of its policies on Windows, and the differences.
#[derive(Debug)]
pub struct Evaluation {
    /// The cluster.
    pub cluster: Cluster,
    /// ACLs by position of the class in `cluster.classes`; an error if Felix panics.
    pub acls: Vec<Result<Acls, Panic>>,
    /// Differences by position of the endpoint in `cluster.endpoints`.
    pub differences: Vec<Vec<Difference>>,
    samples: Vec<[Sample; 2]>,
    panicking_nodes: BTreeSet<String>,
    /// Nodes on which Felix does not find a policy set.
    missing_nodes: BTreeSet<String>,
}

/// Effect of a rule on Windows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    Programmed,
    /// In ACLs that ignore a match: that of HTTP requests, or the matches beside a service.
    Wider {
        of_http: bool,
    },
    /// As a Block: the rule is a Pass in the last tier.
    AsBlock,
    Lost(Lost),
    Staged,
    /// Not applied, because the policy is in no tier of a pod: it is for host endpoints, or `types` excludes
    /// the direction.
    NotApplied,
}

/// A rule with its effect.
#[derive(Clone, Debug)]
pub struct RuleEffect<'a> {
    /// The policy of the rule.
    pub policy: &'a Policy,
    /// The rule.
    pub rule: &'a Rule,
    /// Direction of the rule.
    pub direction: Direction,
    /// Its effect on Windows.
    pub effect: Effect,
    /// Number of its ACLs.
    pub acls: usize,
    /// For lost rules: whether the loss changes the result of no packet.
    pub is_harmless: bool,
}

impl Evaluation {
    /// Evaluates the cluster of `objects`.
    pub fn new(objects: &Objects, release: Release, refused: Refused) -> Self {
        let cluster = Cluster::new(objects, release, refused);
        let mut sets = PolicySets::new();
        let acls: Vec<Result<Acls, Panic>> = cluster
            .classes
            .iter()
            .map(|class| felix::of_class(&cluster, class, &mut sets))
            .collect();
        let sample = |class, direction| Sample::new(&cluster, class, direction);
        let samples: Vec<[Sample; 2]> = cluster
            .classes
            .iter()
            .map(|class| Direction::BOTH.map(|direction| sample(class, direction)))
            .collect();
        let panics = |e: &&Endpoint| acls[e.class].is_err();
        let misses = |e: &&Endpoint| acls[e.class].as_ref().is_ok_and(|acls| acls.misses_policy_set);
        let node = |e: &Endpoint| e.pod.node.to_string();
        let panicking_nodes: BTreeSet<String> = cluster.endpoints.iter().filter(panics).map(node).collect();
        let missing_nodes: BTreeSet<String> = cluster.endpoints.iter().filter(misses).map(node).collect();
        let differences = differences(&cluster, &acls, &samples, &panicking_nodes);
        Self {
            acls,
            differences,
            samples,
            panicking_nodes,
            missing_nodes,
            cluster,
        }
    }

    /// Endpoints with their positions in `differences`.
    pub fn endpoints(&self) -> impl Iterator<Item = (usize, &Endpoint)> {
        self.cluster.endpoints.iter().enumerate()
    }

    /// Whether Felix on the node of an endpoint panics.
    pub fn panics(&self, endpoint: &Endpoint) -> bool {
        self.panicking_nodes.contains(&*endpoint.pod.node)
    }

    /// Whether Felix on the node of an endpoint logs that it does not find a policy set.
    pub fn misses_policy_set(&self, endpoint: &Endpoint) -> bool {
        !self.panics(endpoint) && self.missing_nodes.contains(&*endpoint.pod.node)
    }

    /// ACLs of an endpoint; `None` if Felix panics.
    pub fn acls(&self, endpoint: &Endpoint) -> Option<&Acls> {
        if self.panics(endpoint) {
            return None;
        }
        self.acls[endpoint.class].as_ref().ok()
    }

    /// The verdict on the endpoint at a position.
    pub fn verdict(&self, position: usize) -> Verdict {
        let endpoint = &self.cluster.endpoints[position];
        if self.panics(endpoint) {
            return Verdict::FelixPanics;
        }
        difference::verdict(&self.differences[position])
    }

    /// Every rule of active policies, by policy, direction and position.
    pub fn rules(&self) -> Vec<RuleEffect<'_>> {
        let mut policies: Vec<&Policy> = self.cluster.policies.iter().map(|policy| &**policy).collect();
        policies.sort_by_key(|policy| policy.id.to_string());
        let used = self.used();
        let mut effects = Vec::new();
        for policy in policies {
            for direction in Direction::BOTH {
                let use_ = used.get(&(policy.id.to_string(), direction));
                let rules = policy.rules(direction).iter();
                effects.extend(rules.map(|rule| self.effect(policy, rule, direction, use_)));
            }
        }
        effects
    }

    fn effect<'a>(
        &'a self,
        policy: &'a Policy,
        rule: &'a Rule,
        direction: Direction,
        used: Option<&Use>,
    ) -> RuleEffect<'a> {
        let mut result = RuleEffect {
            policy,
            rule,
            direction,
            effect: Effect::NotApplied,
            acls: 0,
            is_harmless: false,
        };
        let Some(used) = used else {
            result.effect = if policy.id.kind.is_staged() {
                Effect::Staged
            } else {
                Effect::NotApplied
            };
            return result;
        };
        if policy.id.kind.is_staged() {
            result.effect = Effect::Staged;
            return result;
        }
        match felix::of_rule(rule, direction, &self.cluster.sets, self.cluster.release) {
            Ok(acls) => {
                result.acls = acls.len();
                let is_pass = acls.iter().any(|acl| acl.action == AclAction::Pass);
                result.effect = if is_pass && used.is_last {
                    Effect::AsBlock
                } else if rule.http {
                    Effect::Wider { of_http: true }
                } else if rule.destination.service.is_some() && self.is_wider(rule, direction, &acls, used) {
                    Effect::Wider { of_http: false }
                } else {
                    Effect::Programmed
                };
            }
            Err(lost) => {
                let is_log = lost == Lost::Skipped(Reason::ActionLog) || rule.action == Action::Log;
                result.is_harmless = is_log
                    || !self.any_packet(direction, used, |flow, _, _| {
                        flow.is_matched(rule, &self.cluster.sets)
                    });
                result.effect = Effect::Lost(lost);
            }
        }
        result
    }

    /// Whether the ACLs of a rule match a packet that the rule does not match.
    fn is_wider(&self, rule: &Rule, direction: Direction, acls: &[felix::Acl], used: &Use) -> bool {
        self.any_packet(direction, used, |flow, packet, endpoint| {
            let local = endpoint.pod.address;
            acls.iter().any(|acl| is_about(acl, direction, packet, local))
                && !flow.is_matched(rule, &self.cluster.sets)
        })
    }

    fn any_packet(
        &self,
        direction: Direction,
        used: &Use,
        test: impl Fn(&Flow, &crate::packet::Packet, &Endpoint) -> bool,
    ) -> bool {
        used.endpoints.iter().any(|position| {
            let endpoint = &self.cluster.endpoints[*position];
            let sample = &self.samples[endpoint.class][direction as usize];
            let packets = sample.packets(direction, &endpoint.node_addresses);
            let mut packets = packets.filter(|packet| packet.remote != endpoint.pod.address);
            packets.any(|packet| {
                let flow = Flow::new(&packet, endpoint.pod.address, direction);
                test(&flow, &packet, endpoint)
            })
        })
    }

    /// The use of each policy in the tiers of endpoints, by direction.
    fn used(&self) -> BTreeMap<(String, Direction), Use> {
        let mut used: BTreeMap<(String, Direction), Use> = BTreeMap::new();
        for (position, endpoint) in self.endpoints() {
            let class = &self.cluster.classes[endpoint.class];
            for direction in Direction::BOTH {
                let tiers: Vec<_> = self.cluster.tiers_of(class, direction).collect();
                let reaches_profiles = !tiers
                    .iter()
                    .any(|(tier, _)| tier.name == crate::model::Tier::DEFAULT);
                let last = if reaches_profiles {
                    tiers.len()
                } else {
                    tiers.len() - 1
                };
                for (i, (_, policies)) in tiers.iter().enumerate() {
                    for policy in policies {
                        let use_ = used.entry((policy.id.to_string(), direction)).or_default();
                        use_.is_last |= i == last;
                        use_.endpoints.push(position);
                    }
                }
            }
        }
        used
    }
}

/// How endpoints use a policy in a direction.
#[derive(Debug, Default)]
struct Use {
    /// The policy is in the last tier of some endpoint, where no tier follows.
    is_last: bool,
    endpoints: Vec<usize>,
}

fn differences(
    cluster: &Cluster,
    acls: &[Result<Acls, Panic>],
    samples: &[[Sample; 2]],
    panicking: &BTreeSet<String>,
) -> Vec<Vec<Difference>> {
    let depends: Vec<bool> = cluster
        .classes
        .iter()
        .map(|class| depends_on_pod(cluster, class))
        .collect();
    let mut of_class: BTreeMap<(usize, &str), Vec<Difference>> = BTreeMap::new();
    let mut all = Vec::new();
    for endpoint in &cluster.endpoints {
        let Ok(acls) = &acls[endpoint.class] else {
            all.push(Vec::new());
            continue;
        };
        if panicking.contains(&*endpoint.pod.node) {
            all.push(Vec::new());
            continue;
        }
        let compute = || {
            let class = &cluster.classes[endpoint.class];
            let at = (endpoint.pod.address, &*endpoint.node_addresses);
            difference::of_endpoint(cluster, class, acls, &samples[endpoint.class], at)
        };
        // Endpoints of the same class and node differ only in their address.
        let key = (endpoint.class, &*endpoint.pod.node);
        let differences = if depends[endpoint.class] {
            compute()
        } else {
            of_class.entry(key).or_insert_with(compute).clone()
        };
        let own = endpoint.pod.address;
        all.push(
            differences
                .iter()
                .filter_map(|difference| difference.without(own))
                .collect(),
        );
    }
    all
}
