//! Kubernetes Events on the `WindowsNodeConfig`.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use kube_runtime::events::{Event, EventType, Recorder, Reporter};
use tracing::warn;
use wn_api::WindowsNodeConfig;
use wn_api::names::OPERATOR;

pub struct Events {
    recorder: Recorder,
}

/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1000;

impl Events {
    pub fn new(client: Client, instance: &str) -> Self {
        let reporter = Reporter { controller: OPERATOR.to_owned(), instance: Some(instance.to_owned()) };
        Self { recorder: Recorder::new(client, reporter) }
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
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &reference(config)).await {
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
