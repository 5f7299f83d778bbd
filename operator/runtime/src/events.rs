//! Kubernetes Events on the `WindowsNodeConfig` and on Nodes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use kube_runtime::events::{Event, EventType, Recorder, Reporter};
use tracing::warn;
use wn_api::WindowsNodeConfig;
use wn_api::names::OPERATOR;
use wn_api::reasons::events;
use wn_plan::observed::Said;

pub struct Events {
    client: Client,
    reporter: Reporter,
    /// A recorder counts Events of one reason as repetitions of the first and drops their notes, so each
    /// note has a recorder of its own; oldest first.
    recorders: Mutex<VecDeque<(String, Recorder)>>,
    budget: Mutex<Budget>,
}

/// Events on Nodes: when many change together, the one on the `WindowsNodeConfig` that counts them says it all.
struct Budget {
    left: u32,
    since: Instant,
}

/// As many at once, and one more a second.
const NODE_EVENTS: u32 = 20;

impl Budget {
    fn spend(&mut self) -> bool {
        let seconds = self.since.elapsed().as_secs();
        if seconds > 0 {
            self.since += Duration::from_secs(seconds);
            self.left = NODE_EVENTS.min(
                self.left
                    .saturating_add(u32::try_from(seconds).unwrap_or(NODE_EVENTS)),
            );
        }
        let allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        allowed
    }
}

/// Notes remembered: one that was forgotten is written as a new Event, not as a repetition.
const REMEMBERED: usize = 32;

/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1000;

impl Events {
    pub fn new(client: Client, instance: &str) -> Self {
        let reporter = Reporter {
            controller: OPERATOR.to_owned(),
            instance: Some(instance.to_owned()),
        };
        Self {
            client,
            reporter,
            recorders: Mutex::default(),
            budget: Mutex::new(Budget {
                left: NODE_EVENTS,
                since: Instant::now(),
            }),
        }
    }

    fn recorder(&self, note: &str) -> Recorder {
        let mut recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, recorder)) = recorders.iter().find(|(known, _)| known == note) {
            return recorder.clone();
        }
        if recorders.len() == REMEMBERED {
            recorders.pop_front();
        }
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        recorders.push_back((note.to_owned(), recorder.clone()));
        recorder
    }

    pub async fn normal(&self, config: &WindowsNodeConfig, reason: &str, note: String) {
        self.publish(&reference(config), EventType::Normal, reason, note)
            .await;
    }

    pub async fn warning(&self, config: &WindowsNodeConfig, reason: &str, note: String) {
        self.publish(&reference(config), EventType::Warning, reason, note)
            .await;
    }

    /// What began on a Node, or that it is over. Coming up is no event.
    pub async fn on_node(&self, node: &str, said: &Said) {
        let (type_, reason) = match said.status.as_str() {
            "True" => (EventType::Normal, events::NETWORK_READY),
            _ => (EventType::Warning, said.reason.as_str()),
        };
        let allowed = || self.budget.lock().unwrap_or_else(PoisonError::into_inner).spend();
        if allowed() {
            let regarding = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Node".to_owned()),
                name: Some(node.to_owned()),
                // As the kubelet does: `kubectl describe node` looks for both.
                uid: Some(node.to_owned()),
                ..ObjectReference::default()
            };
            self.publish(&regarding, type_, reason, said.message.clone())
                .await;
        }
    }

    /// An Event that cannot be written is logged: it must never stop the work it speaks of.
    async fn publish(&self, regarding: &ObjectReference, type_: EventType, reason: &str, note: String) {
        let on = regarding.name.as_deref().unwrap_or_default();
        tracing::info!(on, reason, "{note}");
        let recorder = self.recorder(&format!("{on} {note}"));
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = recorder.publish(&event, regarding).await {
            warn!(reason, %error, "Event not written");
        }
    }
}

fn reference(config: &WindowsNodeConfig) -> ObjectReference {
    ObjectReference {
        api_version: Some(WindowsNodeConfig::api_version(&()).into_owned()),
        kind: Some(WindowsNodeConfig::kind(&()).into_owned()),
        name: Some(config.name_any()),
        uid: config.uid(),
        ..ObjectReference::default()
    }
}
