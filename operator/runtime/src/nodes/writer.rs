//! Writes marks to Nodes beside the passes: the latest wish of each node wins, a few at a time, and when the
//! API server pushes back all wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tracing::{debug, warn};
use wn_api::names::annotations::{HNS_NETWORK, TAINTED};
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::names::{NODE_CONDITION, managers};
use wn_plan::node::Marks;
use wn_plan::observed::{NetworkMade, Said};

use super::taint;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::world::{Topic, World};

/// Requests under way at once: enough to mark hundreds of nodes a second, far from what an API server minds.
const CONCURRENCY: usize = 8;
/// How long all wait after a refusal that names no time.
const PAUSE: Duration = Duration::from_secs(1);

pub struct Writer {
    queue: Mutex<Queue>,
    wake: Notify,
}

#[derive(Default)]
struct Queue {
    wishes: BTreeMap<String, Marks>,
    /// Nodes being written to: a newer wish waits, so that the older one never lands last.
    busy: BTreeSet<String>,
    /// The API server pushed back.
    paused: bool,
}

impl Queue {
    fn next(&mut self) -> Option<(String, Marks)> {
        if self.paused {
            return None;
        }
        let node = self
            .wishes
            .keys()
            .find(|node| !self.busy.contains(*node))?
            .clone();
        self.busy.insert(node.clone());
        self.wishes.remove_entry(&node)
    }
}

/// What the tasks of the writer share.
struct Means {
    api: Api<Node>,
    world: Arc<World>,
    events: Arc<Events>,
    metrics: Arc<Metrics>,
}

enum Outcome {
    Done,
    /// Try again after this time; a lost race at once.
    Again(Duration),
}

impl Writer {
    pub fn new() -> Self {
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be written to a Node from now on; nothing takes an earlier wish back.
    pub fn want(&self, node: &str, marks: Marks) {
        if marks.is_nothing() {
            self.lock().wishes.remove(node);
        } else {
            self.lock().wishes.insert(node.to_owned(), marks);
            self.wake.notify_one();
        }
    }

    pub fn clear(&self) {
        self.lock().wishes.clear();
    }

    /// Resolves when no write is under way.
    pub async fn rest(&self) {
        const POLL: Duration = Duration::from_millis(10);
        while !self.lock().busy.is_empty() {
            tokio::time::sleep(POLL).await;
        }
    }

    pub async fn run(
        self: Arc<Self>,
        client: Client,
        world: Arc<World>,
        events: Arc<Events>,
        metrics: Arc<Metrics>,
    ) {
        let means = Means {
            api: Api::all(client),
            world,
            events,
            metrics,
        };
        loop {
            let wishes = futures::stream::iter(std::iter::from_fn(|| self.lock().next()));
            let pause = wishes
                .map(|(node, marks)| self.one(&means, node, marks))
                .buffer_unordered(CONCURRENCY)
                .fold(None, async |longest: Option<Duration>, pause| longest.max(pause))
                .await;
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => self.wake.notified().await,
            }
            self.lock().paused = false;
        }
    }

    /// Writes one; says how long all wait when it is to be tried again.
    async fn one(&self, means: &Means, node: String, marks: Marks) -> Option<Duration> {
        let outcome = write(means, &node, &marks).await;
        let mut queue = self.lock();
        queue.busy.remove(&node);
        match outcome {
            Outcome::Done => None,
            Outcome::Again(pause) => {
                queue.paused |= pause > Duration::ZERO;
                // A newer wish wins.
                queue.wishes.entry(node).or_insert(marks);
                Some(pause)
            }
        }
    }
}

