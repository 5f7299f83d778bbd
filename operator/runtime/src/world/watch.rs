//! The watches: which run, and what they feed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures::{FutureExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::DynamicResourceScope;
use kube::{Client, Resource};
use kube_runtime::utils::StreamBackoff;
use kube_runtime::watcher::{self, Event, watcher};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tracing::{debug, warn};
use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::spec::{DatastoreType, Etcd};
use wn_plan::calico::api::{form, is_v1_empty};
use wn_plan::network;
use wn_plan::observed::{Config, Key, Observed, Reservations};
use wn_plan::unread::Unread;

use super::seen::{Affinities, Blocks, Failures, LinuxNodes, Nodes, Numerous, Pods, Seen};
use super::topic::{DEFINITIONS, INSTALLATIONS, MIGRATIONS, SOURCES, TIGERA_STATUSES};
use super::{Apis, Origin, Topic, World, apis};
use crate::backoff::{Backoff, Retry};
use crate::metrics::{Metrics, Pulse};
use crate::store::etcd::{TOPICS, follow};

/// The running watches; dropping them ends them.
pub struct Watches {
    world: Arc<World>,
    metrics: Arc<Metrics>,
    running: BTreeMap<Topic, JoinSet<()>>,
    /// What the blocks were read by.
    reservations: Reservations,
    /// The etcd that is followed.
    etcd: Option<Etcd>,
    discovery: Retry,
}

impl Watches {
    pub fn new(world: Arc<World>, metrics: Arc<Metrics>) -> Self {
        Self {
            world,
            metrics,
            running: BTreeMap::new(),
            reservations: Reservations::new(),
            etcd: None,
            discovery: Retry::default(),
        }
    }

    /// Reads everything anew. What is known stays until then, but nothing is decided on it.
    pub fn relist(&mut self) {
        let topics: Vec<_> = self
            .running
            .keys()
            .copied()
            .filter(|t| *t != Topic::Etcd)
            .collect();
        for topic in topics {
            self.running.remove(&topic);
            self.world.lost(topic);
        }
    }

    /// Starts and stops watches so that exactly what is served now is watched. Says when to align again although nothing
    /// changed.
    pub async fn align(&mut self, apis: &mut Apis) -> Option<Instant> {
        let asked = self.world.read(etcd_of);
        if asked != self.etcd {
            self.follow_etcd(asked, apis);
        }
        let (calico, definitions) = self
            .world
            .read(|o| (form(&o.calico), o.calico.definitions.clone()));
        let calico = calico.filter(|form| self.etcd.is_none() && *form != CalicoApi::Etcd);
        let defined = |name: &str| definitions.contains(name);
        if calico != apis.calico {
            self.stop(|topic| {
                matches!(
                    topic,
                    Topic::Calico(_)
                        | Topic::Blocks
                        | Topic::Affinities
                        | Topic::ClusterInformation
                        | Topic::BgpConfiguration
                        | Topic::BgpPeers
                        | Topic::Reservations
                        | Topic::HostEndpoints
                        | Topic::KubeControllers
                )
            });
            apis.calico = calico;
        }
        self.read_blocks_anew();
        let migrations = defined(MIGRATIONS);
        self.discover(migrations, apis).await;
        let mut wanted = base();
        wanted.extend(defined(INSTALLATIONS).then_some(Topic::Installation));
        wanted.extend(defined(TIGERA_STATUSES).then_some(Topic::TigeraStatus));
        wanted.extend(migrations.then_some(Topic::Migrations));
        if calico.is_some() {
            wanted.extend(CALICO);
        }
        let listed = V1_EMPTY.iter().all(|topic| self.world.is_listed(*topic));
        if listed && self.world.read(|o| is_v1_empty(&o.calico)) {
            wanted.extend([Topic::PoolsInV3, Topic::InformationInV3]);
        }
        wanted.extend(self.world.read(of_network));
        wanted.extend(self.etcd.is_some().then_some(Topic::Etcd));
        self.stop(|topic| !wanted.contains(&topic));
        for topic in &wanted {
            self.start(*topic, apis);
        }
        self.world.want(wanted);
        self.discovery.at()
    }

