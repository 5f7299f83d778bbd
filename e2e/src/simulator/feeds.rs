//! The watches.

use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Client, ResourceExt as _};
use kube_runtime::watcher::{Config, Error, Event, watcher};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use wn_api::calico::{CalicoApi, ConfigKind};

use super::cache::{AGENT, CalicoKind, Change, FLANNEL, KUBE_PROXY, KUBE_PROXY_NO_DSR, STATIC_ROUTES};

/// The agent's own loop tries again every second (`node-service.ps1`).
pub const RETRY: Duration = Duration::from_secs(1);

/// Watches of what every cluster has.
pub fn start(client: &Client, changes: &Sender<Change>, tasks: &mut JoinSet<()>) {
    let windows = Config::default().labels("kubernetes.io/os=windows");
    let agents = Config::default().labels(&format!(
        "k8s-app in ({AGENT},{KUBE_PROXY},{KUBE_PROXY_NO_DSR},{FLANNEL},{STATIC_ROUTES})"
    ));
    let kubernetes = Config::default().fields("metadata.name=kubernetes");
    let all = Config::default;
    let definitions = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    let definitions = watcher(definitions, all())
        .map(|event| event.map(|event| map(event, |definition| definition.name_any())));
    let nodes = watcher(Api::<Node>::all(client.clone()), windows).map(boxed);
    tasks.spawn(feed(nodes, changes.clone(), Change::Node));
    let pods = watcher(Api::<Pod>::all(client.clone()), agents).map(boxed);
    tasks.spawn(feed(pods, changes.clone(), Change::Pod));
    tasks.spawn(feed(
        watcher(Api::<ConfigMap>::all(client.clone()), all()).map(boxed),
        changes.clone(),
        Change::ConfigMap,
    ));
    tasks.spawn(feed(
        watcher(Api::<Service>::namespaced(client.clone(), "default"), kubernetes).map(boxed),
        changes.clone(),
        Change::Service,
    ));
    tasks.spawn(feed(definitions, changes.clone(), Change::Definition));
}

/// Watches of Calico's objects in one API. They outlive the definitions: a kind that is gone, or not
/// yet served, is asked for again every second.
pub fn start_calico(client: &Client, api: CalicoApi, changes: &Sender<Change>, tasks: &mut JoinSet<()>) {
    for object in [CalicoKind::IpamConfig, CalicoKind::Pool, CalicoKind::Block] {
        let stream = watcher(
            Api::all_with(client.clone(), &resource(api, object)),
            Config::default(),
        );
        let stream = stream.map(|event| event.map(|event| map(event, name_and_spec)));
        tasks.spawn(feed(stream, changes.clone(), move |event| {
            Change::Calico(api, object, event)
        }));
    }
}

pub fn resource(api: CalicoApi, object: CalicoKind) -> ApiResource {
    let (kind, plural) = match object {
        CalicoKind::IpamConfig => crate::objects::served(api, ConfigKind::IpamConfiguration),
        CalicoKind::Pool => crate::objects::served(api, ConfigKind::IpPool),
        CalicoKind::Block => ("IPAMBlock", "ipamblocks"),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(api.group(), api.version(), kind), plural)
}

fn name_and_spec(mut object: DynamicObject) -> (String, serde_json::Value) {
    (object.name_any(), object.data["spec"].take())
}

fn map<A, B>(event: Event<A>, f: impl Fn(A) -> B) -> Event<B> {
    match event {
        Event::Apply(object) => Event::Apply(f(object)),
        Event::Delete(object) => Event::Delete(f(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(f(object)),
        Event::InitDone => Event::InitDone,
    }
}

fn boxed<K>(event: Result<Event<K>, Error>) -> Result<Event<Box<K>>, Error> {
    event.map(|event| map(event, Box::new))
}

async fn feed<K: Debug>(
    events: impl Stream<Item = Result<Event<K>, Error>>,
    changes: Sender<Change>,
    wrap: impl Fn(Event<K>) -> Change,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                if changes.send(wrap(event)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "simulator: watch");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
