//! What a watch of workloads brings, sent to the judge.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_runtime::watcher;
use serde::{Deserialize as _, Deserializer};
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use wn_plan::observed::Key;
use wn_plan::unread::Unread;

use crate::watch::feed::Sink;
use crate::watch::parsed::{Parsed, Reduce};
use crate::world::Origin;

/// A change of one kind. `usize`: position of the kind in the list of the session.
#[derive(Debug)]
pub enum Change {
    /// An object was listed, created or changed.
    Put(usize, Value),
    /// An object was deleted.
    Gone(usize, Key),
    /// A list is complete.
    Listed(usize, BTreeSet<Key>),
    /// A list failed.
    Failed(usize, Unread),
    /// What was listed cannot be read any more.
    Lost(usize),
}

/// An object without `metadata.managedFields`, which are often longer than the rest.
#[derive(Clone, Debug)]
pub struct Workload;

impl Reduce for Workload {
    type Fact = Value;

    fn reduce<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(ObjectMeta, Value), D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return Ok((ObjectMeta::default(), object));
        };
        metadata.remove("managedFields");
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).map(str::to_owned);
        let reduced = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok((reduced, object))
    }
}

/// The pause before a kind that is not served is listed again. Its CustomResourceDefinition may be installed meanwhile, e.g. by an
/// upgrade of Calico, which is rare.
const NOT_SERVED: Duration = Duration::from_mins(10);

/// Sends the changes of a kind. It waits while the judge is busy, so that few objects are in memory twice.
pub struct ToJudge {
    pub kind: usize,
    pub judge: Sender<Change>,
}

impl ToJudge {
    async fn send(&self, change: Change) {
        // Without a judge the session is over, and this watch with it.
        let _ = self.judge.send(change).await;
    }
}

impl Sink for ToJudge {
    type Object = Parsed<Workload>;

    fn selection(&self) -> watcher::Config {
        watcher::Config::default()
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn pause_when_not_served(&self) -> Option<Duration> {
        Some(NOT_SERVED)
    }

    async fn put(&self, _: Origin, object: Self::Object) {
        self.send(Change::Put(self.kind, object.fact)).await;
    }

    async fn deleted(&self, key: Key, _: u64) {
        self.send(Change::Gone(self.kind, key)).await;
    }

    async fn listed(&self, seen: BTreeSet<Key>) {
        self.send(Change::Listed(self.kind, seen)).await;
    }

    async fn failed(&self, unread: Unread) {
        self.send(Change::Failed(self.kind, unread)).await;
    }

    async fn lost(&self) {
        self.send(Change::Lost(self.kind)).await;
    }
}