    /// Finds the version of `DatastoreMigration`, which is watched in any case: while the version is not known, be it that
    /// discovery fails or that a new definition is not served yet, that there is a migration cannot be ruled out.
    async fn discover(&mut self, defined: bool, apis: &mut Apis) {
        if !defined {
            apis.migration_version = None;
        }
        if !defined || apis.migration_version.is_some() {
            self.discovery.done(None);
            return;
        }
        if self.discovery.waits(Instant::now()) {
            return;
        }
        match served_version(apis, wn_api::calico::GROUP_MIGRATION).await {
            Ok(Some(version)) => {
                apis.migration_version = Some(version);
                self.discovery.done(None);
            }
            Ok(None) => {
                self.discovery.failed(false);
                self.unserved("its definition is not served yet");
            }
            Err(error) => {
                let pause = self.discovery.failed(false);
                warn!(%error, ?pause, "discovery failed, trying again");
                self.unserved("discovery failed");
            }
        }
    }

    fn unserved(&self, error: &str) {
        let unread = Unread {
            objects: MIGRATIONS.to_owned(),
            error: error.to_owned(),
            forbidden: false,
            can_be_lacking: Topic::Migrations.can_be_lacking(),
        };
        self.world.failed(Topic::Migrations, unread);
    }

    /// Whether a block has an address left depends on the reservations, and which addresses are free is not kept:
    /// reservations change rarely, free addresses with every pod.
    fn read_blocks_anew(&mut self) {
        let changed = self.world.read(|o| {
            let now = &o.calico.reservations;
            (*now != self.reservations).then(|| now.clone())
        });
        if let Some(reservations) = changed {
            self.stop(|topic| topic == Topic::Blocks);
            self.reservations = reservations;
        }
    }

    /// Follows another etcd, or none. Nothing that is known of Calico is of the new one.
    fn follow_etcd(&mut self, asked: Option<Etcd>, apis: &mut Apis) {
        self.stop(|topic| topic == Topic::Etcd || CALICO.contains(&topic));
        apis.calico = None;
        TOPICS.into_iter().for_each(|topic| self.world.forget(topic));
        self.world.set_etcd(None);
        apis.etcd = asked.as_ref().map(|etcd| {
            let pulse = self.metrics.watch(label(Topic::Etcd));
            let (world, client) = (self.world.clone(), pulse.client(apis.client()));
            let (link, tasks) = follow(etcd, client, apis.namespace(), world, pulse);
            self.running.insert(Topic::Etcd, tasks);
            link
        });
        self.etcd = asked;
    }

    fn stop(&mut self, which: impl Fn(Topic) -> bool) {
        let topics: Vec<_> = self.running.keys().copied().filter(|t| which(*t)).collect();
        for topic in topics {
            self.running.remove(&topic);
            self.world.forget(topic);
        }
    }

    fn start(&mut self, topic: Topic, apis: &Apis) {
        let world = &self.world;
        let metrics = &self.metrics;
        // Begins when its version is known.
        if topic == Topic::Migrations && apis.migration_version.is_none() {
            return;
        }
        self.running.entry(topic).or_insert_with(|| {
            let mut task = JoinSet::new();
            let pulse = metrics.watch(label(topic));
            let client = pulse.client(apis.client());
            if matches!(topic, Topic::Definition(_)) {
                // Metadata only: the definition of FelixConfiguration alone is 90 KB.
                let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client);
                task.spawn(Feed::new(topic, api, world, metrics, pulse).for_ever());
            } else {
                let mut spawn = Spawn {
                    task: &mut task,
                    topic,
                    client,
                    apis,
                    world,
                    metrics,
                    pulse,
                };
                match topic {
                    Topic::Nodes => spawn.of::<Seen<Nodes>>(),
                    Topic::LinuxNodes => spawn.of::<Seen<LinuxNodes>>(),
                    Topic::Pods => spawn.of::<Seen<Pods>>(),
                    Topic::Failures => spawn.of::<Seen<Failures>>(),
                    Topic::Blocks => spawn.of::<Seen<Blocks>>(),
                    Topic::Affinities => spawn.of::<Seen<Affinities>>(),
                    _ => spawn.of::<DynamicObject>(),
                }
            }
            task
        });
    }
}

