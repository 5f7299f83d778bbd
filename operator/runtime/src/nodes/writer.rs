//! Writes updates of Nodes beside the passes: only the latest update of each node is written, at most `CONCURRENCY` at a time, and
//! all wait when the API server answers 429.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
use wn_plan::deletion::NodeCleanup;
use wn_plan::node::NodeUpdate;
use wn_plan::observed::{NetworkCondition, NetworkMade, Topic};

use super::queue::{Outcome, Queue};
use super::taint;
use crate::apis::merge_as;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::world::World;

/// Requests under way at once: enough to update hundreds of nodes a second, and little load for an API server.
const CONCURRENCY: usize = 8;
/// Bounds in seconds of the pause after a 429: its `retryAfterSeconds`, clamped.
const PUSHED_BACK: (u32, u32) = (1, 30);

/// The queue of updates, and the task that writes them.
pub struct Writer {
    queue: Mutex<Queue>,
    wake: Notify,
}

/// What the tasks of the writer share.
struct Means {
    api: Api<Node>,
    world: Arc<World>,
    events: Arc<Events>,
    metrics: Arc<Metrics>,
}

impl Writer {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the update of a Node; an empty update cancels it.
    pub fn update(&self, node: &str, update: NodeUpdate) {
        if update.is_empty() {
            self.lock().cancel(node);
        } else {
            self.lock().put(node, update);
            self.wake.notify_one();
        }
    }

    /// Cancels all updates. A request under way still ends (see `rest`), and is not retried.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// As if the answer to a write had been lost.
    #[cfg(test)]
    pub fn unanswered_write(&self, node: &str, update: NodeUpdate) {
        let mut queue = self.lock();
        queue.put(node, update);
        if let Some((node, update)) = queue.next(Instant::now()) {
            queue.end(&node, update, &Outcome::Unanswered, Instant::now());
        }
    }

    /// Nodes that may have been written although no watch showed it: the answer to a write was lost.
    pub fn unanswered(&self) -> Vec<String> {
        self.lock().unanswered().iter().cloned().collect()
    }

    /// Resolves when no write is under way.
    pub async fn rest(&self) {
        const POLL: Duration = Duration::from_millis(10);
        while !self.lock().is_at_rest() {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Writes updates for ever.
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
            let updates = futures::stream::iter(std::iter::from_fn(|| self.lock().next(Instant::now())));
            updates
                .map(|(node, update)| self.one(&means, node, update))
                .buffer_unordered(CONCURRENCY)
                .for_each(async |()| {})
                .await;
            let pause = self.lock().pause(Instant::now());
            match pause {
                Some(pause) => {
                    let _ = tokio::time::timeout(pause, self.wake.notified()).await;
                }
                None => self.wake.notified().await,
            }
        }
    }

    async fn one(&self, means: &Means, node: String, update: NodeUpdate) {
        let outcome = write(means, &node, &update).await;
        self.lock().end(&node, update, &outcome, Instant::now());
    }
}

/// The taint first: a node without our condition is one that was never seen, see `wn_plan::node::node_update`.
async fn write(means: &Means, node: &str, update: &NodeUpdate) -> Outcome {
    if update.remove_all {
        return remove_all(means, node).await;
    }
    if let Some(group) = update.group {
        match label(&means.api, node, group).await {
            Ok(stored) => means.world.put(Topic::Nodes, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    if let Some(set) = update.taint {
        match taint::write(&means.api, node, set).await {
            Ok(stored) => means.world.put(Topic::Nodes, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    let stored = |condition: &NetworkCondition| {
        means.world.read(|o| {
            let facts = o.nodes.get(node);
            facts.is_some_and(|n| n.has_condition(condition) && n.network_made == update.network_made)
        })
    };
    // The node may have been queued again while this condition was being written.
    if let Some(condition) = update.condition.as_ref().filter(|condition| !stored(condition)) {
        match apply_condition(&means.api, node, Some(condition), update.network_made.as_ref()).await {
            Ok(stored) => {
                means.metrics.node_condition_written();
                means.world.put(Topic::Nodes, &stored);
            }
            Err(error) => return judge(node, &error),
        }
        // After the condition: what is stored is what was announced, also after a restart of the operator.
        if update.event {
            means.events.publish_on_node(node, condition).await;
        }
    }
    Outcome::Done
}

/// Removes everything of ours from a Node that is no longer a Windows node. Usually the Node itself is gone.
async fn remove_all(means: &Means, node: &str) -> Outcome {
    let removed = async {
        let Some(found) = means.api.get_opt(node).await? else {
            return Ok(());
        };
        let cleanup = NodeCleanup {
            taint: found.annotations().contains_key(TAINTED),
            label: found.labels().contains_key(KUBE_PROXY_GROUP),
        };
        clean(&means.api, node, cleanup).await
    };
    removed
        .await
        .map_or_else(|error| judge(node, &error), |()| Outcome::Done)
}

/// Sets the label of the node's group, or removes it.
async fn label(api: &Api<Node>, node: &str, group: Option<&str>) -> Result<Node, kube::Error> {
    let body = json!({ "metadata": { "labels": { (KUBE_PROXY_GROUP): group } } });
    let params = merge_as(managers::NODE);
    api.patch(node, &params, &Patch::Merge(body)).await
}

/// Applies the operator's condition and annotation, or removes them: an apply removes what it does not name any more. The API
/// server takes annotations of a Node through its status, as from Calico.
async fn apply_condition(
    api: &Api<Node>,
    node: &str,
    condition: Option<&NetworkCondition>,
    network: Option<&NetworkMade>,
) -> Result<Node, kube::Error> {
    let second = |at: Option<Timestamp>| at.and_then(|at| Timestamp::from_second(at.as_second()).ok());
    let conditions: Vec<Value> = condition
        .map(|condition| {
            json!({
                "type": NODE_CONDITION,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": second(condition.since),
                "lastHeartbeatTime": second(condition.heartbeat),
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
        return Outcome::Unanswered;
    };
    match status.code {
        // The Node is gone, and everything on it.
        404 => Outcome::Done,
        409 => Outcome::Race,
        429 => {
            let asked = status.details.as_ref().map_or(0, |d| d.retry_after_seconds);
            debug!(node, asked, "the API server pushes back");
            let (least, most) = PUSHED_BACK;
            Outcome::Busy(Duration::from_secs(asked.clamp(least, most).into()))
        }
        _ => {
            warn!(node, %error, "a node's condition was refused, trying again");
            Outcome::Refused
        }
    }
}

/// Removes this operator's condition, taint and label from a Node.
pub async fn clean(api: &Api<Node>, node: &str, cleanup: NodeCleanup) -> Result<(), kube::Error> {
    let gone = |error: kube::Error| match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error),
    };
    if cleanup.label {
        label(api, node, None).await.map(drop).or_else(gone)?;
    }
    if cleanup.taint {
        taint::write(api, node, false).await.map(drop).or_else(gone)?;
    }
    apply_condition(api, node, None, None)
        .await
        .map(drop)
        .or_else(gone)
}
