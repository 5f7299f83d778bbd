//! From objects to facts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use tracing::warn;
use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_api::names::{self, labels, tigera};
use wn_plan::observed::{
    AffinityFacts, Announced, BgpPeer, BlockFacts, CalicoObject, ClusterInformation, Config, DaemonSetFacts,
    Filed, InstallationFacts, Key, LinuxNodeFacts, MigrationFacts, NodeFacts, Observed, OnNode, OwnKind,
    OwnObject, PodFacts, SandboxFailure, Source, SourceFacts, TigeraStatusFacts, TyphaFacts, anywhere,
    api_group, cluster, endpoints, linux_agent, reservations,
};

use super::Topic;
use super::seen::{self, Numerous, Seen};
use super::topic::DEFINITIONS;

/// What a fact that changed bears on.
#[derive(Debug, Default)]
pub struct Touched {
    /// On the plan for the cluster.
    pub plan: bool,
    /// On the verdicts on these nodes.
    pub nodes: Vec<String>,
}

impl Touched {
    fn plan(changed: bool) -> Self {
        Self {
            plan: changed,
            nodes: Vec::new(),
        }
    }

    pub fn is_nothing(&self) -> bool {
        !self.plan && self.nodes.is_empty()
    }
}

/// A fact there is one of for every node.
#[derive(Clone, Debug)]
pub enum Fact {
    Node(Box<NodeFacts>),
    Linux(Option<Box<LinuxNodeFacts>>),
    Pod(Option<PodFacts>),
    Failure(Option<SandboxFailure>),
    /// With its free addresses: what is kept of them is whether one is left that is not reserved.
    Block(Option<(BlockFacts, Vec<Ipv4Addr>)>),
    Affinity(Option<AffinityFacts>),
    /// Not of a node.
    Other,
}

impl Fact {
    /// Of an object that did not come off a watch: the answer to a write of ours, or a value of etcd.
    fn read(topic: Topic, object: &Value) -> Self {
        let read = match topic {
            Topic::Nodes => fact::<seen::Nodes>(object),
            Topic::LinuxNodes => fact::<seen::LinuxNodes>(object),
            Topic::Pods => fact::<seen::Pods>(object),
            Topic::Failures => fact::<seen::Failures>(object),
            Topic::Blocks => fact::<seen::Blocks>(object),
            Topic::Affinities => fact::<seen::Affinities>(object),
            _ => Ok(Self::Other),
        };
        read.unwrap_or_else(|error| {
            warn!(?topic, %error, "an object could not be read");
            Self::Other
        })
    }

    /// The fact of an object that is gone.
    fn gone(topic: Topic) -> Self {
        match topic {
            Topic::LinuxNodes => Self::Linux(None),
            Topic::Pods => Self::Pod(None),
            Topic::Failures => Self::Failure(None),
            Topic::Blocks => Self::Block(None),
            Topic::Affinities => Self::Affinity(None),
            _ => Self::Other,
        }
    }
}

fn fact<N: Numerous>(object: &Value) -> Result<Fact, serde_json::Error> {
    Seen::<N>::deserialize(object).map(|seen| seen.fact)
}

/// Takes a fact in.
pub fn take_fact(observed: &mut Observed, key: &Key, fact: Fact) -> Touched {
    match fact {
        Fact::Node(facts) => node(observed, key.1.clone(), *facts),
        Fact::Linux(fact) => Touched::plan(set(&mut observed.linux, key.1.clone(), fact.map(|f| *f))),
        Fact::Pod(fact) => pod(observed, key, fact.map(|f| f.not_after(Timestamp::now()))),
        Fact::Failure(fact) => failure(observed, key, fact),
        Fact::Block(fact) => {
            let changes = observed.calico.nat_changes();
            let reserved = &observed.calico.reservations;
            let fact = fact.map(|(facts, free)| facts.reserving(&free, reserved));
            file(&mut observed.calico.blocks, key, fact, |b| {
                b.map(|b| b.of_plan(&changes)).unwrap_or_default()
            })
        }
        Fact::Affinity(fact) => file(&mut observed.calico.affinities, key, fact, |_| ()),
        Fact::Other => Touched::default(),
    }
}