/// What tells whether v1 has anything in it.
const V1_EMPTY: [Topic; 2] = [Topic::Calico(ConfigKind::IpPool), Topic::ClusterInformation];

const CALICO: [Topic; 11] = [
    Topic::Calico(ConfigKind::IpamConfiguration),
    Topic::Calico(ConfigKind::IpPool),
    Topic::Calico(ConfigKind::FelixConfiguration),
    Topic::Blocks,
    Topic::Affinities,
    Topic::ClusterInformation,
    Topic::BgpConfiguration,
    Topic::BgpPeers,
    Topic::Reservations,
    Topic::HostEndpoints,
    Topic::KubeControllers,
];

/// What only some network types read; flannel's configuration also as long as it is to be given back.
fn of_network(observed: &Observed) -> Vec<Topic> {
    let config = observed.config.as_ref().map(Config::object);
    let profile = config.map(|c| network::of(c.spec.network.type_));
    let flannel = profile.is_some_and(|p| p.config == Some(ConfigKind::FlannelConfiguration));
    let held = observed
        .originals()
        .iter()
        .any(|o| o.kind == ConfigKind::FlannelConfiguration);
    let sources = profile.map_or(&[][..], |p| p.sources);
    let sources = sources.iter().copied().map(Topic::Source);
    (flannel || held)
        .then_some(Topic::Flannel)
        .into_iter()
        .chain(sources)
        .collect()
}

/// The etcd that the spec says holds Calico.
fn etcd_of(observed: &Observed) -> Option<Etcd> {
    let datastore = &observed.config.as_ref()?.object().spec.calico.datastore;
    let etcd = datastore.etcd.as_ref();
    etcd.filter(|_| datastore.type_ == DatastoreType::Etcd).cloned()
}

fn base() -> BTreeSet<Topic> {
    let always = [
        Topic::Config,
        Topic::Nodes,
        Topic::LinuxNodes,
        Topic::Pods,
        Topic::Failures,
        Topic::DaemonSets,
        Topic::ConfigMaps,
        Topic::Typha,
    ];
    let sources = SOURCES.map(Topic::Source);
    always
        .into_iter()
        .chain(sources)
        .chain((0..DEFINITIONS.len()).map(Topic::Definition))
        .collect()
}

/// The API server's preferred version of a group; `None` when it does not serve the group.
async fn served_version(apis: &Apis, group: &str) -> kube::Result<Option<String>> {
    let groups = apis.client().list_api_groups().await?;
    let found = groups.groups.into_iter().find(|g| g.name == group);
    Ok(found.and_then(|found| {
        let preferred = found.preferred_version.map(|v| v.version);
        preferred.or_else(|| Some(found.versions.first()?.version.clone()))
    }))
}

/// What a watch needs to be spawned.
struct Spawn<'a> {
    task: &'a mut JoinSet<()>,
    topic: Topic,
    client: Client,
    apis: &'a Apis,
    world: &'a Arc<World>,
    metrics: &'a Arc<Metrics>,
    pulse: Arc<Pulse>,
}

impl Spawn<'_> {
    fn of<K>(&mut self)
    where
        K: Watched + Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        if let Some(api) = api_through::<K>(self.client.clone(), self.topic, self.apis) {
            let feed = Feed::new(self.topic, api, self.world, self.metrics, self.pulse.clone());
            self.task.spawn(feed.for_ever());
        }
    }
}

/// The API of a topic by another client.
fn api_through<K>(client: Client, topic: Topic, apis: &Apis) -> Option<Api<K>>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    let (api, resource) = (apis.api(topic)?, apis.resource(topic)?);
    Some(match api.namespace() {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    })
}

