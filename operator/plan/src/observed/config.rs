//! The stored `WindowsNodeConfig`, which may be of a newer version than ours.
//!
//! Invariant: what fits our types is read even where the rest does not, so that deletion knows what to restore.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wn_api::WindowsNodeConfig;
use wn_api::names::{self, managers};
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};

/// The `WindowsNodeConfig` as far as it can be read.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// Spec and originals fit the types of this version.
    Readable(Box<WindowsNodeConfig>),
    /// Spec or originals do not fit our types.
    Unreadable(Box<Unreadable>),
}

/// What could be read of an object that does not fit our types.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreadable {
    /// Fields that could not be read have their defaults.
    pub config: WindowsNodeConfig,
    /// Which fields those are, and why.
    pub message: String,
    /// Entries of `status.calico.originals` that could not be read, as stored.
    pub originals: Vec<String>,
}

impl Config {
    /// Reads a stored `WindowsNodeConfig`, however much of it fits the types of this version.
    pub fn read(object: &Value) -> Self {
        let object = without_managers(object);
        if let Ok(config) = serde_json::from_value(object.clone()) {
            return Self::Readable(Box::new(config));
        }
        let spec = WindowsNodeConfigSpec::minimal(NetworkType::ALL[0]);
        let (config, dropped) = salvage(WindowsNodeConfig::new(names::SINGLETON, spec), &object);
        // The operator writes the rest of the status again with the next pass.
        let matters = |d: &&Dropped| d.path.starts_with("spec") || d.path.starts_with(ORIGINALS);
        let lost: Vec<_> = dropped.iter().filter(matters).collect();
        if lost.is_empty() {
            return Self::Readable(Box::new(config));
        }
        let message = lost.iter().map(|d| format!("{}: {}", d.path, d.error));
        let originals = lost.iter().filter(|d| d.path.starts_with(ORIGINALS));
        Self::Unreadable(Box::new(Unreadable {
            message: message.collect::<Vec<_>>().join("; "),
            originals: originals.map(|d| d.value.to_string()).collect(),
            config,
        }))
    }

    /// The object, or what could be read of it.
    pub fn object(&self) -> &WindowsNodeConfig {
        match self {
            Self::Readable(config) => config,
            Self::Unreadable(unreadable) => &unreadable.config,
        }
    }
}

const ORIGINALS: &str = "status.calico.originals";

/// Managers whose entries are kept. Those of the others change with each status that is written.
const KEPT: [&str; 2] = [managers::FINALIZER, managers::ORIGINALS];

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        let entries = metadata.remove("managedFields");
        let mut kept = Vec::new();
        if let Some(Value::Array(entries)) = entries {
            let ours = entries
                .into_iter()
                .filter(|e| KEPT.contains(&super::text(e, "/manager")));
            kept.extend(ours);
        }
        if !kept.is_empty() {
            metadata.insert("managedFields".to_owned(), Value::Array(kept));
        }
    }
    object
}

/// Something stored that does not fit.
#[derive(Debug)]
struct Dropped {
    path: String,
    error: String,
    value: Value,
}

/// `base`, with each field of `stored` that fits the type instead of its own.
fn salvage<T: Serialize + DeserializeOwned>(base: T, stored: &Value) -> (T, Vec<Dropped>) {
    let mut salvage = Salvage::<T> {
        whole: serde_json::to_value(&base).unwrap_or_default(),
        dropped: Vec::new(),
        type_: PhantomData,
    };
    salvage.object("", "", stored);
    (T::deserialize(&salvage.whole).unwrap_or(base), salvage.dropped)
}

struct Salvage<T> {
    whole: Value,
    dropped: Vec<Dropped>,
    type_: PhantomData<T>,
}

impl<T: DeserializeOwned> Salvage<T> {
    fn object(&mut self, pointer: &str, path: &str, stored: &Value) {
        for (key, value) in stored.as_object().into_iter().flatten() {
            let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            self.field(&pointer, &path, value);
        }
    }

    fn field(&mut self, pointer: &str, path: &str, value: &Value) {
        let before = self.whole.pointer(pointer).cloned();
        let Err(error) = self.try_set(pointer, Some(value.clone())) else {
            return;
        };
        let inner = match value {
            Value::Object(_) => before
                .clone()
                .filter(Value::is_object)
                .or_else(|| Some(json!({}))),
            Value::Array(_) => Some(json!([])),
            _ => None,
        };
        if inner.is_none_or(|inner| self.try_set(pointer, Some(inner)).is_err()) {
            let _ = self.try_set(pointer, before);
            self.dropped.push(Dropped {
                path: path.to_owned(),
                error,
                value: value.clone(),
            });
            return;
        }
        match value {
            Value::Array(items) => self.items(pointer, path, items),
            _ => self.object(pointer, path, value),
        }
    }

