//! The watches: which of them run now. What they bring goes to the world.

mod claims;
pub mod feed;
pub mod parsed;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::DynamicResourceScope;
use kube::{Client, Resource};
use tokio::task::JoinSet;
use tracing::warn;
use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::spec::{DatastoreType, Etcd};
use wn_plan::calico::api::{in_use, is_v1_empty};
use wn_plan::network;
use wn_plan::observed::topic::MIGRATIONS;
use wn_plan::observed::{Config, Observed, Reservations, Topic};
use wn_plan::unread::Unread;

use crate::apis::Apis;
use crate::backoff::Retry;
use crate::metrics::Metrics;
use crate::store::etcd::{TOPICS, follow};
use crate::topics::{Watched, descriptor, label};
use crate::world::World;
use feed::{Feed, ToWorld};
use parsed::{Affinities, Blocks, Failures, LinuxNodes, Nodes, Parsed, Pods};

pub use claims::verify;

/// The running watches; dropping them ends them.
pub struct Watches {
    world: Arc<World>,
    metrics: Arc<Metrics>,
    running: BTreeMap<Topic, JoinSet<()>>,
    /// The reservations with which the blocks were read.
    reservations: Reservations,
    /// The etcd that is followed.
    etcd: Option<Etcd>,
    discovery: Retry,
    /// Each topic is listed once instead of watched.
    once: bool,
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
            once: false,
        }
    }

    /// Lists each topic once instead of watching it.
    pub fn once(world: Arc<World>, metrics: Arc<Metrics>) -> Self {
        Self {
            once: true,
            ..Self::new(world, metrics)
        }
    }

    /// Reads everything again. Until then the known facts stay, but no decision reads them.
    pub fn relist(&mut self) {
        let world = &self.world;
        self.running.retain(|topic, _| {
            let keep = *topic == Topic::Etcd;
            if !keep {
                world.lost(*topic);
            }
            keep
        });
    }

    /// Starts and stops watches so that exactly what is served now is watched. Says when to align again although nothing
    /// changed.
    pub async fn align(&mut self, apis: &mut Apis) -> Option<Instant> {
        let asked = self.world.read(etcd_of);
        if asked != self.etcd {
            self.follow_etcd(asked, apis);
        }
        let calico = self.world.read(|o| in_use(&o.calico));
        let calico = calico.filter(|calico_api| self.etcd.is_none() && *calico_api != CalicoApi::Etcd);
        if calico != apis.calico {
            self.stop(is_with_calico);
            apis.calico = calico;
        }
        self.read_blocks_anew();
        self.discover(apis).await;
        let wanted = self.wanted(apis);
        self.stop(|topic| !wanted.contains(&topic));
        for topic in &wanted {
            self.start(*topic, apis);
        }
        self.world.want(wanted);
        self.discovery.at()
    }

    /// The topics that are to be watched now.
    fn wanted(&self, apis: &Apis) -> BTreeSet<Topic> {
        let listed = V1_EMPTY.iter().all(|topic| self.world.is_listed(*topic));
        self.world.read(|observed| {
            let config = observed.config.as_ref().map(Config::object);
            let network = config.map(|c| network::of(c.spec.network.type_));
            let is_wanted = |topic: &Topic| match descriptor(*topic).watched {
                Watched::Always => true,
                Watched::Defined(name) => observed.calico.definitions.contains(name),
                Watched::WithCalico => apis.calico.is_some(),
                Watched::WithEmptyV1 => listed && is_v1_empty(&observed.calico),
                Watched::WithFlannel => {
                    let flannel = Some(ConfigKind::FlannelConfiguration);
                    network.is_some_and(|n| n.config == flannel) || is_flannel_changed(observed)
                }
                Watched::WithNetwork(source) => network.is_some_and(|n| n.sources.contains(&source)),
                Watched::WithEtcd => self.etcd.is_some(),
                Watched::Never => false,
            };
            Topic::all().filter(is_wanted).collect()
        })
    }

    /// Finds the version of `DatastoreMigration`, which is watched in any case: while the version is not known, be it that
    /// discovery fails or that a new definition is not served yet, that there is a migration cannot be ruled out.
    async fn discover(&mut self, apis: &mut Apis) {
        let defined = self.world.read(|o| o.calico.definitions.contains(MIGRATIONS));
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
            can_be_lacking: descriptor(Topic::Migrations).optional,
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
        self.stop(|topic| topic == Topic::Etcd || is_with_calico(topic));
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
        // Begins when its version is known.
        if topic == Topic::Migrations && apis.migration_version.is_none() || self.running.contains_key(&topic)
        {
            return;
        }
        match topic {
            Topic::Nodes => self.start_as::<Parsed<Nodes>>(topic, apis),
            Topic::LinuxNodes => self.start_as::<Parsed<LinuxNodes>>(topic, apis),
            Topic::Pods => self.start_as::<Parsed<Pods>>(topic, apis),
            Topic::Failures => self.start_as::<Parsed<Failures>>(topic, apis),
            Topic::Blocks => self.start_as::<Parsed<Blocks>>(topic, apis),
            Topic::Affinities => self.start_as::<Parsed<Affinities>>(topic, apis),
            // Metadata only: the definition of FelixConfiguration alone is 90 KB.
            Topic::Definition(_) => self.spawn(topic, apis, |client| {
                Some(Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client))
            }),
            _ => self.start_as::<DynamicObject>(topic, apis),
        }
    }

    fn start_as<K>(&mut self, topic: Topic, apis: &Apis)
    where
        K: feed::Incoming + Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        self.spawn(topic, apis, |client| apis.api_through::<K>(client, topic));
    }

    fn spawn<K>(&mut self, topic: Topic, apis: &Apis, api: impl FnOnce(Client) -> Option<Api<K>>)
    where
        K: feed::Incoming,
    {
        let pulse = self.metrics.watch(label(topic));
        let mut task = JoinSet::new();
        if let Some(api) = api(pulse.client(apis.client())) {
            let feed = Feed::new(api, ToWorld::new(topic, &self.world), &self.metrics, pulse);
            if self.once {
                task.spawn(feed.once());
            } else {
                task.spawn(feed.for_ever());
            }
        }
        self.running.insert(topic, task);
    }
}

/// Kinds that show whether v1 is empty.
const V1_EMPTY: [Topic; 2] = [Topic::Calico(ConfigKind::IpPool), Topic::ClusterInformation];

fn is_with_calico(topic: Topic) -> bool {
    descriptor(topic).watched == Watched::WithCalico
}

/// Is there an original value of flannel's configuration to restore?
fn is_flannel_changed(observed: &Observed) -> bool {
    let mut originals = observed.originals().into_iter();
    originals.any(|o| o.kind == ConfigKind::FlannelConfiguration)
}

/// The etcd that the spec says holds Calico.
fn etcd_of(observed: &Observed) -> Option<Etcd> {
    let datastore = &observed.config.as_ref()?.object().spec.calico.datastore;
    let etcd = datastore.etcd.as_ref();
    etcd.filter(|_| datastore.type_ == DatastoreType::Etcd).cloned()
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{Request, Response};
    use kube::client::Body;

    fn answer(code: u16, body: &serde_json::Value) -> Response<Body> {
        let body = Body::from(body.to_string().into_bytes());
        Response::builder().status(code).body(body).unwrap()
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
            let definition = serde_json::json!({"metadata": {"name": MIGRATIONS, "resourceVersion": "1"}});
            world.put(Topic::Definition(MIGRATIONS), &definition);
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
