//! Updates `Observed`, and returns what each change affects: the plan for the cluster, single nodes, or nothing.
//!
//! Invariant: a fact that is equal to the known one changes nothing, so heartbeats and echoes of own writes wake nobody.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_api::names::tigera::{STATUS, WINDOWS_STATUS};

use super::{
    AffinityFacts, Announced, BgpPeer, BlockFacts, ClusterInformation, Config, ConfigObject, DaemonSetFacts,
    InstallationFacts, Key, LinuxNodeFacts, MigrationFacts, NodeFacts, NodeIndex, Observed, OnNode, OwnKind,
    OwnObject, PodFacts, SandboxFailure, TigeraStatusFacts, Topic, TyphaFacts, anywhere, api_group, cluster,
    endpoints, flannel, linux_agent, own, reservations,
};

/// What a change affects.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// The plan for the cluster.
    pub plan: bool,
    /// The verdicts of these nodes.
    pub nodes: Vec<String>,
}

impl Changes {
    const fn of_plan(plan: bool) -> Self {
        Self {
            plan,
            nodes: Vec::new(),
        }
    }

    /// Does the change affect nothing?
    pub const fn is_empty(&self) -> bool {
        !self.plan && self.nodes.is_empty()
    }
}

/// A fact of which there is one for every node; `None` when its object is gone, or does not count.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A Windows node.
    Node(Option<Box<NodeFacts>>),
    /// A Linux node.
    Linux(Option<Box<LinuxNodeFacts>>),
    /// A pod of a component.
    Pod(Option<PodFacts>),
    /// A pod without a sandbox.
    Failure(Option<SandboxFailure>),
    /// A block with its free addresses, of which is kept whether one is left that is not reserved.
    Block(Option<(BlockFacts, Vec<Ipv4Addr>)>),
    /// A node's claim of a block.
    Affinity(Option<AffinityFacts>),
}

impl Fact {
    /// The fact of a Windows Node.
    pub fn node(node: &Value) -> Self {
        Self::Node(Some(Box::new(NodeFacts::read(node))))
    }

    /// The fact of a Linux Node.
    pub fn linux(node: &Value) -> Self {
        Self::Linux(Some(Box::new(LinuxNodeFacts::read(node))))
    }

    /// The fact of a Pod; `None` inside when it is not a component's.
    pub fn pod(pod: &Value) -> Self {
        Self::Pod(PodFacts::read(pod))
    }

    /// The fact of an Event; `None` inside when it is not about a sandbox.
    pub fn failure(event: &Value) -> Self {
        Self::Failure(SandboxFailure::read(event))
    }

    /// The fact of an `IPAMBlock`; `None` inside when it is marked as deleted.
    pub fn block(block: &Value) -> Self {
        Self::Block(BlockFacts::read(block).map(|facts| (facts, BlockFacts::free(block))))
    }

    /// The fact of a `BlockAffinity`; `None` inside when it is marked as deleted.
    pub fn affinity(affinity: &Value) -> Self {
        Self::Affinity(AffinityFacts::read(affinity))
    }
}

impl Observed {
    /// Stores a fact. Times after `now` in it count as `now`.
    pub fn take_fact(&mut self, key: &Key, fact: Fact, now: Timestamp) -> Changes {
        match fact {
            Fact::Node(fact) => self.take_node(&key.1, fact, now),
            Fact::Linux(fact) => Changes::of_plan(set(&mut self.linux, key.1.clone(), fact.map(|f| *f))),
            Fact::Pod(fact) => self.take_pod(key, fact.map(|f| f.not_after(now))),
            Fact::Failure(fact) => self.take_failure(key, fact, now),
            Fact::Block(fact) => {
                let changes = self.calico.nat_changes();
                let reserved = &self.calico.reservations;
                let fact = fact.map(|(facts, free)| facts.reserving(&free, reserved));
                set_on_node(&mut self.calico.blocks, key, fact, |b| {
                    b.map(|b| b.of_plan(&changes)).unwrap_or_default()
                })
            }
            Fact::Affinity(fact) => set_on_node(&mut self.calico.affinities, key, fact, |_| ()),
        }
    }

