//! Calico's keys and values, and the objects the plan knows them as (libcalico-go `lib/backend/model`).

use serde::de::Error;
use serde_json::{Map, Value, json};
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};
use wn_plan::json_text;
use wn_plan::observed::Topic;

use super::order;
use super::rpc::KeyValue;

const RESOURCES: &str = "/resources/v3/projectcalico.org/";
const IPAM_CONFIG: &str = "/ipam/v2/config";
const BLOCKS: &str = "/ipam/v2/assignment/ipv4/block/";
const HOSTS: &str = "/ipam/v2/host/";
const HOST_BLOCKS: &str = "/ipv4/block/";

/// What is read of etcd. Not everything: there is a handle for every pod.
pub const TOPICS: [Topic; 7] = [
    Topic::Calico(ConfigKind::IpamConfiguration),
    Topic::Calico(ConfigKind::IpPool),
    Topic::Calico(ConfigKind::FelixConfiguration),
    Topic::ClusterInformation,
    Topic::Announced,
    Topic::Blocks,
    Topic::Affinities,
];

/// Plural under which a topic's resources are.
fn plural(topic: Topic) -> Option<&'static str> {
    match topic {
        Topic::Calico(kind @ (ConfigKind::IpPool | ConfigKind::FelixConfiguration)) => {
            CalicoApi::Etcd.served(kind).map(|(_, plural)| plural)
        }
        Topic::ClusterInformation => Some("clusterinformations"),
        Topic::Announced => Some("nodes"),
        _ => None,
    }
}

/// First key of a topic and the key after its last; the latter is empty for a single key.
pub fn span(prefix: &str, topic: Topic) -> (Vec<u8>, Vec<u8>) {
    let folder = match (topic, plural(topic)) {
        (Topic::ClusterInformation, Some(plural)) => {
            return (
                format!("{prefix}{RESOURCES}{plural}/{DEFAULT}").into_bytes(),
                Vec::new(),
            );
        }
        (_, Some(plural)) => format!("{prefix}{RESOURCES}{plural}/"),
        (Topic::Blocks, None) => format!("{prefix}{BLOCKS}"),
        (Topic::Affinities, None) => format!("{prefix}{HOSTS}"),
        (_, None) => return (format!("{prefix}{IPAM_CONFIG}").into_bytes(), Vec::new()),
    };
    // `0` follows `/`.
    let end = format!("{}0", folder.trim_end_matches('/'));
    (folder.into_bytes(), end.into_bytes())
}

/// Topic and name of what a key holds.
pub fn place(prefix: &str, key: &str) -> Option<(Topic, String)> {
    let rest = key.strip_prefix(prefix)?;
    if rest == IPAM_CONFIG {
        return Some((Topic::Calico(ConfigKind::IpamConfiguration), DEFAULT.to_owned()));
    }
    if let Some(block) = rest.strip_prefix(BLOCKS) {
        return Some((Topic::Blocks, block.to_owned()));
    }
    if let Some(affinity) = rest.strip_prefix(HOSTS) {
        let (node, block) = affinity.split_once(HOST_BLOCKS)?;
        return Some((Topic::Affinities, format!("{node}/{block}")));
    }
    let (found, name) = rest.strip_prefix(RESOURCES)?.split_once('/')?;
    let topic = TOPICS.into_iter().find(|t| plural(*t) == Some(found))?;
    Some((topic, name.to_owned()))
}

/// The key of an object that is written.
pub fn key(prefix: &str, kind: ConfigKind, name: &str) -> String {
    match plural(Topic::Calico(kind)) {
        Some(plural) => format!("{prefix}{RESOURCES}{plural}/{name}"),
        None => format!("{prefix}{IPAM_CONFIG}"),
    }
}

