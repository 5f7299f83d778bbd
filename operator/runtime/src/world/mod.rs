//! What is known of the cluster, kept current by watches and by the answers to our own writes.
//!
//! Invariant: a newer version of an object is never replaced by an older one, so the echo of our own
//! write, arriving late on a watch, changes nothing and wakes nobody.

mod apis;
mod claims;
mod seen;
mod sinks;
mod topic;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;
use wn_plan::node::SANDBOX_WINDOW;
use wn_plan::observed::{EtcdFacts, Key, Observed, SandboxFailure};

use sinks::{Fact, Touched};

pub use apis::Apis;
pub use claims::verify;
pub use topic::Topic;
pub use watch::Watches;

pub struct World {
    inner: Mutex<Inner>,
    changed: Notify,
    /// An Event claims that a sandbox failed.
    claimed: Notify,
}

#[derive(Default)]
struct Inner {
    observed: Observed,
    versions: BTreeMap<(Topic, Key), u64>,
    wanted: BTreeSet<Topic>,
    listed: BTreeSet<Topic>,
    work: Work,
    /// The API server may have been replaced since its version was asked.
    version_stale: bool,
}

/// What changed since it was last taken.
#[derive(Debug, Default)]
struct Work {
    plan: bool,
    nodes: BTreeSet<String>,
}

impl Inner {
    /// Notes what a fact touched; says whether it touched anything.
    fn note(&mut self, touched: Touched) -> bool {
        if touched.is_nothing() {
            return false;
        }
        self.work.plan |= touched.plan;
        self.work.nodes.extend(touched.nodes);
        true
    }
}

impl World {
    pub fn new(namespace: &str) -> Self {
        let observed = Observed {
            namespace: namespace.to_owned(),
            ..Observed::default()
        };
        Self {
            inner: Mutex::new(Inner {
                observed,
                version_stale: true,
                ..Inner::default()
            }),
            changed: Notify::new(),
            claimed: Notify::new(),
        }
    }

    /// A panic while the lock was held cannot leave the facts half written: each update is one insert.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads; must not block.
    pub fn read<T>(&self, look: impl FnOnce(&Observed) -> T) -> T {
        look(&self.lock().observed)
    }

    /// Resolves when something that matters changed since it last did.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Must the cluster be looked at as a whole? Counts as done.
    pub fn take_plan(&self) -> bool {
        std::mem::take(&mut self.lock().work.plan)
    }

