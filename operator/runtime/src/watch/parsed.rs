//! An object of a watch, reduced to its fact while it is parsed: a list of thousands must not be in memory as a whole.
//! For each kind a partial type names the fields that facts read; serde skips the rest, such as the 50 images that a Node
//! lists. Labels and annotations are kept whole.
//!
//! Invariant: the fact of an object that went through its partial type is the fact of the whole object, so watches and
//! answers to own writes are read alike.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::ApiResource;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wn_plan::observed::Fact;

macro_rules! partial_types {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {$(
            #[serde(default, skip_serializing_if = "Option::is_none")]
            $field: Option<$type>,
        )+}
    )+};
}

partial_types! {
    Metadata {
        annotations: Value,
        creation_timestamp: Value,
        deletion_timestamp: Value,
        labels: Value,
        name: String,
        namespace: String,
        owner_references: Value,
        resource_version: String,
        uid: Value,
    }
    Node { metadata: Metadata, spec: Value, status: NodeStatus }
    NodeStatus { addresses: Value, allocatable: Value, conditions: Value, node_info: Value }
    Pod { metadata: Metadata, spec: PodSpec, status: PodStatus }
    PodSpec { affinity: Value, containers: Vec<Container>, node_name: Value }
    Container { args: Value, command: Value, env: Value, image: Value, name: Value }
    PodStatus { conditions: Value, container_statuses: Value, init_container_statuses: Value, phase: Value }
    Event {
        event_time: Value,
        first_timestamp: Value,
        involved_object: Value,
        last_timestamp: Value,
        message: Value,
        metadata: Metadata,
        reason: Value,
        reporting_component: Value,
        reporting_instance: Value,
        series: Value,
        source: Value,
    }
    /// A custom resource, of which facts read most.
    Custom { metadata: Metadata, spec: Value }
}

/// A kind with one object or more for every node. Facts are read while a list is parsed, one object after the other, so
/// no more than one of them is in memory as a tree.
pub trait Numerous: Clone + fmt::Debug + Send + 'static {
    /// The fields that facts read.
    type Partial: DeserializeOwned + Serialize;

    fn metadata(partial: &Self::Partial) -> Option<&Metadata>;

    /// The fact of an object that went through the partial type.
    fn fact(object: &Value) -> Fact;
}

macro_rules! numerous {
    ($($name:ident: $partial:ident, $fact:expr;)+) => {$(
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Numerous for $name {
            type Partial = $partial;

            fn metadata(partial: &$partial) -> Option<&Metadata> {
                partial.metadata.as_ref()
            }

            fn fact(object: &Value) -> Fact {
                $fact(object)
            }
        }
    )+};
}

numerous! {
    Nodes: Node, Fact::node;
    LinuxNodes: Node, Fact::linux;
    Pods: Pod, Fact::pod;
    Failures: Event, Fact::failure;
    Blocks: Custom, Fact::block;
    Affinities: Custom, Fact::affinity;
}

/// How an object is reduced while it is parsed.
pub trait Reduce: Clone + fmt::Debug + Send + 'static {
    /// What is kept of it.
    type Fact: Clone + fmt::Debug + Send + 'static;

    /// The metadata that a watch needs, and the fact.
    fn reduce<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(ObjectMeta, Self::Fact), D::Error>;
}

impl<N: Numerous> Reduce for N {
    type Fact = Fact;

    fn reduce<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(ObjectMeta, Fact), D::Error> {
        let partial = N::Partial::deserialize(deserializer)?;
        let object = serde_json::to_value(&partial).map_err(D::Error::custom)?;
        let metadata = N::metadata(&partial).map(|m| ObjectMeta {
            name: m.name.clone(),
            namespace: m.namespace.clone(),
            resource_version: m.resource_version.clone(),
            ..ObjectMeta::default()
        });
        Ok((metadata.unwrap_or_default(), N::fact(&object)))
    }
}

/// The fact of an object, with as much of its metadata as a watch needs.
#[derive(Clone, Debug)]
pub struct Parsed<R: Reduce> {
    metadata: ObjectMeta,
    pub fact: R::Fact,
    reduced: PhantomData<R>,
}

impl<'de, R: Reduce> Deserialize<'de> for Parsed<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (metadata, fact) = R::reduce(deserializer)?;
        Ok(Self {
            metadata,
            fact,
            reduced: PhantomData,
        })
    }
}

impl<R: Reduce> Resource for Parsed<R> {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
#[path = "parsed_tests.rs"]
mod tests;
