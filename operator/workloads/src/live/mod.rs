//! The workloads of a live cluster, and the findings about them, kept current change by change.
//!
//! After [`Live::evaluate`], [`Live::findings`] are those of `findings::all` and `limits::findings` of the same objects.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::findings::{self, Cache, Finding};
use crate::input::{self, Key, Objects};
use crate::kinds::Kind;
use crate::limits::{self, Known};
use crate::release::Release;

/// The workloads of a cluster and the findings about them.
#[derive(Debug)]
pub struct Live {
    objects: Objects,
    /// Errors of objects that could not be read, by group, kind and key.
    unreadable: BTreeMap<(&'static str, &'static str, Key), String>,
    release: Release,
    known: Known,
    is_changed: bool,
    cache: Cache,
    findings: Vec<Finding>,
}

/// An object that could not be read. Findings are made without it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreadable<'a> {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// The object's `kind`.
    pub kind: &'static str,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// The field and what is wrong with it.
    pub error: &'a str,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    /// Nothing is known. The release is the newest one.
    pub fn new() -> Self {
        Self {
            objects: Objects::default(),
            unreadable: BTreeMap::new(),
            release: Release::NEWEST,
            known: Known::default(),
            is_changed: false,
            cache: Cache::default(),
            findings: Vec::new(),
        }
    }

    /// Sets what is known beside the objects: Calico's release, builds of Windows nodes, kube-proxy's version.
    pub fn set_known(&mut self, release: Release, known: Known) {
        if (self.release, &self.known) != (release, &known) {
            self.is_changed = true;
            (self.release, self.known) = (release, known);
        }
    }

    /// An object of a kind was created or changed; `apiVersion` and `kind` in it are not read. An object that cannot be read
    /// replaces the one that was read before, and counts as missing.
    pub fn put(&mut self, kind: &'static Kind, object: Value) {
        let text = |field: &str| {
            let value = object.get("metadata").and_then(|metadata| metadata.get(field));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        let key = key(kind, text("namespace"), text("name"));
        self.is_changed = true;
        match self.objects.put(kind, key.clone(), object) {
            Ok(()) => {
                self.unreadable.remove(&(kind.group, kind.kind, key));
            }
            Err(error) => {
                self.objects.remove(kind, &key);
                self.unreadable.insert((kind.group, kind.kind, key), error);
            }
        }
    }

    /// An object was deleted. Nothing happens if it is not known.
    pub fn remove(&mut self, kind: &'static Kind, namespace: &str, name: &str) {
        let key = key(kind, namespace, name);
        self.is_changed |= self.objects.remove(kind, &key);
        self.unreadable.remove(&(kind.group, kind.kind, key));
    }

    /// Namespace and name of every known object of a kind, also of those that could not be read. The namespace is empty for
    /// cluster-scoped kinds.
    pub fn keys(&self, kind: &'static Kind) -> Vec<(String, String)> {
        let of_kind = |(group, name, _): &&(&str, &str, Key)| (*group, *name) == (kind.group, kind.kind);
        let unreadable = self.unreadable.keys().filter(of_kind);
        let mut keys = self.objects.keys(kind);
        keys.extend(unreadable.map(|(_, _, key)| key.clone()));
        let texts = keys
            .iter()
            .map(|(namespace, name)| (namespace.to_string(), name.to_string()));
        texts.collect()
    }

    /// Objects that could not be read, by group, kind, namespace and name.
    pub fn unreadable(&self) -> impl Iterator<Item = Unreadable<'_>> {
        self.unreadable
            .iter()
            .map(|((group, kind, (namespace, name)), error)| Unreadable {
                group: *group,
                kind: *kind,
                namespace,
                name,
                error,
            })
    }

    /// Evaluates what changed since the last call. Returns whether the findings changed.
    pub fn evaluate(&mut self) -> bool {
        if !std::mem::take(&mut self.is_changed) {
            return false;
        }
        self.objects.forget_unused();
        let mut found = self.cache.findings(&self.objects, self.release);
        found.extend(limits::findings(&self.objects, &self.known));
        findings::sort(&mut found);
        let is_changed = found != self.findings;
        self.findings = found;
        is_changed
    }

    /// All findings, in the order of [`findings::sort`].
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// The key under which an object is kept.
fn key(kind: &Kind, namespace: &str, name: &str) -> Key {
    let namespace = match (kind.is_namespaced, namespace) {
        (false, _) => "",
        (true, "") => "default",
        (true, namespace) => namespace,
    };
    input::key(namespace, name)
}