/// What metrics call a watch.
fn label(topic: Topic) -> String {
    match topic {
        Topic::Definition(i) => DEFINITIONS[i].to_owned(),
        Topic::Calico(kind) => kind.as_str().to_owned(),
        Topic::Source(source) => format!("{source:?}"),
        Topic::Config
        | Topic::Nodes
        | Topic::LinuxNodes
        | Topic::Pods
        | Topic::DaemonSets
        | Topic::ConfigMaps
        | Topic::Installation
        | Topic::TigeraStatus
        | Topic::Migrations
        | Topic::PoolsInV3
        | Topic::InformationInV3
        | Topic::Blocks
        | Topic::Affinities
        | Topic::ClusterInformation
        | Topic::Etcd
        | Topic::Announced
        | Topic::BgpConfiguration
        | Topic::BgpPeers
        | Topic::Typha
        | Topic::Reservations
        | Topic::HostEndpoints
        | Topic::KubeControllers
        | Topic::Failures
        | Topic::Flannel => format!("{topic:?}"),
    }
}

/// Objects in one answer to a list: the whole answer is in memory at once, and what it takes at its peak is not
/// given back.
const PAGE: u32 = 100;

/// One watch.
struct Feed<K> {
    topic: Topic,
    api: Api<K>,
    world: Arc<World>,
    metrics: Arc<Metrics>,
    pulse: Arc<Pulse>,
    /// How long a watch is refused before what it told is out of date.
    patience: std::time::Duration,
}

impl<K: Watched> Feed<K> {
    fn new(topic: Topic, api: Api<K>, world: &Arc<World>, metrics: &Arc<Metrics>, pulse: Arc<Pulse>) -> Self {
        Self {
            topic,
            api,
            world: world.clone(),
            metrics: metrics.clone(),
            pulse,
            patience: PATIENCE,
        }
    }

    /// Feeds the watch into the world. It never ends; should it do so, by a panic, it is started again and lists anew.
    async fn for_ever(self) {
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

    async fn run(&self) {
        loop {
            self.watch().await;
            // Listed anew, so that the plan is told what the list fails for, and when it succeeds.
            self.world.lost(self.topic);
        }
    }

    /// Returns when the right to watch was taken away.
    async fn watch(&self) {
        let (topic, world) = (self.topic, &self.world);
        let backoff = watcher::DefaultBackoff::default();
        let selection = apis::selection(topic).page_size(PAGE);
        let events = StreamBackoff::new(watcher(self.api.clone(), selection), backoff);
        let mut list = List::default();
        let mut events = std::pin::pin!(events);
        loop {
            match events.try_next().await {
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
                }
            }
        }
    }

    /// What the API server said, without what changes from try to try.
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
            can_be_lacking: self.topic.can_be_lacking(),
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
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

/// A watch that went well for so long is not one that ends again and again.
const STEADY: std::time::Duration = std::time::Duration::from_mins(10);

/// A list while it arrives.
struct List {
    begun: Instant,
    seen: BTreeSet<Key>,
}

impl Default for List {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            seen: BTreeSet::new(),
        }
    }
}

/// An object a watch brings.
trait Watched: Resource + Clone + Debug + DeserializeOwned + Send + 'static {
    fn put(self, origin: Origin, topic: Topic, world: &World);
}

impl<N: Numerous> Watched for Seen<N> {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        let version = version(&self);
        world.put_fact(origin, topic, key(&self), version, self.fact);
    }
}

impl Watched for DynamicObject {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        put(origin, topic, &self, world);
    }
}

impl Watched for PartialObjectMeta<CustomResourceDefinition> {
    fn put(self, origin: Origin, topic: Topic, world: &World) {
        put(origin, topic, &self, world);
    }
}

