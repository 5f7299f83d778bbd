//! The workloads of a live cluster, and the findings about them, kept current change by change.
//!
//! After [`Live::evaluate`], [`Live::findings`] are those of `findings::all` and `limits::findings` of the same objects.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::findings::{self, Cache, Finding};
use crate::input::{self, Key, Objects};
use crate::kinds::{Kind, Readers};
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
    changed: Changed,
    cache: Cache,
    findings: Vec<Finding>,
}

/// The findings whose objects changed since the last evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    policies: bool,
    limits: bool,
}

impl Changed {
    const fn note(&mut self, readers: Readers) {
        match readers {
            Readers::Policies => self.policies = true,
            Readers::Limits => self.limits = true,
            Readers::All => (self.policies, self.limits) = (true, true),
        }
    }
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
            changed: Changed::default(),
            cache: Cache::default(),
            findings: Vec::new(),
        }
    }

    /// Sets what is known beside the objects: Calico's release, builds of Windows nodes, kube-proxy's version.
    pub fn set_known(&mut self, release: Release, known: Known) {
        if (self.release, &self.known) != (release, &known) {
            self.changed.note(Readers::All);
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
        self.changed.note(kind.readers);
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
        if self.objects.remove(kind, &key) {
            self.changed.note(kind.readers);
        }
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
                group,
                kind,
                namespace,
                name,
                error,
            })
    }

    /// Evaluates what changed since the last call. Returns whether the findings changed.
    pub fn evaluate(&mut self) -> bool {
        let changed = std::mem::take(&mut self.changed);
        if !changed.policies && !changed.limits {
            return false;
        }
        self.objects.forget_unused();
        let before = std::mem::take(&mut self.findings).into_iter();
        let (policies, limits): (Vec<_>, Vec<_>) =
            before.partition(|finding| finding.code.is_about_policies());
        let of_policies = changed
            .policies
            .then(|| self.cache.findings(&self.objects, self.release));
        let of_limits = changed.limits.then(|| {
            let mut found = limits::findings(&self.objects, &self.known);
            findings::sort(&mut found);
            found
        });
        let differs = |now: &Option<Vec<Finding>>, before| now.as_ref().is_some_and(|now| now != before);
        let is_changed = differs(&of_policies, &policies) || differs(&of_limits, &limits);
        self.findings = of_policies.unwrap_or(policies);
        self.findings.extend(of_limits.unwrap_or(limits));
        self.findings.shrink_to_fit();
        findings::sort(&mut self.findings);
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