/// The taint first: a node without our condition is one that was never seen, see `wn_plan::node::marks`.
async fn write(means: &Means, node: &str, marks: &Marks) -> Outcome {
    if marks.leave {
        return leave(means, node).await;
    }
    if let Some(group) = marks.group {
        match label(&means.api, node, group).await {
            Ok(stored) => take_in(means, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    if let Some(set) = marks.taint {
        match taint::write(&means.api, node, set).await {
            Ok(stored) => take_in(means, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    let stored = |said: &Said| {
        means.world.read(|o| {
            let facts = o.nodes.get(node);
            facts.is_some_and(|n| n.says(said) && n.network_made == marks.network_made)
        })
    };
    // Judged again while it was being written, it was wished for once more.
    if let Some(said) = marks.condition.as_ref().filter(|said| !stored(said)) {
        match say(&means.api, node, Some(said), marks.network_made.as_ref()).await {
            Ok(stored) => {
                means.metrics.node_condition_written();
                take_in(means, &stored);
            }
            Err(error) => return judge(node, &error),
        }
        // After the condition: what is stored is what was announced, also after a restart of ours.
        if marks.told {
            means.events.on_node(node, said).await;
        }
    }
    Outcome::Done
}

/// Most nodes that are no Windows nodes any more are no nodes any more.
async fn leave(means: &Means, node: &str) -> Outcome {
    let left = async {
        let Some(found) = means.api.get_opt(node).await? else {
            return Ok(());
        };
        let left = Left {
            tainted: found.annotations().contains_key(TAINTED),
            labelled: found.labels().contains_key(KUBE_PROXY_GROUP),
        };
        unmark(&means.api, node, left).await
    };
    left.await
        .map_or_else(|error| judge(node, &error), |()| Outcome::Done)
}

fn take_in(means: &Means, stored: &Node) {
    if let Ok(value) = serde_json::to_value(stored) {
        means.world.put(Topic::Nodes, &value);
    }
}

/// Sets the label of the node's group, or takes it off.
async fn label(api: &Api<Node>, node: &str, group: Option<&str>) -> Result<Node, kube::Error> {
    let body = json!({ "metadata": { "labels": { (KUBE_PROXY_GROUP): group } } });
    let params = PatchParams {
        field_manager: Some(managers::NODE.to_owned()),
        ..PatchParams::default()
    };
    api.patch(node, &params, &Patch::Merge(body)).await
}

/// Applies our condition and annotation, or takes them back: what we applied before and do not name any more goes.
/// The API server takes annotations of a Node through its status, as from Calico.
async fn say(
    api: &Api<Node>,
    node: &str,
    said: Option<&Said>,
    network: Option<&NetworkMade>,
) -> Result<Node, kube::Error> {
    let second = |at: Option<Timestamp>| at.and_then(|at| Timestamp::from_second(at.as_second()).ok());
    let conditions: Vec<Value> = said
        .map(|said| {
            json!({
                "type": NODE_CONDITION,
                "status": said.status,
                "reason": said.reason,
                "message": said.message,
                "lastTransitionTime": second(said.since),
                "lastHeartbeatTime": second(said.heartbeat),
            })
        })
        .into_iter()
        .collect();
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": node },
        "status": { "conditions": conditions },
    });
    if let Some(network) = network {
        body["metadata"]["annotations"] = json!({ HNS_NETWORK: network.to_string() });
    }
    let params = PatchParams::apply(managers::NODE).force();
    api.patch_status(node, &params, &Patch::Apply(&body)).await
}

fn judge(node: &str, error: &kube::Error) -> Outcome {
    let kube::Error::Api(status) = error else {
        warn!(node, %error, "the API server does not take a node's condition, trying again");
        return Outcome::Again(PAUSE);
    };
    match status.code {
        // The node is gone, and its marks with it.
        404 => Outcome::Done,
        409 => Outcome::Again(Duration::ZERO),
        429 => {
            let asked = status.details.as_ref().map_or(0, |d| d.retry_after_seconds);
            debug!(node, asked, "the API server pushes back");
            Outcome::Again(PAUSE.max(Duration::from_secs(asked.into())))
        }
        _ => {
            warn!(node, %error, "a node's condition was refused, trying again");
            Outcome::Again(PAUSE)
        }
    }
}

/// What of ours is on a Node besides the condition.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    pub tainted: bool,
    /// It has the label of a group.
    pub labelled: bool,
}

/// Takes condition, taint and label of ours off a Node, for the day of deletion.
pub async fn unmark(api: &Api<Node>, node: &str, left: Left) -> Result<(), kube::Error> {
    let gone = |error: kube::Error| match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error),
    };
    if left.labelled {
        label(api, node, None).await.map(drop).or_else(gone)?;
    }
    if left.tainted {
        taint::write(api, node, false).await.map(drop).or_else(gone)?;
    }
    say(api, node, None, None).await.map(drop).or_else(gone)
}
