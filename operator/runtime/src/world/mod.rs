//! What is known of the cluster, kept current by watches and by the answers to our own writes.
//!
//! Invariant: what a watch brings never replaces a newer answer to a write of ours, so the echo of that write, arriving
//! late, changes nothing and wakes nobody. A list is the truth, though its versions be older than what is known: the
//! cluster may have been restored from a backup.

mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;
use tracing::warn;
use wn_plan::node::SANDBOX_WINDOW;
use wn_plan::observed::{Changes, EtcdFacts, Fact, Key, Observed, SandboxFailure, Topic};
use wn_plan::unread::Unread;
use wn_plan::version::Version;

use crate::topics::{descriptor, label};
use versions::Versions;

pub use versions::Origin;

/// Tries of a first list before the loop goes on without it: with the pauses of kube-runtime about five seconds.
pub const TRIES: u32 = 3;

/// Everything observed, and the work that changes of it cause.
pub struct World {
    inner: Mutex<Inner>,
    changed: Notify,
    /// An Event claims that a sandbox failed.
    claimed: Notify,
}

#[derive(Default)]
struct Inner {
    observed: Observed,
    versions: Versions,
    wanted: BTreeSet<Topic>,
    listed: BTreeSet<Topic>,
    /// Why the first list of a topic fails, and how often it did.
    unread: BTreeMap<Topic, (u32, Unread)>,
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
    /// Records what cannot be read; returns whether that changed.
    fn publish_unread(&mut self) -> bool {
        let unread = self.unread.iter().filter(|(topic, (times, _))| {
            *times >= TRIES && self.wanted.contains(topic) && !self.listed.contains(topic)
        });
        let unread: Vec<_> = unread.map(|(_, (_, unread))| unread.clone()).collect();
        let news = unread != self.observed.unread;
        self.observed.unread = unread;
        self.work.plan |= news;
        news
    }
}

impl World {
    /// Nothing is known. `namespace`: the operator's.
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

