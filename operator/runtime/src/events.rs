//! Kubernetes Events on the `WindowsNodeConfig`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use kube_runtime::events::{Event, EventType, Recorder, Reporter};
use tracing::warn;
use wn_api::WindowsNodeConfig;
use wn_api::names::OPERATOR;

pub struct Events {
    client: Client,
    reporter: Reporter,
    /// A recorder counts Events of one reason as repetitions of the first and drops their notes, so each
    /// note has a recorder of its own; oldest first.
    recorders: Mutex<VecDeque<(String, Recorder)>>,
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
        self.publish(config, EventType::Normal, reason, note).await;
    }

    pub async fn warning(&self, config: &WindowsNodeConfig, reason: &str, note: String) {
        self.publish(config, EventType::Warning, reason, note).await;
    }

    /// An Event that cannot be written is logged: it must never stop the work it speaks of.
    async fn publish(&self, config: &WindowsNodeConfig, type_: EventType, reason: &str, note: String) {
        tracing::info!(reason, "{note}");
        let recorder = self.recorder(&note);
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = recorder.publish(&event, &reference(config)).await {
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