    /// Nodes to be judged anew; they count as judged.
    pub fn take_nodes(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().work.nodes)
    }

    /// What these nodes are judged by has changed.
    pub fn touch(&self, nodes: impl Iterator<Item = String>) {
        self.lock().work.nodes.extend(nodes);
    }

    /// The node's pods have all started since it booted: what befalls them later is not of that boot.
    pub fn recovered(&self, node: &str) {
        if let Some(facts) = self.lock().observed.nodes.get_mut(node) {
            facts.rebooted = None;
        }
    }

    /// Forgets what is too old to count, so that a storm of Events is not kept until they end.
    pub fn expire(&self, now: Timestamp) {
        let mut inner = self.lock();
        let old = |f: &&SandboxFailure| f.last + SANDBOX_WINDOW <= now;
        inner.observed.claims.retain(|_, f| !old(&&*f));
        let failures = &inner.observed.failures;
        if !failures.values().any(|f| old(&f)) {
            return;
        }
        let keys: Vec<_> = failures
            .iter()
            .filter(|(_, f)| old(f))
            .map(|(k, _)| k.clone())
            .collect();
        for key in keys {
            inner.observed.failures.remove(&key);
        }
    }

    /// Resolves when something was claimed since it last did.
    async fn claimed(&self) {
        self.claimed.notified().await;
    }

    /// Takes in whether the pod of a failure bears it out.
    fn decided(&self, key: &Key, failure: &SandboxFailure, borne_out: bool) {
        let mut inner = self.lock();
        let touched = sinks::decided(&mut inner.observed, key, failure, borne_out);
        if inner.note(touched) {
            self.changed.notify_one();
        }
    }

    /// Takes in an object, from a watch or from the answer to a write.
    pub fn put(&self, topic: Topic, object: &Value) {
        let (key, version) = (key(object), version(object));
        self.take(topic, key, version, |observed, key| {
            sinks::take(topic, observed, key, Some(object))
        });
    }

    /// Takes in what was read of an object while it was parsed.
    fn put_fact(&self, topic: Topic, key: Key, version: u64, fact: Fact) {
        self.take(topic, key, version, |observed, key| {
            sinks::take_fact(observed, key, fact)
        });
    }

    fn take(&self, topic: Topic, key: Key, version: u64, into: impl FnOnce(&mut Observed, &Key) -> Touched) {
        let mut inner = self.lock();
        if topic.is_written() {
            let place = (topic, key.clone());
            if inner.versions.get(&place).is_some_and(|known| *known > version) {
                return;
            }
            inner.versions.insert(place, version);
        }
        let touched = into(&mut inner.observed, &key);
        if inner.note(touched) {
            self.changed.notify_one();
        }
        if topic == Topic::Failures {
            self.claimed.notify_one();
        }
    }

    pub fn remove(&self, topic: Topic, key: &Key) {
        let mut inner = self.lock();
        inner.versions.remove(&(topic, key.clone()));
        let touched = sinks::take(topic, &mut inner.observed, key, None);
        if inner.note(touched) {
            self.changed.notify_one();
        }
    }

    /// A complete list was received: what is not in it is gone.
    pub fn listed(&self, topic: Topic, seen: &BTreeSet<Key>) {
        let gone: Vec<_> = self
            .keys(topic)
            .into_iter()
            .filter(|key| !seen.contains(key))
            .collect();
        for key in gone {
            self.remove(topic, &key);
        }
        let mut inner = self.lock();
        inner.version_stale |= topic == Topic::Config;
        if inner.listed.insert(topic) {
            inner.work.plan = true;
            self.changed.notify_one();
        }
    }

    /// Nothing of the topic is known any more.
    pub fn forget(&self, topic: Topic) {
        for key in self.keys(topic) {
            self.remove(topic, &key);
        }
        self.lock().listed.remove(&topic);
    }

    /// How it stands with Calico's etcd; `None` when there is none to follow any more.
    pub fn set_etcd(&self, facts: Option<EtcdFacts>) {
        let mut inner = self.lock();
        let followed = facts.is_some();
        let news = inner.observed.calico.etcd != facts;
        inner.observed.calico.etcd = facts;
        let news = if followed {
            inner.listed.insert(Topic::Etcd) || news
        } else {
            inner.listed.remove(&Topic::Etcd);
            news
        };
        if news {
            inner.work.plan = true;
            self.changed.notify_one();
        }
    }

    fn keys(&self, topic: Topic) -> Vec<Key> {
        let inner = self.lock();
        if !topic.is_written() {
            return sinks::keys(topic, &inner.observed);
        }
        let known = inner.versions.keys().filter(|(t, _)| *t == topic);
        known.map(|(_, key)| key.clone()).collect()
    }

    fn want(&self, topics: BTreeSet<Topic>) {
        self.lock().wanted = topics;
    }

    fn is_listed(&self, topic: Topic) -> bool {
        self.lock().listed.contains(&topic)
    }

    /// Topics whose first list has not arrived: deciding before would take "not yet seen" for "absent".
    pub fn missing(&self) -> Vec<String> {
        let inner = self.lock();
        if inner.wanted.is_empty() {
            return vec!["everything".to_owned()];
        }
        inner
            .wanted
            .difference(&inner.listed)
            .map(|t| format!("{t:?}"))
            .collect()
    }

    /// True once after each time the API server may have been replaced.
    pub fn take_version_stale(&self) -> bool {
        std::mem::take(&mut self.lock().version_stale)
    }

    pub fn set_kubernetes(&self, version: Option<wn_plan::version::Version>) {
        let mut inner = self.lock();
        inner.version_stale = version.is_none();
        inner.observed.kubernetes = version;
    }
}

fn key(object: &Value) -> Key {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    (text("/metadata/namespace"), text("/metadata/name"))
}

/// Resource versions of one cluster are comparable integers (guaranteed from Kubernetes 1.35, true
/// before); anything else counts as new.
fn version(object: &Value) -> u64 {
    let text = object
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    number(text)
}

fn number(version: Option<&str>) -> u64 {
    version.and_then(|v| v.parse().ok()).unwrap_or(u64::MAX)
}
