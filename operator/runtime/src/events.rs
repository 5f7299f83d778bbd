//! Kubernetes Events on the `WindowsNodeConfig` and on Nodes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use tracing::warn;
use wn_api::WindowsNodeConfig;
use wn_api::names::OPERATOR;
use wn_plan::news::{self, News};
use wn_plan::observed::NetworkCondition;

/// Publishes Events, as far as their budget allows.
pub struct Events {
    /// Events on cluster-scoped objects are in namespace `default`.
    api: Api<Event>,
    instance: String,
    /// The last Events, oldest first: an equal one is counted in its series.
    published: Mutex<VecDeque<Event>>,
    budget: Mutex<Budget>,
}

/// So many at once, and one more after each pause.
#[derive(Debug)]
pub struct Budget {
    most: u32,
    pause: Duration,
    left: u32,
    since: Instant,
}

impl Budget {
    pub fn new(most: u32, pause: Duration) -> Self {
        Self {
            most,
            pause,
            left: most,
            since: Instant::now(),
        }
    }

    /// Takes one if there is one.
    pub fn spend(&mut self, now: Instant) -> bool {
        let pauses = now.duration_since(self.since).as_nanos() / self.pause.as_nanos().max(1);
        let pauses = u32::try_from(pauses).unwrap_or(u32::MAX);
        if pauses > 0 {
            self.left = self.left.saturating_add(pauses).min(self.most);
            self.since = if self.left == self.most {
                now
            } else {
                self.since + self.pause * pauses
            };
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }

    /// When there is one to take at the latest.
    pub fn next(&self) -> Instant {
        if self.left > 0 {
            self.since
        } else {
            self.since + self.pause
        }
    }
}

/// Events on Nodes: when many change together, the one on the `WindowsNodeConfig` that counts them says it all.
const NODE_EVENTS: (u32, Duration) = (20, Duration::from_secs(1));

/// Events remembered; for one that was forgotten a new Event is created.
const REMEMBERED: usize = 32;

/// A series ends when there was no equal Event for that long, as with the recorders of client-go.
const SERIES: SignedDuration = SignedDuration::from_mins(6);

/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1000;

impl Events {
    /// `instance`: name of the pod, as `reportingInstance` of the Events.
    pub fn new(client: Client, instance: &str) -> Self {
        Self {
            api: Api::namespaced(client, "default"),
            instance: instance.to_owned(),
            published: Mutex::default(),
            budget: Mutex::new(Budget::new(NODE_EVENTS.0, NODE_EVENTS.1)),
        }
    }

    /// Publishes an Event on the `WindowsNodeConfig`.
    pub async fn publish(&self, config: &WindowsNodeConfig, news: News) {
        let regarding = ObjectReference {
            api_version: Some(WindowsNodeConfig::api_version(&()).into_owned()),
            kind: Some(WindowsNodeConfig::kind(&()).into_owned()),
            name: Some(config.name_any()),
            uid: config.uid(),
            ..ObjectReference::default()
        };
        self.publish_on(regarding, news).await;
    }

    /// Publishes what a stored condition says of a Node, as far as the budget allows.
    pub async fn publish_on_node(&self, node: &str, condition: &NetworkCondition) {
        let budget = || self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        if budget().spend(Instant::now()) {
            let regarding = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Node".to_owned()),
                name: Some(node.to_owned()),
                // As the kubelet does: `kubectl describe node` looks for both.
                uid: Some(node.to_owned()),
                ..ObjectReference::default()
            };
            self.publish_on(regarding, news::of_node(condition)).await;
        }
    }

    /// Creates an Event on an object of a user, unless one of that name exists.
    pub async fn publish_once(
        &self,
        regarding: ObjectReference,
        name: String,
        news: News,
    ) -> kube::Result<()> {
        let namespace = regarding
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let mut event = self.event(regarding, news, Timestamp::now());
        event.metadata.name = Some(name);
        let api: Api<Event> = Api::namespaced(self.api.clone().into_client(), &namespace);
        match api.create(&PostParams::default(), &event).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            created => created.map(drop),
        }
    }

    /// An Event that cannot be written is logged: it must never stop the work it reports.
    async fn publish_on(&self, regarding: ObjectReference, news: News) {
        let on = regarding.name.clone().unwrap_or_default();
        tracing::info!(on, reason = %news.reason, "{}", news.note);
        let now = Timestamp::now();
        let event = self.continued(self.event(regarding, news, now), now);
        let name = event.name_any();
        let written = match event.series {
            Some(_) => {
                let params = PatchParams::default();
                self.api.patch(&name, &params, &Patch::Merge(&event)).await
            }
            None => self.api.create(&PostParams::default(), &event).await,
        };
        match written {
            Ok(_) => self.remember(event),
            Err(error) => warn!(reason = event.reason, %error, "Event not written"),
        }
    }

    fn event(&self, regarding: ObjectReference, news: News, now: Timestamp) -> Event {
        let on = regarding.name.as_deref().unwrap_or_default();
        Event {
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(now)),
            metadata: ObjectMeta {
                name: Some(format!("{on}.{:x}", now.as_nanosecond())),
                ..ObjectMeta::default()
            },
            note: Some(news.note.chars().take(LONGEST_NOTE).collect()),
            reason: Some(news.reason.into_owned()),
            regarding: Some(regarding),
            reporting_controller: Some(OPERATOR.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(if news.warning { "Warning" } else { "Normal" }.to_owned()),
            ..Event::default()
        }
    }

    /// The known Event that is equal but for its time, counted once more; or else the new one.
    fn continued(&self, event: Event, now: Timestamp) -> Event {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let content = |e: &Event| {
            (
                e.regarding.clone(),
                e.type_.clone(),
                e.reason.clone(),
                e.note.clone(),
            )
        };
        let known = published.iter().find(|known| content(known) == content(&event));
        match known.filter(|known| last_time(known).is_some_and(|last| now.duration_since(last) < SERIES)) {
            Some(known) => Event {
                series: Some(EventSeries {
                    count: known.series.as_ref().map_or(1, |s| s.count) + 1,
                    last_observed_time: MicroTime(now),
                }),
                ..known.clone()
            },
            None => event,
        }
    }

    fn remember(&self, event: Event) {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.retain(|known| known.metadata.name != event.metadata.name);
        if published.len() == REMEMBERED {
            published.pop_front();
        }
        published.push_back(event);
    }
}

fn last_time(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().map(|s| s.last_observed_time.0);
    series.or_else(|| event.event_time.as_ref().map(|time| time.0))
}