    /// Stores what is read of an object of a topic; `None` when the object was deleted.
    pub fn take(&mut self, topic: Topic, key: &Key, object: Option<&Value>, now: Timestamp) -> Changes {
        let name = key.1.clone();
        Changes::of_plan(match topic {
            Topic::Nodes => return self.take_fact(key, object.map_or(Fact::Node(None), Fact::node), now),
            Topic::LinuxNodes => {
                return self.take_fact(key, object.map_or(Fact::Linux(None), Fact::linux), now);
            }
            Topic::Pods => return self.take_fact(key, object.map_or(Fact::Pod(None), Fact::pod), now),
            Topic::Failures => {
                return self.take_fact(key, object.map_or(Fact::Failure(None), Fact::failure), now);
            }
            Topic::Blocks => return self.take_fact(key, object.map_or(Fact::Block(None), Fact::block), now),
            Topic::Affinities => {
                return self.take_fact(key, object.map_or(Fact::Affinity(None), Fact::affinity), now);
            }
            Topic::Announced => return self.take_announced(name, object.map(Announced::read)),
            Topic::Etcd => false,
            Topic::Config => replace(&mut self.config, object.map(Config::read)),
            Topic::DaemonSets => self.take_daemon_set(key, object),
            Topic::ConfigMaps => self.take_own(OwnKind::ConfigMap, key, object),
            Topic::Source(source) => {
                let facts = object.map(|o| cluster::read(source, o));
                set(&mut self.sources, source, facts)
            }
            Topic::Definition(name) => {
                let definitions = &mut self.calico.definitions;
                match object {
                    Some(_) => definitions.insert(name.to_owned()),
                    None => definitions.remove(name),
                }
            }
            Topic::Installation => {
                let fields = object.map(|o| ConfigObject::read(ConfigKind::Installation, o));
                let facts = replace(&mut self.installation, object.map(InstallationFacts::read));
                replace(&mut self.installation_object, fields) || facts
            }
            // Nothing is read of the others.
            Topic::TigeraStatus => {
                [STATUS, WINDOWS_STATUS].contains(&name.as_str())
                    && set(
                        &mut self.tigera_statuses,
                        name,
                        object.map(TigeraStatusFacts::read),
                    )
            }
            Topic::Migrations => set(
                &mut self.calico.migrations,
                name,
                object.map(MigrationFacts::read),
            ),
            Topic::Calico(kind) => {
                let fields = object.map(|o| ConfigObject::read(kind, o));
                set(&mut self.calico.objects, (kind, name), fields)
            }
            Topic::PoolsInV3 => self.take_in_v3("IPPool", &name, object.is_some()),
            Topic::InformationInV3 => self.take_in_v3("ClusterInformation", &name, object.is_some()),
            Topic::Flannel => replace(&mut self.flannel, object.map(flannel::read)),
            Topic::ClusterInformation => {
                let information = object.map(ClusterInformation::read);
                replace(&mut self.calico.cluster_information, information)
            }
            Topic::BgpConfiguration => {
                let configured = self.bgp.clone().configured(object);
                std::mem::replace(&mut self.bgp, configured) != self.bgp
            }
            Topic::Typha => set(&mut self.typha, key.0.clone(), object.and_then(TyphaFacts::read)),
            Topic::BgpPeers => set(&mut self.bgp.peers, name, object.map(BgpPeer::read)),
            Topic::Reservations => set(
                &mut self.calico.reservations,
                name,
                object.map(reservations::read),
            ),
            Topic::HostEndpoints => set(
                &mut self.calico.host_endpoints,
                name,
                object.and_then(endpoints::node),
            ),
            Topic::KubeControllers => {
                let automatic = object.is_some_and(endpoints::automatic);
                std::mem::replace(&mut self.calico.auto_host_endpoints, automatic) != automatic
            }
        })
    }

