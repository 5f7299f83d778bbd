//! Events on the objects of findings, one after the other.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::ListParams;
use tracing::warn;
use wn_api::calico::CalicoApi;
use wn_plan::lint::{Announcement, Published};
use wn_workloads::findings::Finding;

use crate::events::{Budget, Events};
use crate::kind::Kind;

/// As many at once as the status lists, and ten a minute: a large cluster may have thousands of findings.
const EVENTS: (u32, Duration) = (20, Duration::from_secs(6));

type Publishing = Pin<Box<dyn Future<Output = Option<Announcement>> + Send>>;

/// Publishes findings that were not published, the most severe first.
pub struct Announcer {
    client: Client,
    events: Arc<Events>,
    calico: Option<CalicoApi>,
    published: Published,
    budget: Budget,
    /// There may be something to publish.
    is_awake: bool,
    publishing: Option<Publishing>,
}

impl Announcer {
    pub fn new(client: Client, events: Arc<Events>, calico: Option<CalicoApi>, published: Published) -> Self {
        Self {
            client,
            events,
            calico,
            published,
            budget: Budget::new(EVENTS.0, EVENTS.1),
            is_awake: false,
            publishing: None,
        }
    }

    /// These are the findings now.
    pub fn found(&mut self, findings: &[Finding]) {
        self.published.retain(findings.iter());
        self.is_awake = true;
    }

    /// Resolves when [`Self::step`] has something to do. It may be dropped at any time.
    pub async fn due(&mut self) {
        if let Some(publishing) = &mut self.publishing {
            let announcement = publishing.await;
            self.publishing = None;
            if let Some(announcement) = announcement {
                self.published.mark(&announcement);
            }
        } else if self.is_awake {
            tokio::time::sleep_until(self.budget.next().into()).await;
        } else {
            std::future::pending().await
        }
    }

    /// Begins to publish the next one, if there is one and the budget allows it.
    pub fn step(&mut self, findings: &[Finding]) {
        if self.publishing.is_some() || !self.is_awake {
            return;
        }
        let Some(next) = self.published.next(findings.iter()) else {
            self.is_awake = false;
            return;
        };
        if self.budget.spend(Instant::now()) {
            let (client, events, calico) = (self.client.clone(), self.events.clone(), self.calico);
            self.publishing = Some(publish(client, events, calico, next).boxed());
        }
    }
}

/// Publishes an Event unless the object is gone. `None` if no API server answered: it is tried again.
async fn publish(
    client: Client,
    events: Arc<Events>,
    calico: Option<CalicoApi>,
    announcement: Announcement,
) -> Option<Announcement> {
    match try_publish(&client, &events, calico, &announcement).await {
        Ok(()) => {}
        Err(kube::Error::Api(status)) if status.code < 500 => {
            let Announcement { kind, name, .. } = &announcement;
            warn!(
                kind = kind.kind,
                name,
                error = status.message,
                "Event not written"
            );
        }
        Err(error) => {
            warn!(%error, "Event not written, trying again");
            return None;
        }
    }
    Some(announcement)
}

async fn try_publish(
    client: &Client,
    events: &Events,
    calico: Option<CalicoApi>,
    announcement: &Announcement,
) -> kube::Result<()> {
    let kind = calico.map_or(announcement.kind, |calico| {
        announcement.kind.in_group(calico.group())
    });
    let namespace = announcement.namespace.as_str();
    let api = Kind::from(kind).api(client, Some(namespace).filter(|name| !name.is_empty()));
    // A list of one object needs no other right than the watch has.
    let one = ListParams::default().fields(&format!("metadata.name={}", announcement.name));
    let found = api.list_metadata(&one).await?.items.pop();
    let Some(uid) = found.and_then(|object| object.metadata.uid) else {
        return Ok(());
    };
    let event = announcement.event_name(&uid);
    let regarding = ObjectReference {
        api_version: Some(kind.api_version()),
        kind: Some(kind.kind.to_owned()),
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        name: Some(announcement.name.clone()),
        uid: Some(uid),
        ..ObjectReference::default()
    };
    events
        .publish_once(regarding, event, announcement.news.clone())
        .await
}
