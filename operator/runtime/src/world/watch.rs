//! The watches: which run, and what they feed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::TryStreamExt;
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
use wn_api::spec::NetworkType;
use wn_api::spec::{DatastoreType, Etcd};
use wn_plan::calico::api::{form, is_v1_empty};
use wn_plan::observed::{Config, Key, Observed, Reservations, Source};

use super::seen::{Affinities, Blocks, Failures, LinuxNodes, Nodes, Numerous, Pods, Seen};
use super::topic::{DEFINITIONS, INSTALLATIONS, MIGRATIONS, SOURCES, TIGERA_STATUSES};
use super::{Apis, Topic, World, apis};
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
}

impl Watches {
    pub fn new(world: Arc<World>, metrics: Arc<Metrics>) -> Self {
        Self {
            world,
            metrics,
            running: BTreeMap::new(),
            reservations: Reservations::new(),
            etcd: None,
        }
    }

    /// Starts and stops watches so that exactly what is served now is watched.
    pub async fn align(&mut self, apis: &mut Apis) {
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
        if !defined(MIGRATIONS) {
            apis.migration_version = None;
        } else if apis.migration_version.is_none() {
            apis.migration_version = served_version(apis, wn_api::calico::GROUP_MIGRATION).await;
        }
        let mut wanted = base();
        let migrations = apis.migration_version.is_some();
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
        self.running.entry(topic).or_insert_with(|| {
            let mut task = JoinSet::new();
            let pulse = metrics.watch(label(topic));
            let client = pulse.client(apis.client());
            if matches!(topic, Topic::Definition(_)) {
                // Metadata only: the definition of FelixConfiguration alone is 90 KB.
                let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client);
                task.spawn(feed(topic, api, world.clone(), pulse));
            } else {
                match topic {
                    Topic::Nodes => spawn::<Seen<Nodes>>(&mut task, topic, client, apis, world, pulse),
                    Topic::LinuxNodes => {
                        spawn::<Seen<LinuxNodes>>(&mut task, topic, client, apis, world, pulse)
                    }
                    Topic::Pods => spawn::<Seen<Pods>>(&mut task, topic, client, apis, world, pulse),
                    Topic::Failures => spawn::<Seen<Failures>>(&mut task, topic, client, apis, world, pulse),
                    Topic::Blocks => spawn::<Seen<Blocks>>(&mut task, topic, client, apis, world, pulse),
                    Topic::Affinities => {
                        spawn::<Seen<Affinities>>(&mut task, topic, client, apis, world, pulse)
                    }
                    _ => spawn::<DynamicObject>(&mut task, topic, client, apis, world, pulse),
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
    let network = config.map(|c| c.spec.network.type_);
    let flannel = matches!(
        network,
        Some(NetworkType::FlannelHostGateway | NetworkType::FlannelVxlan)
    );
    let held = observed
        .originals()
        .iter()
        .any(|o| o.kind == ConfigKind::FlannelConfiguration);
    let cloud = network == Some(NetworkType::CloudProvider);
    let topics = [
        (flannel || held, Topic::Flannel),
        (cloud, Topic::Source(Source::AmazonVpcCni)),
    ];
    topics
        .into_iter()
        .filter_map(|(wanted, topic)| wanted.then_some(topic))
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

/// The API server's preferred version of a group.
async fn served_version(apis: &Apis, group: &str) -> Option<String> {
    let groups = apis
        .client()
        .list_api_groups()
        .await
        .inspect_err(|error| warn!(%error, "discovery failed"))
        .ok()?;
    let found = groups.groups.into_iter().find(|g| g.name == group)?;
    found
        .preferred_version
        .map(|v| v.version)
        .or_else(|| Some(found.versions.first()?.version.clone()))
}

fn spawn<K>(
    task: &mut JoinSet<()>,
    topic: Topic,
    client: Client,
    apis: &Apis,
    world: &Arc<World>,
    pulse: Arc<Pulse>,
) where
    K: Watched + Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    if let Some(api) = api_through::<K>(client, topic, apis) {
        task.spawn(feed(topic, api, world.clone(), pulse));
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

/// Feeds one watch into the world, for ever.
async fn feed<K>(topic: Topic, api: Api<K>, world: Arc<World>, pulse: Arc<Pulse>)
where
    K: Watched,
{
    let backoff = watcher::DefaultBackoff::default();
    let events = StreamBackoff::new(watcher(api, apis::selection(topic).page_size(PAGE)), backoff);
    let mut seen = BTreeSet::<Key>::new();
    let mut events = std::pin::pin!(events);
    loop {
        match events.try_next().await {
            Ok(Some(event)) => {
                // Init is the intention to list, and comes with every try.
                if !matches!(event, Event::Init) {
                    pulse.beat();
                }
                handle(topic, event, &mut seen, &world);
            }
            Ok(None) => return,
            Err(error) if is_not_served(&error) => {
                debug!(?topic, "not served");
                world.listed(topic, &BTreeSet::new());
            }
            Err(error) => warn!(?topic, %error, "watch failed, trying again"),
        }
    }
}

/// An object a watch brings.
trait Watched: Resource + Clone + Debug + DeserializeOwned + Send + 'static {
    fn put(self, topic: Topic, world: &World);
}

impl<N: Numerous> Watched for Seen<N> {
    fn put(self, topic: Topic, world: &World) {
        let version = super::number(self.meta().resource_version.as_deref());
        world.put_fact(topic, key(&self), version, self.fact);
    }
}

impl Watched for DynamicObject {
    fn put(self, topic: Topic, world: &World) {
        put(topic, &self, world);
    }
}

impl Watched for PartialObjectMeta<CustomResourceDefinition> {
    fn put(self, topic: Topic, world: &World) {
        put(topic, &self, world);
    }
}

fn handle<K: Watched>(topic: Topic, event: Event<K>, seen: &mut BTreeSet<Key>, world: &World) {
    match event {
        Event::Init => seen.clear(),
        Event::InitApply(object) => {
            seen.insert(key(&object));
            object.put(topic, world);
        }
        Event::InitDone => world.listed(topic, &std::mem::take(seen)),
        Event::Apply(object) => object.put(topic, world),
        Event::Delete(object) => world.remove(topic, &key(&object)),
    }
}

fn key<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    (
        meta.namespace.clone().unwrap_or_default(),
        meta.name.clone().unwrap_or_default(),
    )
}

fn put<K: Serialize>(topic: Topic, object: &K, world: &World) {
    match serde_json::to_value(object) {
        Ok(value) => world.put(topic, &value),
        Err(error) => warn!(?topic, %error, "an object could not be read"),
    }
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
        let tries = feed(Topic::Nodes, api, world, pulse.clone());
        assert!(
            tokio::time::timeout(Duration::from_millis(20), tries)
                .await
                .is_err()
        );
        let text = metrics.text();
        let age = text
            .lines()
            .find_map(|l| l.rsplit_once("{topic=\"Nodes\"} "))
            .unwrap()
            .1;
        assert!(age.parse::<f64>().unwrap() > 0.05, "heard of {age} s ago");
    }
}