    fn items(&mut self, pointer: &str, path: &str, items: &[Value]) {
        for (i, item) in items.iter().enumerate() {
            let mut list = self.whole.pointer(pointer).cloned().unwrap_or_default();
            let before = list.clone();
            if let Some(list) = list.as_array_mut() {
                list.push(item.clone());
            }
            if let Err(error) = self.try_set(pointer, Some(list)) {
                let _ = self.try_set(pointer, Some(before));
                self.dropped.push(Dropped {
                    path: format!("{path}[{i}]"),
                    error,
                    value: item.clone(),
                });
            }
        }
    }

    /// Sets or removes a field; says why the whole does not fit then.
    fn try_set(&mut self, pointer: &str, value: Option<Value>) -> Result<(), String> {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
        let key = key.replace("~1", "/").replace("~0", "~");
        if let Some(Value::Object(parent)) = self.whole.pointer_mut(parent) {
            match value {
                Some(value) => drop(parent.insert(key, value)),
                None => drop(parent.remove(&key)),
            }
        }
        T::deserialize(&self.whole).map(drop).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use wn_api::spec::{DatastoreType, DeletionPolicy, Mode};

    fn stored() -> Value {
        json!({
            "apiVersion": "windowsnode.dev/v1alpha1", "kind": "WindowsNodeConfig",
            "metadata": {
                "name": "default", "uid": "u", "generation": 3, "finalizers": ["windowsnode.dev/restore"],
                "managedFields": [{"manager": "kubectl"}, {"manager": managers::ORIGINALS}],
            },
            "spec": {
                "mode": "Manage", "network": {"type": "CalicoBGP"}, "deletionPolicy": "Restore",
                "calico": {"datastore": {"type": "Etcd", "etcd": {"endpoints": ["http://e:2379"]}}},
            },
            "status": {
                "observedGeneration": 3,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "AsExpected", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
                "calico": {"api": "etcd", "originals": [
                    {"kind": "FelixConfiguration", "name": "default", "field": "vxlanVNI", "applied": 4096},
                    {"kind": "IPPool", "name": "p", "field": "vxlanMode", "previous": "Never", "applied": "Always"},
                ]},
            },
        })
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut object = stored();
        *object.pointer_mut(pointer).unwrap() = value;
        object
    }

    #[test]
    fn what_fits_is_read() {
        let Config::Readable(config) = Config::read(&stored()) else {
            unreachable!()
        };
        let managers = config.metadata.managed_fields.unwrap();
        assert_eq!(managers.len(), 1, "who wrote the rest changes with each write");
    }

    /// A newer version wrote the object, and ours was rolled back.
    #[rstest]
    #[case::spec_value("/spec/mode", json!("Negotiate"), "spec.mode: ")]
    #[case::spec_field("/spec/calico", json!({"datastore": stored()["spec"]["calico"]["datastore"], "newer": 1}), "spec.calico.newer: ")]
    #[case::network("/spec/network", json!({"type": "Newer"}), "spec.network.type: ")]
    fn an_unreadable_spec_keeps_all_that_deletion_needs(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] path: &str,
    ) {
        let Config::Unreadable(found) = Config::read(&with(pointer, value)) else {
            unreachable!()
        };
        assert!(found.message.starts_with(path), "{}", found.message);
        let (spec, status) = (&found.config.spec, found.config.status.as_ref().unwrap());
        assert_eq!(found.config.metadata.generation, Some(3));
        assert_eq!(
            (spec.mode, spec.deletion_policy),
            (Mode::Manage, DeletionPolicy::Restore)
        );
        assert_eq!(spec.calico.datastore.type_, DatastoreType::Etcd);
        assert_eq!(status.calico.as_ref().unwrap().originals.len(), 2);
        assert_eq!(status.conditions.len(), 1);
        assert!(found.originals.is_empty());
    }

    /// The next pass writes the rest of the status again, but not an original.
    #[rstest]
    #[case("/status/conditions/0/lastTransitionTime", json!("tomorrow"), true)]
    #[case("/status/calico/api", json!("projectcalico.org/v4"), true)]
    #[case("/status/calico/originals/0/kind", json!("BGPConfiguration"), false)]
    fn only_originals_of_the_status_matter(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] readable: bool,
    ) {
        match Config::read(&with(pointer, value)) {
            Config::Readable(config) => {
                assert!(readable);
                assert_eq!(config.status.unwrap().calico.unwrap().originals.len(), 2);
            }
            Config::Unreadable(found) => {
                assert!(!readable);
                assert!(
                    found
                        .message
                        .starts_with("status.calico.originals[0]: unknown variant"),
                    "{}",
                    found.message
                );
                assert_eq!(found.config.status.unwrap().calico.unwrap().originals.len(), 1);
                assert!(found.originals[0].contains("BGPConfiguration"));
            }
        }
    }
}
