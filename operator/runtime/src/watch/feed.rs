//! One watch: lists, watches, and hands each object to the world.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::{Api, DynamicObject, ListParams, PartialObjectMeta};
use kube_runtime::utils::StreamBackoff;
use kube_runtime::watcher::{self, Event, watcher};
use serde::de::DeserializeOwned;
use tracing::{debug, warn};
use wn_plan::observed::{Key, Topic};
use wn_plan::unread::Unread;

use super::parsed::{Numerous, Parsed};
use crate::apis;
use crate::backoff::Backoff;
use crate::metrics::{Metrics, Pulse};
use crate::topics::descriptor;
use crate::world::{Origin, TRIES, World, parse_version};

/// Objects in one answer to a list: the whole answer is in memory at once, and what it takes at its peak is
/// not released.
const PAGE: u32 = 100;

/// One watch.
pub struct Feed<K> {
    topic: Topic,
    api: Api<K>,
    world: Arc<World>,
    metrics: Arc<Metrics>,
    pulse: Arc<Pulse>,
    /// How long a watch is refused before its facts count as out of date.
    patience: Duration,
}

impl<K: Incoming> Feed<K> {
    pub fn new(
        topic: Topic,
        api: Api<K>,
        world: &Arc<World>,
        metrics: &Arc<Metrics>,
        pulse: Arc<Pulse>,
    ) -> Self {
        Self {
            topic,
            api,
            world: world.clone(),
            metrics: metrics.clone(),
            pulse,
            patience: PATIENCE,
        }
    }

    /// Feeds the watch into the world. It never ends; after a panic it is restarted and lists again.
    pub async fn for_ever(self) {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let panicked = AssertUnwindSafe(self.run()).catch_unwind().await.is_err();
            if began.elapsed() > STEADY {
                backoff.reset();
            }
            let pause = backoff.next();
            let topic = self.topic;
            tracing::error!(?topic, panicked, ?pause, "watch ended, starting it again");
            self.metrics.watch_restarted(self.pulse.topic());
            tokio::time::sleep(pause).await;
        }
    }

    /// Lists once. What cannot be listed is unread afterwards.
    pub async fn once(self) {
        for _ in 0..TRIES {
            let Err(error) = self.list().await.map_err(watcher::Error::InitialListFailed) else {
                return;
            };
            if is_not_served(&error) {
                return self.world.listed(self.topic, &BTreeSet::new());
            }
            self.world.failed(self.topic, self.unread(&error));
        }
    }

    async fn list(&self) -> kube::Result<()> {
        let selection = apis::selection(self.topic);
        let mut page = ListParams {
            label_selector: selection.label_selector,
            field_selector: selection.field_selector,
            ..ListParams::default().limit(PAGE)
        };
        let mut list = List::default();
        loop {
            let answer = self.api.list(&page).await?;
            for object in answer.items {
                handle(self.topic, Event::InitApply(object), &mut list, &self.world);
            }
            page.continue_token = answer.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                handle::<K>(self.topic, Event::InitDone, &mut list, &self.world);
                return Ok(());
            }
        }
    }

    async fn run(&self) {
        loop {
            self.watch().await;
            // Listed again, so that the plan knows why the list fails, and when it succeeds.
            self.world.lost(self.topic);
        }
    }

    /// Returns when the right to watch was taken away.
    async fn watch(&self) {
        let (topic, world) = (self.topic, &self.world);
        let events = || {
            let selection = apis::selection(topic).page_size(PAGE);
            let backoff = watcher::DefaultBackoff::default();
            StreamBackoff::new(watcher(self.api.clone(), selection), backoff)
        };
        let mut list = List::default();
        let mut stream = std::pin::pin!(events());
        loop {
            match stream.try_next().await {
                Ok(Some(event)) => {
                    // Init is the intention to list, and comes with every try.
                    if !matches!(event, Event::Init) {
                        self.pulse.beat();
                    }
                    handle(topic, event, &mut list, world);
                }
                Ok(None) => return,
                Err(error) if is_not_served(&error) => {
                    debug!(?topic, "not served");
                    world.listed(topic, &BTreeSet::new());
                }
                Err(error) if is_refused(&error) && self.pulse.age() > self.patience => return,
                Err(error) => {
                    warn!(?topic, %error, "watch failed, trying again");
                    world.failed(topic, self.unread(&error));
                    if is_unreachable(&error) {
                        stream.set(events());
                    }
                }
            }
        }
    }

    /// The API server's error, without parts that change with each attempt.
    fn unread(&self, error: &watcher::Error) -> Unread {
        let status = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status)) => Some(status),
            _ => None,
        };
        Unread {
            objects: objects(self.api.resource_url()),
            error: status.map_or_else(
                || "the API server did not answer".to_owned(),
                |status| format!("{} ({})", status.message, status.code),
            ),
            forbidden: status.is_some_and(|status| matches!(status.code, 401 | 403)),
            can_be_lacking: descriptor(self.topic).optional,
        }
    }
}