/// Keys of all objects of a topic of which no versions are kept.
pub fn keys(topic: Topic, observed: &Observed) -> Vec<Key> {
    fn all<F: OnNode>(filed: &Filed<F>) -> Vec<Key> {
        filed.iter().map(|(key, _)| key.clone()).collect()
    }
    match topic {
        Topic::Pods => all(&observed.pods),
        Topic::Failures => {
            let claims = observed.claims.keys().cloned();
            claims.chain(all(&observed.failures)).collect()
        }
        Topic::Blocks => all(&observed.calico.blocks),
        Topic::Affinities => all(&observed.calico.affinities),
        Topic::HostEndpoints => {
            let names = observed.calico.host_endpoints.keys();
            names.map(|name| (String::new(), name.clone())).collect()
        }
        _ => Vec::new(),
    }
}

/// Takes an object in, or out when it is `None`.
pub fn take(topic: Topic, observed: &mut Observed, key: &Key, object: Option<&Value>) -> Touched {
    let name = key.1.clone();
    Touched::plan(match topic {
        Topic::Nodes if object.is_none() => {
            return Touched {
                plan: observed.nodes.remove(&name).is_some(),
                nodes: vec![name],
            };
        }
        Topic::Nodes
        | Topic::LinuxNodes
        | Topic::Pods
        | Topic::Failures
        | Topic::Blocks
        | Topic::Affinities => {
            let fact = object.map_or_else(|| Fact::gone(topic), |o| Fact::read(topic, o));
            return take_fact(observed, key, fact);
        }
        Topic::Announced => return announced(observed, name, object),
        Topic::Etcd => false,
        Topic::Config => replace(&mut observed.config, object.map(Config::read)),
        Topic::DaemonSets => {
            let facts = set(
                &mut observed.daemon_sets,
                key.clone(),
                object.and_then(DaemonSetFacts::read),
            );
            let spread = set(&mut observed.anywhere, key.clone(), object.and_then(anywhere));
            let groups = &mut observed.calico.api_groups;
            let told = set(groups, key.clone(), object.and_then(api_group));
            let agents = &mut observed.calico.linux_agents;
            let linux = set(agents, key.clone(), object.and_then(linux_agent));
            own(observed, OwnKind::DaemonSet, key, object) || facts || spread || told || linux
        }
        Topic::ConfigMaps => own(observed, OwnKind::ConfigMap, key, object),
        Topic::Source(source) => set(
            &mut observed.sources,
            source,
            object.map(|o| source_facts(source, o)),
        ),
        Topic::Definition(i) => {
            let name = DEFINITIONS[i].to_owned();
            let definitions = &mut observed.calico.definitions;
            if object.is_some() {
                definitions.insert(name)
            } else {
                definitions.remove(&name)
            }
        }
        Topic::Installation => {
            let facts = replace(&mut observed.installation, object.map(InstallationFacts::read));
            let kind = ConfigKind::Installation;
            let fields = object.map(|o| CalicoObject::read(kind, o));
            set(&mut observed.calico.objects, (kind, name), fields) || facts
        }
        // Of the others nothing is read.
        Topic::TigeraStatus => {
            [tigera::STATUS, tigera::WINDOWS_STATUS].contains(&name.as_str())
                && set(
                    &mut observed.tigera_statuses,
                    name,
                    object.map(TigeraStatusFacts::read),
                )
        }
        Topic::Migrations => set(
            &mut observed.calico.migrations,
            name,
            object.map(MigrationFacts::read),
        ),
        Topic::Calico(kind) => set(
            &mut observed.calico.objects,
            (kind, name),
            object.map(|o| CalicoObject::read(kind, o)),
        ),
        Topic::PoolsInV3 => in_v3(observed, "IPPool", &name, object),
        Topic::InformationInV3 => in_v3(observed, "ClusterInformation", &name, object),
        Topic::Flannel => {
            let kind = ConfigKind::FlannelConfiguration;
            set(
                &mut observed.calico.objects,
                (kind, name),
                object.map(|o| CalicoObject::read(kind, o)),
            )
        }
        Topic::ClusterInformation => replace(
            &mut observed.calico.cluster_information,
            object.map(ClusterInformation::read),
        ),
        Topic::BgpConfiguration => {
            let facts = std::mem::take(&mut observed.bgp);
            let configured = facts.clone().configured(object);
            let changed = configured != facts;
            observed.bgp = configured;
            changed
        }
        Topic::Typha => set(
            &mut observed.typha,
            key.0.clone(),
            object.and_then(TyphaFacts::read),
        ),
        Topic::BgpPeers => set(&mut observed.bgp.peers, name, object.map(BgpPeer::read)),
        Topic::Reservations => set(
            &mut observed.calico.reservations,
            name,
            object.map(reservations::read),
        ),
        Topic::HostEndpoints => set(
            &mut observed.calico.host_endpoints,
            name,
            object.and_then(endpoints::node),
        ),
        Topic::KubeControllers => {
            let automatic = object.is_some_and(endpoints::automatic);
            std::mem::replace(&mut observed.calico.auto_host_endpoints, automatic) != automatic
        }
    })
}