fn handle<K: Watched>(topic: Topic, event: Event<K>, list: &mut List, world: &World) {
    match event {
        Event::Init => *list = List::default(),
        Event::InitApply(object) => {
            list.seen.insert(key(&object));
            object.put(Origin::List(list.begun), topic, world);
        }
        Event::InitDone => world.listed(topic, &std::mem::take(&mut list.seen)),
        Event::Apply(object) => object.put(Origin::Watch, topic, world),
        Event::Delete(object) => world.deleted(topic, &key(&object), version(&object)),
    }
}

fn version<K: Resource>(object: &K) -> u64 {
    super::number(object.meta().resource_version.as_deref())
}

fn key<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

fn put<K: Serialize>(origin: Origin, topic: Topic, object: &K, world: &World) {
    match serde_json::to_value(object) {
        Ok(value) => world.put_from(origin, topic, &value),
        Err(error) => warn!(?topic, %error, "an object could not be read"),
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
mod tests {
    use super::*;
    use axum::http::{Request, Response};
    use kube::client::Body;
    use std::time::Duration;
    use tower::BoxError;

    #[tokio::test]
    async fn trying_is_no_sign_of_life() {
        let deaf = tower::service_fn(async |_: Request<Body>| {
            Err::<Response<Body>, BoxError>(BoxError::from("no answer"))
        });
        let apis = Apis::new(Client::new(deaf, "default"), "operator");
        let metrics = Metrics::new();
        let pulse = metrics.watch(label(Topic::Nodes));
        let api = api_through::<Seen<Nodes>>(pulse.client(apis.client()), Topic::Nodes, &apis).unwrap();
        let world = Arc::new(World::new("operator"));
        tokio::time::sleep(Duration::from_millis(50)).await;
        let feed = Feed::new(Topic::Nodes, api, &world, &metrics, pulse.clone());
        let tries = feed.for_ever();
        assert!(
            tokio::time::timeout(Duration::from_millis(20), tries)
                .await
                .is_err()
        );
        let text = metrics.text();
        let age = text
            .lines()
            .filter(|l| l.contains("watch_age"))
            .find_map(|l| l.rsplit_once("{topic=\"Nodes\"} "))
            .unwrap()
            .1;
        assert!(age.parse::<f64>().unwrap() > 0.05, "heard of {age} s ago");
    }

    fn answer(code: u16, body: &serde_json::Value) -> Response<Body> {
        let body = Body::from(body.to_string().into_bytes());
        Response::builder().status(code).body(body).unwrap()
    }

    /// A panic, of a reader say, ends neither the watch nor its series.
    #[tokio::test]
    async fn a_watch_that_panics_is_started_again() {
        let tries = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = tries.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let list = serde_json::json!({
                "kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"name": "a", "resourceVersion": "1"}}],
            });
            async move { Ok::<_, std::convert::Infallible>(answer(200, &list)) }
        });

        /// An object that nobody can take in.
        #[derive(Clone, Debug, serde::Deserialize)]
        struct Poison(DynamicObject);
        impl Resource for Poison {
            type DynamicType = ApiResource;
            type Scope = DynamicResourceScope;
            fn kind(r: &ApiResource) -> std::borrow::Cow<'_, str> {
                DynamicObject::kind(r)
            }
            fn group(r: &ApiResource) -> std::borrow::Cow<'_, str> {
                DynamicObject::group(r)
            }
            fn version(r: &ApiResource) -> std::borrow::Cow<'_, str> {
                DynamicObject::version(r)
            }
            fn plural(r: &ApiResource) -> std::borrow::Cow<'_, str> {
                DynamicObject::plural(r)
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                self.0.meta()
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                self.0.meta_mut()
            }
        }
        impl Watched for Poison {
            fn put(self, _: Origin, _: Topic, _: &World) {
                panic!("poisoned");
            }
        }

        let apis = Apis::new(Client::new(service, "default"), "operator");
        let metrics = Metrics::new();
        let pulse = metrics.watch(label(Topic::Nodes));
        let api = api_through::<Poison>(apis.client(), Topic::Nodes, &apis).unwrap();
        let world = Arc::new(World::new("operator"));
        let feed = Feed::new(Topic::Nodes, api, &world, &metrics, pulse.clone());
        let _ = tokio::time::timeout(Duration::from_millis(1500), feed.for_ever()).await;
        assert!(
            tries.load(std::sync::atomic::Ordering::Relaxed) >= 2,
            "it lists again"
        );
        let text = metrics.text();
        let restarts = "windows_node_operator_watch_restarts_total{topic=\"Nodes\"} ";
        let counted = text.lines().find_map(|l| l.strip_prefix(restarts)).unwrap();
        assert!(counted.parse::<u32>().unwrap() >= 1, "{counted}");
    }

    /// The right to a watch that went well is taken away, and comes back.
    #[tokio::test]
    async fn a_watch_that_is_refused_later_is_told() {
        let allowed = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let allows = allowed.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let list = serde_json::json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
            let refused =
                serde_json::json!({"kind": "Status", "status": "Failure", "message": "no", "code": 403});
            let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
            let answer = match allows.load(std::sync::atomic::Ordering::Relaxed) && !watch {
                true => answer(200, &list),
                false => answer(403, &refused),
            };
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        let apis = Apis::new(Client::new(service, "default"), "operator");
        let metrics = Metrics::new();
        let pulse = metrics.watch(label(Topic::Nodes));
        let api = api_through::<Seen<Nodes>>(pulse.client(apis.client()), Topic::Nodes, &apis).unwrap();
        let world = Arc::new(World::new("operator"));
        world.want([Topic::Nodes].into());
        let mut feed = Feed::new(Topic::Nodes, api, &world, &metrics, pulse.clone());
        feed.patience = Duration::from_millis(100);
        let told = async |expected: bool| {
            while world.read(|o| o.unread.iter().any(|u| u.forbidden)) != expected {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let checks = async {
            while !world.is_listed(Topic::Nodes) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            allowed.store(false, std::sync::atomic::Ordering::Relaxed);
            told(true).await;
            allowed.store(true, std::sync::atomic::Ordering::Relaxed);
            told(false).await;
        };
        tokio::select! {
            () = feed.for_ever() => {}
            done = tokio::time::timeout(Duration::from_mins(1), checks) => done.expect("it is told"),
        }
    }

    #[test]
    fn objects_are_named_as_in_a_role() {
        for (url, name) in [
            ("/api/v1/nodes", "nodes"),
            ("/api/v1/namespaces/kube-system/configmaps", "configmaps"),
            ("/apis/apps/v1/deployments", "deployments.apps"),
        ] {
            assert_eq!(objects(url), name);
        }
    }

    /// A definition whose group is not in the answer of discovery, or an answer that fails, is no absence.
    #[tokio::test]
    async fn a_failed_discovery_is_no_absence() {
        for groups in [
            None,
            Some(serde_json::json!({"kind": "APIGroupList", "groups": []})),
        ] {
            let service = tower::service_fn(move |_: Request<Body>| {
                let answer = groups.as_ref().map_or_else(
                    || answer(500, &serde_json::json!({"kind": "Status", "status": "Failure", "message": "no", "code": 500})),
                    |groups| answer(200, groups),
                );
                async move { Ok::<_, std::convert::Infallible>(answer) }
            });
            let mut apis = Apis::new(Client::new(service, "default"), "operator");
            let world = Arc::new(World::new("operator"));
            let migrations = DEFINITIONS.iter().position(|d| *d == MIGRATIONS).unwrap();
            let definition = serde_json::json!({"metadata": {"name": MIGRATIONS, "resourceVersion": "1"}});
            world.put(Topic::Definition(migrations), &definition);
            let mut watches = Watches::new(world.clone(), Metrics::new());
            let again = watches.align(&mut apis).await;
            assert!(again.is_some_and(|at| at > Instant::now()), "it is asked again");
            assert!(
                world.missing().contains(&"Migrations".to_owned()),
                "and waited for"
            );
        }
    }
}