/// `/apis/apps/v1/deployments` is `deployments.apps`.
fn objects(url: &str) -> String {
    let parts: Vec<_> = url.trim_matches('/').split('/').collect();
    let plural = parts.last().copied().unwrap_or_default();
    match parts.as_slice() {
        ["apis", group, ..] => format!("{plural}.{group}"),
        _ => plural.to_owned(),
    }
}

/// Longer than an API server takes to know its roles after a start.
const PATIENCE: Duration = Duration::from_mins(1);

/// A watch that went well for so long is not one that is crash-looping.
const STEADY: Duration = Duration::from_mins(10);

/// A list while it arrives.
struct List {
    begun: Instant,
    keys: BTreeSet<Key>,
}

impl Default for List {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            keys: BTreeSet::new(),
        }
    }
}

/// An object a watch brings.
pub trait Incoming: Resource + Clone + Debug + DeserializeOwned + Send + 'static {
    fn put(self, origin: Origin, topic: Topic, world: &World);
}

impl<N: Numerous> Incoming for Parsed<N> {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        let version = version(&self);
        world.put_fact(origin, topic, key(&self), version, self.fact);
    }
}

impl Incoming for DynamicObject {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        world.put_from(origin, topic, &self);
    }
}

impl Incoming for PartialObjectMeta<CustomResourceDefinition> {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        world.put_from(origin, topic, &self);
    }
}

fn handle<K: Incoming>(topic: Topic, event: Event<K>, list: &mut List, world: &World) {
    match event {
        Event::Init => *list = List::default(),
        Event::InitApply(object) => {
            list.keys.insert(key(&object));
            object.put(Origin::List(list.begun), topic, world);
        }
        Event::InitDone => world.listed(topic, &std::mem::take(&mut list.keys)),
        Event::Apply(object) => object.put(Origin::Watch, topic, world),
        Event::Delete(object) => world.deleted(topic, &key(&object), version(&object)),
    }
}

fn version<K: Resource>(object: &K) -> u64 {
    parse_version(object.meta().resource_version.as_deref())
}

fn key<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

/// Could a watch not be resumed because no API server answered? One that comes back may serve an etcd that was restored from a
/// snapshot: a watch resumed there at a version of before the restore does not show what was lost. So everything is listed again.
fn is_unreachable(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => matches!(status.code, 502..=504),
        watcher::Error::WatchStartFailed(_) => true,
        _ => false,
    }
}

/// Is it a watch that went well before and is not allowed any more?
fn is_refused(error: &watcher::Error) -> bool {
    let status = match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) | watcher::Error::WatchError(status) => {
            status
        }
        _ => return false,
    };
    matches!(status.code, 401 | 403)
}

/// The API server does not know the resource: an older version of it, or a definition that just went.
fn is_not_served(error: &watcher::Error) -> bool {
    let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error else {
        return false;
    };
    status.code == 404
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