    /// Keys of the known objects of a topic whose facts keep them.
    pub fn keys(&self, topic: Topic) -> Vec<Key> {
        fn all<F: OnNode>(index: &NodeIndex<F>) -> Vec<Key> {
            index.iter().map(|(key, _)| key.clone()).collect()
        }
        match topic {
            Topic::Pods => all(&self.pods),
            Topic::Failures => self.claims.keys().cloned().chain(all(&self.failures)).collect(),
            Topic::Blocks => all(&self.calico.blocks),
            Topic::Affinities => all(&self.calico.affinities),
            Topic::HostEndpoints => {
                let names = self.calico.host_endpoints.keys();
                names.map(|name| (String::new(), name.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Stores whether the pod of a claimed or confirmed failure confirms it.
    pub fn take_evidence(&mut self, key: &Key, failure: &SandboxFailure, borne_out: bool) -> Changes {
        let known = self.claims.get(key).or_else(|| self.failures.get(key));
        // The Event may be about another pod by now.
        let Some(known) = known.filter(|known| known.is_of_same_pod(failure)).cloned() else {
            return Changes::default();
        };
        self.claims.remove(key);
        set_on_node(&mut self.failures, key, borne_out.then_some(known), |_| ())
    }

    /// Forgets failures whose last try is no later than `time`, so that a storm of Events is not kept until they end.
    pub fn forget_failures(&mut self, time: Timestamp) {
        self.claims.retain(|_, failure| failure.last > time);
        let old = self.failures.iter().filter(|(_, failure)| failure.last <= time);
        for key in old.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.failures.remove(&key);
        }
    }

    /// Most changes of a Node affect that node alone.
    fn take_node(&mut self, name: &str, fact: Option<Box<NodeFacts>>, now: Timestamp) -> Changes {
        let known = self.nodes.get(name);
        let fact = fact.map(|facts| match (facts.not_after(now), known) {
            (facts, Some(known)) => facts.after(known, now),
            (facts, None) => facts,
        });
        let plan = match (known, &fact) {
            (Some(known), Some(facts)) if facts == known => return Changes::default(),
            (Some(known), Some(facts)) => !facts.decides_as(known),
            (None, Some(_)) | (Some(_), None) => true,
            (None, None) => false,
        };
        set(&mut self.nodes, name.to_owned(), fact);
        Changes {
            plan,
            nodes: vec![name.to_owned()],
        }
    }

    /// A pod affects the plan as the first or last one of Calico's agent in its namespace only: which of two operators
    /// may run the agent depends on whether the other's is gone from all nodes.
    fn take_pod(&mut self, key: &Key, fact: Option<PodFacts>) -> Changes {
        let is_agent = |fact: Option<&PodFacts>| fact.is_some_and(|f| f.component == Component::NodeAgent);
        let agent_changes = is_agent(self.pods.get(key)) != is_agent(fact.as_ref());
        let before = agent_changes && self.agent_pods_in(&key.0);
        let mut changes = set_on_node(&mut self.pods, key, fact, |_| ());
        changes.plan |= agent_changes && before != self.agent_pods_in(&key.0);
        changes
    }

    /// A failed sandbox is a claim until its pod was looked at, see `failures`.
    fn take_failure(&mut self, key: &Key, fact: Option<SandboxFailure>, now: Timestamp) -> Changes {
        self.claims.remove(key);
        let fact = fact.map(|failure| SandboxFailure {
            last: failure.last.min(now),
            ..failure
        });
        let known = self.failures.get(key);
        let is_confirmed =
            |failure: &SandboxFailure| known.is_some_and(|known| known.is_of_same_pod(failure));
        let (confirmed, claim) = match fact {
            Some(failure) if is_confirmed(&failure) => (Some(failure), None),
            claim => (None, claim),
        };
        self.claims.extend(claim.map(|claim| (key.clone(), claim)));
        set_on_node(&mut self.failures, key, confirmed, |_| ())
    }

    /// What a node announced in etcd: its address affects the plan, the rest that node alone.
    fn take_announced(&mut self, name: String, fact: Option<Announced>) -> Changes {
        let known = self.calico.nodes.get(&name);
        let address = |announced: Option<&Announced>| announced.map(|a| a.bgp_address.clone());
        let plan = address(known) != address(fact.as_ref());
        if set(&mut self.calico.nodes, name.clone(), fact) {
            Changes {
                plan,
                nodes: vec![name],
            }
        } else {
            Changes::default()
        }
    }

    fn take_daemon_set(&mut self, key: &Key, object: Option<&Value>) -> bool {
        let calico = &mut self.calico;
        let changed = [
            set(
                &mut self.daemon_sets,
                key.clone(),
                object.and_then(DaemonSetFacts::read),
            ),
            set(&mut self.anywhere, key.clone(), object.and_then(anywhere)),
            set(&mut calico.api_groups, key.clone(), object.and_then(api_group)),
            set(
                &mut calico.linux_agents,
                key.clone(),
                object.and_then(linux_agent),
            ),
            self.take_own(OwnKind::DaemonSet, key, object),
        ];
        changed.contains(&true)
    }

    fn take_own(&mut self, kind: OwnKind, key: &Key, object: Option<&Value>) -> bool {
        let kept = object.and_then(|o| own::read(kind, key, &self.namespace, o));
        let own = OwnObject {
            kind,
            namespace: key.0.clone(),
            name: key.1.clone(),
        };
        set(&mut self.ours, own, kept)
    }

    fn take_in_v3(&mut self, kind: &str, name: &str, exists: bool) -> bool {
        let object = format!("{kind} {name}");
        if exists {
            self.calico.in_v3.insert(object)
        } else {
            self.calico.in_v3.remove(&object)
        }
    }
}

/// Sets a fact of a node; `of_plan` selects the part that affects the plan.
fn set_on_node<F: OnNode + PartialEq, P: PartialEq>(
    index: &mut NodeIndex<F>,
    key: &Key,
    fact: Option<F>,
    of_plan: impl Fn(Option<&F>) -> P,
) -> Changes {
    let (known, new) = (index.get(key), fact.as_ref());
    if known == new {
        return Changes::default();
    }
    let plan = of_plan(known) != of_plan(new);
    let nodes = known.into_iter().chain(new).map(|f| f.node().to_owned());
    let mut nodes: Vec<_> = nodes.collect();
    nodes.dedup();
    match fact {
        Some(fact) => index.insert(key.clone(), fact),
        None => index.remove(key),
    };
    Changes { plan, nodes }
}

/// Sets or removes a fact; says whether it changed.
fn set<K: Ord, F: PartialEq>(facts: &mut BTreeMap<K, F>, key: K, fact: Option<F>) -> bool {
    match fact {
        Some(fact) if facts.get(&key) == Some(&fact) => false,
        Some(fact) => {
            facts.insert(key, fact);
            true
        }
        None => facts.remove(&key).is_some(),
    }
}

fn replace<F: PartialEq>(known: &mut Option<F>, fact: Option<F>) -> bool {
    let changed = *known != fact;
    *known = fact;
    changed
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