fn in_v3(observed: &mut Observed, kind: &str, name: &str, object: Option<&Value>) -> bool {
    let (found, object_name) = (&mut observed.calico.in_v3, format!("{kind} {name}"));
    if object.is_some() {
        found.insert(object_name)
    } else {
        found.remove(&object_name)
    }
}

/// What a node announced in etcd. Its address bears on the plan, the rest is its own matter.
fn announced(observed: &mut Observed, name: String, object: Option<&Value>) -> Touched {
    let known = observed.calico.nodes.get(&name);
    let new = object.map(Announced::read);
    if known == new.as_ref() {
        return Touched::default();
    }
    let address = |a: Option<&Announced>| a.map(|a| a.bgp_address.clone());
    let plan = address(known) != address(new.as_ref());
    set(&mut observed.calico.nodes, name.clone(), new);
    Touched {
        plan,
        nodes: vec![name],
    }
}

/// A Node. Most of what changes about it is its own matter: only some fields bear on the plan.
fn node(observed: &mut Observed, name: String, facts: NodeFacts) -> Touched {
    let facts = facts.not_after(Timestamp::now());
    let (facts, plan) = match observed.nodes.get(&name) {
        Some(known) => {
            let facts = facts.after(known, Timestamp::now());
            if facts == *known {
                return Touched::default();
            }
            let plan = !facts.decides_as(known);
            (facts, plan)
        }
        None => (facts, true),
    };
    observed.nodes.insert(name.clone(), facts);
    Touched {
        plan,
        nodes: vec![name],
    }
}

/// A failed sandbox is a claim until its pod was looked at, see `claims`.
fn failure(observed: &mut Observed, key: &Key, fact: Option<SandboxFailure>) -> Touched {
    observed.claims.remove(key);
    let now = Timestamp::now();
    let fact = fact.map(|f| SandboxFailure {
        last: f.last.min(now),
        ..f
    });
    let known = observed.failures.get(key);
    let proven = fact.filter(|f| {
        let proven = known.is_some_and(|known| known.is_of_same_pod(f));
        if !proven {
            observed.claims.insert(key.clone(), f.clone());
        }
        proven
    });
    file(&mut observed.failures, key, proven, |_| ())
}

/// Whether the pod of a claim, or of a failure that was one, bears it out.
pub fn decided(observed: &mut Observed, key: &Key, failure: &SandboxFailure, borne_out: bool) -> Touched {
    let claimed = observed.claims.get(key);
    let known = claimed.or_else(|| observed.failures.get(key));
    // Of an Event that was about something else before.
    let Some(known) = known.filter(|known| known.is_of_same_pod(failure)).cloned() else {
        return Touched::default();
    };
    observed.claims.remove(key);
    file(&mut observed.failures, key, borne_out.then_some(known), |_| ())
}

