//! The little of an API server that decides on Calico's objects meet: values, `managedFields`, resource
//! versions. Written from the rules of server-side apply, so that a plan is tested against those and not
//! against what the planner believes them to be.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::flannel::NET_CONF_KEY;
use wn_api::names::managers;
use wn_plan::calico::{Action, Write};
use wn_plan::json_text;
use wn_plan::observed::{ConfigObject, flannel};

type Key = (ConfigKind, String);
/// Manager and operation.
type Owner = (String, &'static str);

#[derive(Clone, Debug, Default)]
struct Stored {
    spec: Map<String, Value>,
    owners: BTreeMap<Owner, BTreeSet<String>>,
    labels: BTreeMap<String, String>,
    status: Value,
    uid: u32,
    version: u32,
    writes: i64,
}

/// Calico's objects as an API server stores them, or etcd.
#[derive(Clone, Debug, Default)]
pub struct Store {
    objects: BTreeMap<Key, Stored>,
    clock: u32,
    /// No managers, and no server-side apply: a write is what it changes.
    pub etcd: bool,
}

pub const UPDATE: &str = "Update";
pub const APPLY: &str = "Apply";

fn manager_of(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::IpamConfiguration => managers::IPAM,
        ConfigKind::IpPool => managers::IP_POOL,
        ConfigKind::FelixConfiguration => managers::FELIX,
        ConfigKind::Installation => managers::INSTALLATION,
        ConfigKind::FlannelConfiguration => managers::FLANNEL,
    }
}

impl Store {
    /// A plain create or update of these fields; null removes one.
    pub fn update(&mut self, kind: ConfigKind, name: &str, manager: &str, spec: &Value) {
        let fields = leaves(spec);
        let object = self.touch(kind, name);
        for (field, value) in &fields {
            if value.is_null() {
                object.remove_below(field);
            }
            let now = Some(value).filter(|v| !v.is_null());
            if object.spec.get(field) == now {
                continue;
            }
            object.disown(field);
            match now {
                Some(value) => {
                    object.spec.insert(field.clone(), value.clone());
                    object
                        .owners
                        .entry((manager.into(), UPDATE))
                        .or_default()
                        .insert(field.clone());
                }
                None => drop(object.spec.remove(field)),
            }
        }
    }

    /// A forced server-side apply.
    pub fn apply(&mut self, kind: ConfigKind, name: &str, manager: &str, spec: &Value) {
        let fields = leaves(spec);
        let object = self.touch(kind, name);
        let before = object.owners.remove(&(manager.into(), APPLY)).unwrap_or_default();
        for (field, value) in &fields {
            if object.spec.get(field) != Some(value) {
                object.disown(field);
                object.spec.insert(field.clone(), value.clone());
            }
        }
        for field in before.iter().filter(|f| !fields.contains_key(*f)) {
            if !object.owners.values().any(|owned| owned.contains(field)) {
                object.spec.remove(field);
            }
        }
        object
            .owners
            .insert((manager.into(), APPLY), fields.keys().cloned().collect());
        object.owners.retain(|_, owned| !owned.is_empty());
    }

    pub fn label(&mut self, kind: ConfigKind, name: &str, key: &str, value: &str) {
        self.touch(kind, name).labels.insert(key.into(), value.into());
    }

    pub fn set_status(&mut self, kind: ConfigKind, name: &str, status: Value) {
        self.touch(kind, name).status = status;
    }

    /// Etcd holds what is Calico's own.
    fn in_etcd(&self, kind: ConfigKind) -> bool {
        self.etcd && ConfigKind::OF_CALICO.contains(&kind)
    }

    /// An object as the API server would give it.
    pub fn json(&self, kind: ConfigKind, name: &str) -> Option<Value> {
        Some(
            self.objects
                .get(&(kind, name.to_owned()))?
                .json(kind, name, self.etcd),
        )
    }

    pub fn delete(&mut self, kind: ConfigKind, name: &str) {
        self.objects.remove(&(kind, name.into()));
    }

    /// Does what the runtime does with a write; panics where the API server would refuse it.
    pub fn execute(&mut self, write: &Write) {
        let (kind, name) = (write.kind, write.name.as_str());
        let stored = self
            .objects
            .get(&(kind, name.into()))
            .map(|o| (o.uid.to_string(), o.version.to_string()));
        let stored_version = || stored.as_ref().map(|s| s.1.clone()).unwrap_or_default();
        match &write.action {
            Action::Create { spec } => {
                assert!(stored.is_none(), "{kind:?} {name} exists");
                let bools = ["strictAffinity", "autoAllocateBlocks"]
                    .map(|f| spec.get(f).is_some_and(Value::is_boolean));
                assert!(
                    kind != ConfigKind::IpamConfiguration || bools == [true, true],
                    "Calico's schema requires both"
                );
                self.update(kind, name, manager_of(kind), &Value::Object(spec.clone()));
            }
            // One text holds all of flannel's fields, so what is written is the text, by a plain update.
            Action::Apply {
                spec,
                resource_version,
            }
            | Action::Restore {
                spec,
                resource_version,
            } if kind == ConfigKind::FlannelConfiguration => {
                assert_eq!(*resource_version, stored_version(), "{kind:?} {name}");
                let text = self.objects[&(kind, name.into())].spec[NET_CONF_KEY].clone();
                let text = spec
                    .iter()
                    .fold(text.as_str().unwrap().to_owned(), |text, (field, value)| {
                        json_text::with(&text, field, Some(value).filter(|v| !v.is_null()), "").unwrap()
                    });
                self.update(kind, name, manager_of(kind), &json!({ (NET_CONF_KEY): text }));
            }
            Action::Apply {
                spec,
                resource_version,
            } => {
                assert_eq!(*resource_version, stored_version(), "{kind:?} {name}");
                if self.etcd {
                    let changes = write.changes.iter();
                    let fields = changes.map(|c| (c.id.field.clone(), c.to.clone().unwrap_or_default()));
                    self.update(kind, name, manager_of(kind), &Value::Object(fields.collect()));
                } else {
                    self.apply(kind, name, manager_of(kind), &Value::Object(spec.clone()));
                }
            }
            Action::Restore {
                spec,
                resource_version,
            } => {
                assert_eq!(*resource_version, stored_version(), "{kind:?} {name}");
                self.update(kind, name, manager_of(kind), &Value::Object(spec.clone()));
            }
            Action::Delete {
                uid,
                resource_version,
            } => {
                let (known, version) = stored.unwrap();
                assert_eq!(*resource_version, version, "{kind:?} {name}");
                assert!(self.etcd || *uid == known, "{kind:?} {name}");
                self.delete(kind, name);
            }
        }
    }

