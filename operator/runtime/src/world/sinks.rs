//! From objects to facts.

use std::collections::BTreeMap;

use serde_json::Value;
use wn_api::names::{self, labels};
use wn_plan::observed::{
    BlockFacts, CalicoObject, ClusterInformation, Config, DaemonSetFacts, InstallationFacts, Key,
    MigrationFacts, NodeFacts, Observed, OwnKind, OwnObject, PodFacts, Source, SourceFacts, cluster,
};

use super::Topic;
use super::topic::DEFINITIONS;

/// Takes an object in, or out when it is `None`; says whether a fact changed.
pub fn take(topic: Topic, observed: &mut Observed, key: &Key, object: Option<&Value>) -> bool {
    let name = key.1.clone();
    match topic {
        Topic::Config => replace(&mut observed.config, object.map(config)),
        Topic::Nodes => set(&mut observed.nodes, name, object.map(NodeFacts::read)),
        Topic::Pods => set(&mut observed.pods, key.clone(), object.and_then(PodFacts::read)),
        Topic::DaemonSets => {
            let facts = set(
                &mut observed.daemon_sets,
                key.clone(),
                object.and_then(DaemonSetFacts::read),
            );
            own(observed, OwnKind::DaemonSet, key, object) || facts
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
        Topic::Installation => replace(&mut observed.installation, object.map(InstallationFacts::read)),
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
        Topic::Blocks => set(
            &mut observed.calico.blocks,
            name,
            object.and_then(BlockFacts::read),
        ),
        Topic::ClusterInformation => replace(
            &mut observed.calico.cluster_information,
            object.map(ClusterInformation::read),
        ),
    }
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

fn config(object: &Value) -> Config {
    let mut object = object.clone();
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let generation = object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    match serde_json::from_value(object) {
        Ok(config) => Config::Readable(Box::new(config)),
        Err(error) => Config::Unreadable {
            generation,
            message: error.to_string(),
        },
    }
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
        Source::ServicesEndpoint | Source::KubeProxyConfig | Source::KubeadmConfig | Source::ClusterInfo => {
            cluster::config_map(object)
        }
        Source::KubernetesEndpoints => cluster::endpoint_slice(object),
        Source::KubernetesService | Source::KubeDns | Source::OpenShiftDns | Source::Rke2Dns => {
            cluster::service(object)
        }
        Source::ServiceCidr => cluster::service_cidr(object),
    }
}