/// A pod. On the plan it bears only as the first or last of Calico's agent in its namespace: who of two operators may run
/// the agent hangs on whether the other's is gone from all nodes.
fn pod(observed: &mut Observed, key: &Key, fact: Option<PodFacts>) -> Touched {
    let agent = |f: Option<&PodFacts>| f.is_some_and(|f| f.component == Component::NodeAgent);
    let comes_or_goes = agent(observed.pods.get(key)) != agent(fact.as_ref());
    let before = comes_or_goes && observed.agent_pods_in(&key.0);
    let mut touched = file(&mut observed.pods, key, fact, |_| ());
    touched.plan |= comes_or_goes && before != observed.agent_pods_in(&key.0);
    touched
}

/// A fact of a node; `of_plan` is what of it bears on the plan.
fn file<F: OnNode + PartialEq, P: PartialEq>(
    filed: &mut Filed<F>,
    key: &Key,
    fact: Option<F>,
    of_plan: impl Fn(Option<&F>) -> P,
) -> Touched {
    let (known, new) = (filed.get(key), fact.as_ref());
    if known == new {
        return Touched::default();
    }
    let plan = of_plan(known) != of_plan(new);
    let mut nodes: Vec<_> = known
        .into_iter()
        .chain(new)
        .map(|f| f.node().to_owned())
        .collect();
    nodes.dedup();
    match fact {
        Some(fact) => filed.insert(key.clone(), fact),
        None => filed.remove(key),
    };
    Touched { plan, nodes }
}

fn set<K: Ord, F: PartialEq>(facts: &mut BTreeMap<K, F>, key: K, fact: Option<F>) -> bool {
    match fact {
        Some(fact) => {
            facts.get(&key) != Some(&fact) && {
                facts.insert(key, fact);
                true
            }
        }
        None => facts.remove(&key).is_some(),
    }
}

fn replace<F: PartialEq>(slot: &mut Option<F>, fact: Option<F>) -> bool {
    let changed = *slot != fact;
    *slot = fact;
    changed
}

/// Keeps our own objects whole, without what changes by itself.
fn own(observed: &mut Observed, kind: OwnKind, (namespace, name): &Key, object: Option<&Value>) -> bool {
    let ours = object.filter(|o| {
        let manager = o
            .pointer("/metadata/labels")
            .and_then(|l| l.get(labels::MANAGED_BY));
        *namespace == observed.namespace && manager.and_then(Value::as_str) == Some(names::OPERATOR)
    });
    let kept = ours.map(|o| {
        let mut kept = o.clone();
        if let Some(fields) = kept.as_object_mut() {
            fields.remove("status");
            // Items of a list do not say what they are, watched objects do.
            let (api_version, kind) = type_of(kind);
            fields.insert("apiVersion".to_owned(), api_version.into());
            fields.insert("kind".to_owned(), kind.into());
        }
        if let Some(metadata) = kept.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| {
                matches!(
                    field.as_str(),
                    "name" | "namespace" | "labels" | "annotations" | "ownerReferences"
                )
            });
        }
        kept
    });
    set(
        &mut observed.ours,
        OwnObject {
            kind,
            namespace: namespace.clone(),
            name: name.clone(),
        },
        kept,
    )
}

const fn type_of(kind: OwnKind) -> (&'static str, &'static str) {
    match kind {
        OwnKind::ConfigMap => ("v1", "ConfigMap"),
        OwnKind::DaemonSet => ("apps/v1", "DaemonSet"),
    }
}

fn source_facts(source: Source, object: &Value) -> SourceFacts {
    match source {
        Source::ServicesEndpoint
        | Source::KubeProxyConfig
        | Source::KubeadmConfig
        | Source::ClusterInfo
        | Source::AmazonVpcCni => cluster::config_map(object),
        Source::CalicoConfig => cluster::calico_config(object),
        Source::KubeletConfig => cluster::config_map_key(object, "kubelet"),
        Source::CoreDns => cluster::config_map_key(object, "Corefile"),
        Source::KubernetesEndpoints => cluster::endpoint_slice(object),
        Source::KubernetesService | Source::KubeDns | Source::OpenShiftDns | Source::Rke2Dns => {
            cluster::service(object)
        }
        Source::ServiceCidr => cluster::service_cidr(object),
    }
}

#[cfg(test)]
#[path = "sinks_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile;