    /// As if all had been written by Calico's own programs.
    pub fn belong_to_calico(&mut self, manager: &str) {
        for object in self.objects.values_mut() {
            let fields = object.spec.keys().cloned().collect();
            object.owners = BTreeMap::from([((manager.to_owned(), UPDATE), fields)]);
        }
    }

    /// Every spec, to compare clusters by what Calico reads of them.
    pub fn specs(&self) -> BTreeMap<Key, Map<String, Value>> {
        self.objects
            .iter()
            .map(|(key, object)| (key.clone(), object.spec.clone()))
            .collect()
    }

    /// The facts of every object, read the way the operator reads them.
    pub fn facts(&self) -> BTreeMap<Key, ConfigObject> {
        let facts = |(key, object): (&Key, &Stored)| {
            let object = object.json(key.0, &key.1, self.in_etcd(key.0));
            let facts = match key.0 {
                ConfigKind::FlannelConfiguration => flannel::read(&object),
                _ => ConfigObject::read(key.0, &object),
            };
            (key.clone(), facts)
        };
        self.objects.iter().map(facts).collect()
    }

    fn touch(&mut self, kind: ConfigKind, name: &str) -> &mut Stored {
        self.clock += 1;
        let clock = self.clock;
        let object = self.objects.entry((kind, name.into())).or_insert_with(|| Stored {
            uid: clock,
            ..Stored::default()
        });
        object.version = clock;
        object.writes += 1;
        object
    }
}

impl Stored {
    fn disown(&mut self, field: &str) {
        self.owners.values_mut().for_each(|owned| {
            owned.remove(field);
        });
        self.owners.retain(|_, owned| !owned.is_empty());
    }

    /// An object that is removed takes along what is in it.
    fn remove_below(&mut self, field: &str) {
        let below = format!("{field}.");
        let inner = self.spec.keys().filter(|f| f.starts_with(&below));
        for field in inner.cloned().collect::<Vec<_>>() {
            self.disown(&field);
            self.spec.remove(&field);
        }
    }

    fn json(&self, kind: ConfigKind, name: &str, etcd: bool) -> Value {
        // Keys of a ConfigMap have dots of their own.
        let flat = kind == ConfigKind::FlannelConfiguration;
        let part = if flat { "data" } else { "spec" };
        let entry = |((manager, operation), fields): (&Owner, &BTreeSet<String>)| {
            let mut tree = json!({});
            for field in fields {
                if flat {
                    tree[format!("f:{field}")] = json!({});
                } else {
                    *tree_at(&mut tree, field, "f:") = json!({});
                }
            }
            let fields = tree;
            json!({"manager": manager, "operation": operation, "fieldsV1": {format!("f:{part}"): fields}})
        };
        if etcd {
            let metadata =
                json!({"name": name, "resourceVersion": self.version.to_string(), "labels": self.labels});
            return json!({"metadata": metadata, "etcd": {"version": self.writes}, "spec": self.spec});
        }
        json!({
            "metadata": {
                "name": name, "uid": self.uid.to_string(), "resourceVersion": self.version.to_string(),
                "labels": self.labels, "managedFields": self.owners.iter().map(entry).collect::<Vec<_>>(),
            },
            part: if flat { json!(self.spec) } else { json!(self.nested()) },
            "status": self.status,
        })
    }

    fn nested(&self) -> Value {
        let mut tree = json!({});
        for (field, value) in &self.spec {
            *tree_at(&mut tree, field, "") = value.clone();
        }
        tree
    }
}

/// Fields with the names of the objects they are in before them; a list is one field.
fn leaves(spec: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    for (name, value) in spec.as_object().unwrap() {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let inner = leaves(value);
                flat.extend(inner.into_iter().map(|(k, v)| (format!("{name}.{k}"), v)));
            }
            _ => drop(flat.insert(name.clone(), value.clone())),
        }
    }
    flat
}

fn tree_at<'a>(tree: &'a mut Value, field: &str, prefix: &str) -> &'a mut Value {
    field.split('.').fold(tree, |at, part| {
        if !at.is_object() {
            *at = json!({});
        }
        &mut at[format!("{prefix}{part}")]
    })
}
