//! An object off a watch, reduced to its fact while it is parsed, because the peak of a list of thousands is what
//! stays of memory. What no fact reads is not even parsed: a Node lists 50 images, and who wrote each field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::ApiResource;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::Topic;
use super::sinks::Fact;

/// Not kept, wherever it is. None of these is the name of a label, an annotation or a key of ConfigMaps we read.
const DROPPED: &[&str] = &[
    "args",
    "command",
    "env",
    "images",
    "managedFields",
    "volumeMounts",
    "volumes",
    "volumesAttached",
    "volumesInUse",
];

/// What there is one of for every node: facts are read while a list is parsed, one object after the other, so
/// that never more than one of them is in memory as a tree.
pub trait Numerous: Clone + fmt::Debug + Send + 'static {
    const TOPIC: Topic;
}

macro_rules! numerous {
    ($($name:ident),+) => {$(
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Numerous for $name {
            const TOPIC: Topic = Topic::$name;
        }
    )+};
}

numerous!(Nodes, LinuxNodes, Pods, Failures, Blocks, Affinities);

/// The fact of an object, with as much of its metadata as a watch needs.
#[derive(Clone, Debug)]
pub struct Seen<N> {
    metadata: ObjectMeta,
    pub fact: Fact,
    numerous: PhantomData<N>,
}

impl<'de, N: Numerous> Deserialize<'de> for Seen<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Pruned::deserialize(deserializer)?.0;
        let text = |field: &str| Some(object.get("metadata")?.get(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self {
            metadata,
            fact: Fact::read(N::TOPIC, &object),
            numerous: PhantomData,
        })
    }
}

impl<N: Numerous> Resource for Seen<N> {
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

/// A JSON value without the fields in `DROPPED`.
struct Pruned(Value);

impl<'de> Deserialize<'de> for Pruned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Pruning).map(Self)
    }
}

struct Pruning;

impl<'de> Visitor<'de> for Pruning {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Pruned(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if DROPPED.contains(&name.as_str()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                map.insert(name, fields.next_value::<Pruned>()?.0);
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_all_but_what_nobody_reads() {
        let object = json!({
            "metadata": {"name": "n", "resourceVersion": "7", "managedFields": [{"manager": "kubelet"}], "labels": {"a": "b"}},
            "status": {"images": [{"names": ["x"]}], "conditions": [{"type": "Ready", "n": 1, "f": 1.5, "x": null}]},
        });
        let pruned: Pruned = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(
            pruned.0,
            json!({
                "metadata": {"name": "n", "resourceVersion": "7", "labels": {"a": "b"}},
                "status": {"conditions": [{"type": "Ready", "n": 1, "f": 1.5, "x": null}]},
            })
        );
        let seen: Seen<Nodes> = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(seen.meta().resource_version.as_deref(), Some("7"));
    }
}
