//! The watches: which run, and what they feed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::TryStreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::{Api, PartialObjectMeta};
use kube_runtime::utils::StreamBackoff;
use kube_runtime::watcher::{self, Event, watcher};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tracing::{debug, warn};
use wn_api::calico::CalicoKind;
use wn_plan::calico::api::form;
use wn_plan::observed::Key;

use super::topic::{DEFINITIONS, INSTALLATIONS, MIGRATIONS, SOURCES};
use super::{Apis, Topic, World, apis};

/// The running watches; dropping them ends them.
pub struct Watches {
    world: Arc<World>,
    running: BTreeMap<Topic, JoinSet<()>>,
}

impl Watches {
    pub fn new(world: Arc<World>) -> Self {
        Self {
            world,
            running: BTreeMap::new(),
        }
    }

    /// Starts and stops watches so that exactly what is served now is watched.
    pub async fn align(&mut self, apis: &mut Apis) {
        let (calico, definitions) = self
            .world
            .read(|o| (form(&o.calico), o.calico.definitions.clone()));
        let defined = |name: &str| definitions.contains(name);
        if calico != apis.calico {
            self.stop(|topic| {
                matches!(
                    topic,
                    Topic::Calico(_) | Topic::Blocks | Topic::ClusterInformation
                )
            });
            apis.calico = calico;
        }
        if !defined(MIGRATIONS) {
            apis.migration_version = None;
        } else if apis.migration_version.is_none() {
            apis.migration_version = served_version(apis, wn_api::calico::GROUP_MIGRATION).await;
        }
        let mut wanted = base();
        let migrations = apis.migration_version.is_some();
        wanted.extend(defined(INSTALLATIONS).then_some(Topic::Installation));
        wanted.extend(migrations.then_some(Topic::Migrations));
        if calico.is_some() {
            wanted.extend(CALICO);
        }
        self.stop(|topic| !wanted.contains(&topic));
        for topic in &wanted {
            self.start(*topic, apis);
        }
        self.world.want(wanted);
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
        self.running.entry(topic).or_insert_with(|| {
            let mut task = JoinSet::new();
            if matches!(topic, Topic::Definition(_)) {
                // Metadata only: the definition of FelixConfiguration alone is 90 KB.
                let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(apis.client());
                task.spawn(feed(topic, api, world.clone()));
            } else if let Some(api) = apis.api(topic) {
                task.spawn(feed(topic, api, world.clone()));
            }
            task
        });
    }
}

const CALICO: [Topic; 5] = [
    Topic::Calico(CalicoKind::IpamConfiguration),
    Topic::Calico(CalicoKind::IpPool),
    Topic::Calico(CalicoKind::FelixConfiguration),
    Topic::Blocks,
    Topic::ClusterInformation,
];

fn base() -> BTreeSet<Topic> {
    let always = [
        Topic::Config,
        Topic::Nodes,
        Topic::Pods,
        Topic::DaemonSets,
        Topic::ConfigMaps,
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

/// Feeds one watch into the world, for ever.
async fn feed<K>(topic: Topic, api: Api<K>, world: Arc<World>)
where
    K: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
{
    let backoff = watcher::DefaultBackoff::default();
    let events = StreamBackoff::new(watcher(api, apis::selection(topic)), backoff);
    let mut seen = BTreeSet::<Key>::new();
    let mut events = std::pin::pin!(events);
    loop {
        match events.try_next().await {
            Ok(Some(event)) => handle(topic, event, &mut seen, &world),
            Ok(None) => return,
            Err(error) if is_not_served(&error) => {
                debug!(?topic, "not served");
                world.listed(topic, &BTreeSet::new());
            }
            Err(error) => warn!(?topic, %error, "watch failed, trying again"),
        }
    }
}

fn handle<K: Resource + Serialize>(topic: Topic, event: Event<K>, seen: &mut BTreeSet<Key>, world: &World) {
    match event {
        Event::Init => seen.clear(),
        Event::InitApply(object) => {
            seen.insert(key(&object));
            put(topic, &object, world);
        }
        Event::InitDone => world.listed(topic, seen),
        Event::Apply(object) => put(topic, &object, world),
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
