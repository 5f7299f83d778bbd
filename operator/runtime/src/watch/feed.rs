//! One watch: lists, watches, and hands each object to a sink.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::{Api, DynamicObject, ListParams, PartialObjectMeta};
use kube::core::ObjectMeta;
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

/// Takes in what a watch brings. A method that waits slows its watch down.
pub trait Sink: Send + Sync + 'static {
    /// An object as it is parsed.
    type Object: Resource + Clone + Debug + DeserializeOwned + Send + 'static;

    /// Which objects are watched.
    fn selection(&self) -> watcher::Config;

    /// Whether decisions can be made without these objects.
    fn is_optional(&self) -> bool;

    /// The pause before a resource that is not served is listed again; `None` for that of any other failure.
    fn pause_when_not_served(&self) -> Option<Duration> {
        None
    }

    /// An object was listed, created or changed.
    fn put(&self, origin: Origin, object: Self::Object) -> impl Future<Output = ()> + Send;

    /// An object was deleted, which was its last version.
    fn deleted(&self, key: Key, version: u64) -> impl Future<Output = ()> + Send;

    /// A list is complete: what is not in it is gone.
    fn listed(&self, seen: BTreeSet<Key>) -> impl Future<Output = ()> + Send;

    /// A list failed.
    fn failed(&self, unread: Unread) -> impl Future<Output = ()> + Send;

    /// What was listed cannot be read any more.
    fn lost(&self) -> impl Future<Output = ()> + Send;
}

/// One watch.
pub struct Feed<S: Sink> {
    api: Api<S::Object>,
    sink: S,
    metrics: Arc<Metrics>,
    pulse: Arc<Pulse>,
    /// How long a watch is refused before its facts count as out of date.
    patience: Duration,
}

impl<S: Sink> Feed<S> {
    pub fn new(api: Api<S::Object>, sink: S, metrics: &Arc<Metrics>, pulse: Arc<Pulse>) -> Self {
        Self {
            api,
            sink,
            metrics: metrics.clone(),
            pulse,
            patience: PATIENCE,
        }
    }

    /// Feeds the watch into the sink. It never ends; after a panic it is restarted and lists again.
    pub async fn for_ever(self) {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let panicked = AssertUnwindSafe(self.run()).catch_unwind().await.is_err();
            if began.elapsed() > STEADY {
                backoff.reset();
            }
            let pause = backoff.next();
            let topic = self.pulse.topic();
            tracing::error!(topic, panicked, ?pause, "watch ended, starting it again");
            self.metrics.watch_restarted(topic);
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
                return self.sink.listed(BTreeSet::new()).await;
            }
            self.sink.failed(self.unread(&error)).await;
        }
    }

    async fn list(&self) -> kube::Result<()> {
        let selection = self.sink.selection();
        let mut page = ListParams {
            label_selector: selection.label_selector,
            field_selector: selection.field_selector,
            ..ListParams::default().limit(PAGE)
        };
        let mut list = List::default();
        loop {
            let answer = self.api.list(&page).await?;
            for object in answer.items {
                handle(&self.sink, Event::InitApply(object), &mut list).await;
            }
            page.continue_token = answer.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                handle(&self.sink, Event::InitDone, &mut list).await;
                return Ok(());
            }
        }
    }

    async fn run(&self) {
        loop {
            self.watch().await;
            // Listed again, so that the plan knows why the list fails, and when it succeeds.
            self.sink.lost().await;
        }
    }

    /// Returns when the right to watch was taken away.
    async fn watch(&self) {
        let (topic, sink) = (self.pulse.topic(), &self.sink);
        let events = || {
            let selection = sink.selection().page_size(PAGE);
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
                    handle(sink, event, &mut list).await;
                }
                Ok(None) => return,
                Err(error) if is_not_served(&error) => {
                    debug!(topic, "not served");
                    sink.listed(BTreeSet::new()).await;
                    if let Some(pause) = sink.pause_when_not_served() {
                        tokio::time::sleep(pause).await;
                        stream.set(events());
                    }
                }
                Err(error) if is_refused(&error) && self.pulse.age() > self.patience => return,
                Err(error) => {
                    warn!(topic, %error, "watch failed, trying again");
                    sink.failed(self.unread(&error)).await;
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
            can_be_lacking: self.sink.is_optional(),
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
        world.put_fact(origin, topic, key(self.meta()), version, self.fact);
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

/// The world as the sink of a topic.
pub struct ToWorld<K> {
    topic: Topic,
    world: Arc<World>,
    object: PhantomData<fn() -> K>,
}

impl<K> ToWorld<K> {
    pub fn new(topic: Topic, world: &Arc<World>) -> Self {
        Self {
            topic,
            world: world.clone(),
            object: PhantomData,
        }
    }
}

impl<K: Incoming> Sink for ToWorld<K> {
    type Object = K;

    fn selection(&self) -> watcher::Config {
        apis::selection(self.topic)
    }

    fn is_optional(&self) -> bool {
        descriptor(self.topic).optional
    }

    async fn put(&self, origin: Origin, object: K) {
        object.put(origin, self.topic, &self.world);
    }

    async fn deleted(&self, key: Key, version: u64) {
        self.world.deleted(self.topic, &key, version);
    }

    async fn listed(&self, seen: BTreeSet<Key>) {
        self.world.listed(self.topic, &seen);
    }

    async fn failed(&self, unread: Unread) {
        self.world.failed(self.topic, unread);
    }

    async fn lost(&self) {
        self.world.lost(self.topic);
    }
}

async fn handle<S: Sink>(sink: &S, event: Event<S::Object>, list: &mut List) {
    match event {
        Event::Init => *list = List::default(),
        Event::InitApply(object) => {
            list.keys.insert(key(object.meta()));
            sink.put(Origin::List(list.begun), object).await;
        }
        Event::InitDone => sink.listed(std::mem::take(&mut list.keys)).await,
        Event::Apply(object) => sink.put(Origin::Watch, object).await,
        Event::Delete(object) => sink.deleted(key(object.meta()), version(&object)).await,
    }
}

fn version<K: Resource>(object: &K) -> u64 {
    parse_version(object.meta().resource_version.as_deref())
}

/// Namespace and name.
pub fn key(meta: &ObjectMeta) -> Key {
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
