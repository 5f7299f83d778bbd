//! What changes, as it changes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{StreamExt as _, stream::select};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube_runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;
use wn_api::names;

use crate::objects::{self, json, text};

/// What was printed already, and since when.
#[derive(Default)]
pub struct Live {
    shown: BTreeMap<String, String>,
    began: Option<Instant>,
}

impl Live {
    /// Prints every change of a condition, of a node's verdict and every Event of the CR until an object is
    /// seen that makes it `done`. Times count from the moment the CR was first seen.
    pub async fn until(
        &mut self,
        client: &Client,
        say: &dyn Fn(&str),
        done: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let one = watcher::Config::default().fields(&format!("metadata.name={}", names::SINGLETON));
        let configs = watcher(objects::configs(client), one)
            .default_backoff()
            .applied_objects();
        let events: Api<DynamicObject> = Api::namespaced_with(
            client.clone(),
            "default",
            &objects::resource("events.k8s.io", "v1", "Event", "events"),
        );
        let events = watcher(events, watcher::Config::default())
            .default_backoff()
            .applied_objects();
        let mut changes = std::pin::pin!(select(configs, events));
        let mut end = false;
        // The Events about the way there arrive a moment after the status.
        while let Some(object) = next(&mut changes, end).await {
            let Ok(object) = object else { continue };
            let object = json(&object)?;
            self.show(&object, say);
            end |= done(&object);
        }
        if end { Ok(()) } else { bail!("the watch ended") }
    }

    fn show(&mut self, object: &Value, say: &dyn Fn(&str)) {
        let since = *self.began.get_or_insert_with(Instant::now);
        let lines = if object["kind"] == "Event" {
            event(object)
        } else {
            config(object)
        };
        for (key, line) in lines {
            if self.shown.insert(key, line.clone()) != Some(line.clone()) {
                say(&format!("{:6.2} s  {line}", since.elapsed().as_secs_f32()));
            }
        }
    }
}

/// The next change; at the end, only those that come without a pause.
async fn next<S: futures::Stream + Unpin>(changes: &mut S, end: bool) -> Option<S::Item> {
    const PAUSE: Duration = Duration::from_millis(500);
    if end {
        tokio::time::timeout(PAUSE, changes.next()).await.ok().flatten()
    } else {
        changes.next().await
    }
}

pub fn is_ready(config: &Value) -> bool {
    let conditions = config.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Ready" && c["status"] == "True")
}

fn event(event: &Value) -> Vec<(String, String)> {
    let is_finding = text(event, "/reason") == "UnsupportedOnWindows";
    if text(event, "/regarding/kind") != names::KIND && !is_finding {
        return Vec::new();
    }
    // A repeated Event is the same object with another count.
    let again = match event.pointer("/series/count").and_then(Value::as_u64) {
        Some(count) => format!(" ({count} times)"),
        None => String::new(),
    };
    let line = format!(
        "Event      {}: {}{again}",
        text(event, "/reason"),
        text(event, "/note")
    );
    vec![(text(event, "/metadata/name").to_owned(), line)]
}

fn config(config: &Value) -> Vec<(String, String)> {
    let list = |pointer: &str| {
        config
            .pointer(pointer)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let conditions = list("/status/conditions")
        .into_iter()
        .filter(|c| c["type"] != "Reconciling")
        .map(|c| {
            let (type_, status) = (text(&c, "/type").to_owned(), text(&c, "/status"));
            let line = format!("Condition  {type_}={status} {}", text(&c, "/reason"));
            (type_, line)
        });
    let nodes = list("/status/nodes/list").into_iter().map(|n| {
        let name = text(&n, "/name").to_owned();
        let line = if n["ready"] == true {
            format!("Node       {name}: Ready")
        } else {
            format!(
                "Node       {name}: {}: {}",
                text(&n, "/reason"),
                text(&n, "/message")
            )
        };
        (name, line)
    });
    let findings = list("/status/workloads/list").into_iter().map(|f| {
        let key = format!("{} {}", text(&f, "/code"), text(&f, "/object"));
        let line = format!(
            "Finding    {} {key}: {}",
            text(&f, "/severity"),
            text(&f, "/message")
        );
        (key, line)
    });
    conditions.chain(nodes).chain(findings).collect()
}