/// The object in the shape the Kubernetes API has it in, with what only etcd knows of it. An error when the value is not
/// a JSON object, or its metadata are none: Calico writes no such thing.
pub fn object(topic: Topic, name: &str, kv: &KeyValue) -> serde_json::Result<Value> {
    let value: Map<String, Value> = serde_json::from_slice(&kv.value)?;
    let spec_of = |spec: Map<_, _>| Map::from_iter([("spec".to_owned(), Value::Object(spec))]);
    let mut object = match topic {
        Topic::Calico(ConfigKind::IpamConfiguration) => spec_of(ipam_config(value)),
        Topic::Blocks => spec_of(value),
        Topic::Affinities => spec_of(affinity(name, value)),
        _ => value,
    };
    let metadata = object.remove("metadata").filter(|m| !m.is_null());
    let metadata = metadata.unwrap_or_else(|| json!({}));
    let mut metadata: Map<String, Value> = serde_json::from_value(metadata)?;
    metadata.insert("name".to_owned(), json!(name));
    metadata.insert("resourceVersion".to_owned(), json!(kv.mod_revision.to_string()));
    object.insert("metadata".to_owned(), Value::Object(metadata));
    object.insert("etcd".to_owned(), json!({ "version": kv.version }));
    Ok(Value::Object(object))
}

/// Names of IPAM's switches: the API's, and those in etcd. The other fields are called the same.
const SWITCHES: [(&str, &str); 2] = [
    ("strictAffinity", "strict_affinity"),
    ("autoAllocateBlocks", "auto_allocate_blocks"),
];

fn ipam_config(mut spec: Map<String, Value>) -> Map<String, Value> {
    for (name, stored) in SWITCHES {
        // Go leaves out what is false.
        let on = spec.remove(stored).unwrap_or(Value::Bool(false));
        spec.insert(name.to_owned(), on);
    }
    spec
}

fn affinity(name: &str, mut spec: Map<String, Value>) -> Map<String, Value> {
    let (node, block) = name.split_once('/').unwrap_or_default();
    spec.insert("node".to_owned(), json!(node));
    spec.insert("cidr".to_owned(), json!(block.replacen('-', "/", 1)));
    spec
}

/// Fields to set, `None` to remove.
pub type Fields<'a> = Vec<(&'a str, Option<&'a Value>)>;

/// A stored value with some fields changed.
pub fn edit(kind: ConfigKind, text: &str, fields: &Fields<'_>) -> serde_json::Result<String> {
    let members: Map<String, Value> = serde_json::from_str(text)?;
    if kind == ConfigKind::IpamConfiguration || members.contains_key(SPEC) {
        return set(kind, text.to_owned(), fields);
    }
    let with_spec = json_text::with(text, SPEC, Some(&json!({})), "");
    set(kind, with_spec.ok_or_else(no_spec)?, fields)
}

/// The value of a new object. Names, uid and time are what libcalico's client would give it.
pub fn create(
    kind: ConfigKind,
    name: &str,
    fields: &Fields<'_>,
    uid: &str,
    now: &str,
) -> serde_json::Result<String> {
    if kind == ConfigKind::IpamConfiguration {
        return set(kind, "{}".to_owned(), fields);
    }
    let text = |t: &str| Value::from(t).to_string();
    let (kind_name, name, uid, now) = (text(kind.as_str()), text(name), text(uid), text(now));
    let head = format!(
        r#"{{"kind":{kind_name},"apiVersion":"projectcalico.org/v3","metadata":{{"name":{name},"uid":{uid},"creationTimestamp":{now}}},"spec":{{}}}}"#
    );
    set(kind, head, fields)
}

const SPEC: &str = "spec";

/// New fields go where Go's encoder would put them.
fn set(kind: ConfigKind, text: String, fields: &Fields<'_>) -> serde_json::Result<String> {
    fields.iter().try_fold(text, |text, (name, value)| {
        let (path, value) = match SWITCHES.iter().find(|(known, _)| known == name) {
            _ if kind != ConfigKind::IpamConfiguration => (format!("{SPEC}.{name}"), *value),
            // Go leaves out what is false.
            Some((_, stored)) => ((*stored).to_owned(), value.filter(|v| **v != Value::Bool(false))),
            None => ((*name).to_owned(), *value),
        };
        json_text::with(&text, &path, value, order::of(kind)).ok_or_else(no_spec)
    })
}

fn no_spec() -> serde_json::Error {
    serde_json::Error::custom("it has no object to set fields in")
}

#[cfg(test)]
mod tests;