    /// Takes the nodes to check.
    pub fn take_nodes(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().work.nodes)
    }

    /// Facts that the verdicts on these nodes depend on have changed.
    pub fn judge_again(&self, nodes: impl Iterator<Item = String>) {
        self.lock().work.nodes.extend(nodes);
    }

    /// The node's pods have all started since it booted: a later failure has another cause than that boot.
    pub fn recovered(&self, node: &str) {
        if let Some(facts) = self.lock().observed.nodes.get_mut(node) {
            facts.rebooted = None;
        }
    }

    /// Forgets failures that are too old to count.
    pub fn expire(&self, now: Timestamp) {
        self.lock().observed.forget_failures(now - SANDBOX_WINDOW);
    }

    /// Resolves when an Event claimed a failure since it last did.
    pub async fn claimed(&self) {
        self.claimed.notified().await;
    }

    /// Stores whether the pod of a failure confirms it.
    pub fn take_evidence(&self, key: &Key, failure: &SandboxFailure, borne_out: bool) {
        let mut inner = self.lock();
        let changes = inner.observed.take_evidence(key, failure, borne_out);
        self.note(&mut inner, changes);
    }

    /// Takes in the answer to a write.
    pub fn put(&self, topic: Topic, object: &impl Serialize) {
        self.put_from(Origin::Answer, topic, object);
    }

    /// Takes in an object from a watch or a list.
    pub fn put_from(&self, origin: Origin, topic: Topic, object: &impl Serialize) {
        let object = match serde_json::to_value(object) {
            Ok(object) => object,
            Err(error) => return warn!(?topic, %error, "an object could not be read"),
        };
        self.take(origin, topic, key(&object), version(&object), |observed, key| {
            observed.take(topic, key, Some(&object), Timestamp::now())
        });
    }

    /// Takes in the fact of an object that was reduced while it was parsed.
    pub fn put_fact(&self, origin: Origin, topic: Topic, key: Key, version: u64, fact: Fact) {
        self.take(origin, topic, key, version, |observed, key| {
            observed.take_fact(key, fact, Timestamp::now())
        });
    }

    fn take(
        &self,
        origin: Origin,
        topic: Topic,
        key: Key,
        version: u64,
        take: impl FnOnce(&mut Observed, &Key) -> Changes,
    ) {
        let mut inner = self.lock();
        if descriptor(topic).versioned && !inner.versions.take(topic, &key, version, origin) {
            return;
        }
        let changes = take(&mut inner.observed, &key);
        self.note(&mut inner, changes);
        if topic == Topic::Failures {
            self.claimed.notify_one();
        }
    }

    /// Wakes the loop for what a change affects.
    fn note(&self, inner: &mut Inner, changes: Changes) {
        if !changes.is_empty() {
            inner.work.plan |= changes.plan;
            inner.work.nodes.extend(changes.nodes);
            self.changed.notify_one();
        }
    }

    /// An object is gone, and what is known of it.
    pub fn remove(&self, topic: Topic, key: &Key) {
        self.lock().versions.forget(topic, key);
        self.drop_facts(topic, key);
    }

    /// A watch says that an object was deleted, which was its last version.
    pub fn deleted(&self, topic: Topic, key: &Key, version: u64) {
        if descriptor(topic).versioned {
            self.lock().versions.gone(topic, key, version);
        }
        self.drop_facts(topic, key);
    }

    fn drop_facts(&self, topic: Topic, key: &Key) {
        let mut inner = self.lock();
        let changes = inner.observed.take(topic, key, None, Timestamp::now());
        self.note(&mut inner, changes);
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
        inner.unread.remove(&topic);
        let first = inner.listed.insert(topic);
        inner.work.plan |= first;
        if inner.publish_unread() || first {
            self.changed.notify_one();
        }
    }

    /// Nothing of the topic is known any more.
    pub fn forget(&self, topic: Topic) {
        for key in self.keys(topic) {
            self.remove(topic, &key);
        }
        let mut inner = self.lock();
        inner.listed.remove(&topic);
        inner.unread.remove(&topic);
        inner.publish_unread();
    }

    /// A topic that was listed cannot be read any more: what is known of it is out of date.
    pub fn lost(&self, topic: Topic) {
        self.lock().listed.remove(&topic);
    }

    /// As when the first list of a topic failed for good.
    #[cfg(test)]
    pub fn unreadable(&self, topic: Topic) {
        self.want([topic].into());
        for _ in 0..TRIES {
            let unread = Unread {
                objects: format!("{topic:?}"),
                error: "no".to_owned(),
                forbidden: true,
                can_be_lacking: false,
            };
            self.failed(topic, unread);
        }
    }

    /// The first list of a topic failed. When it did so several times the loop goes on without it.
    pub fn failed(&self, topic: Topic, unread: Unread) {
        let mut inner = self.lock();
        let times = inner.unread.get(&topic).map_or(0, |(times, _)| *times);
        inner.unread.insert(topic, (times.saturating_add(1), unread));
        if inner.publish_unread() {
            self.changed.notify_one();
        }
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
        if descriptor(topic).versioned {
            inner.versions.keys(topic)
        } else {
            inner.observed.keys(topic)
        }
    }

    /// Sets the topics that are watched.
    pub fn want(&self, topics: BTreeSet<Topic>) {
        let mut inner = self.lock();
        inner.wanted = topics;
        inner.publish_unread();
    }

    /// Is there a topic to wait for? Not for one that cannot be read: the plan knows of that.
    pub fn is_waiting(&self) -> bool {
        let inner = self.lock();
        let unread = |topic: &Topic| inner.unread.get(topic).is_some_and(|(times, _)| *times >= TRIES);
        inner.wanted.is_empty() || inner.wanted.difference(&inner.listed).any(|t| !unread(t))
    }

    /// Has the topic been listed completely?
    pub fn is_listed(&self, topic: Topic) -> bool {
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
            .map(|topic| label(*topic))
            .collect()
    }

    /// True once after each time the API server may have been replaced.
    pub fn take_version_stale(&self) -> bool {
        std::mem::take(&mut self.lock().version_stale)
    }

    /// Sets the API server's version.
    pub fn set_kubernetes(&self, version: Option<Version>) {
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
    parse_version(text)
}

/// Of `metadata.resourceVersion`; what is no number counts as new.
pub fn parse_version(version: Option<&str>) -> u64 {
    version.and_then(|v| v.parse().ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile;
