//! Writes marks to Nodes beside the passes: the latest update of each node counts, a few are written at a time, and all wait
//! when the API server pushes back.

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
use wn_plan::deletion::NodeMarks;
use wn_plan::node::Marks;
use wn_plan::observed::{NetworkMade, Said, Topic};

use super::queue::{Outcome, Queue};
use super::taint;
use crate::apis::merge_as;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::world::World;

/// Requests under way at once: enough to mark hundreds of nodes a second, far from what an API server minds.
const CONCURRENCY: usize = 8;
/// How long all wait when the API server pushes back: as it says, within these bounds.
const PUSHED_BACK: (u32, u32) = (1, 30);

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
    pub fn new() -> Self {
        Self {
            queue: Mutex::default(),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be written to a Node from now on; nothing cancels an earlier update.
    pub fn update(&self, node: &str, marks: Marks) {
        if marks.is_nothing() {
            self.lock().cancel(node);
        } else {
            self.lock().put(node, marks);
            self.wake.notify_one();
        }
    }

    /// Cancels all updates. The request of one under way still ends (see `rest`), and it is not tried again.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// As if the answer to a write had been lost.
    #[cfg(test)]
    pub fn unanswered_write(&self, node: &str, marks: Marks) {
        let mut queue = self.lock();
        queue.put(node, marks);
        if let Some((node, marks)) = queue.next(Instant::now()) {
            queue.end(&node, marks, &Outcome::Unanswered, Instant::now());
        }
    }

    /// Nodes that may have marks although no watch showed them: the answer to a write was lost.
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
                .map(|(node, marks)| self.one(&means, node, marks))
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

    async fn one(&self, means: &Means, node: String, marks: Marks) {
        let outcome = write(means, &node, &marks).await;
        self.lock().end(&node, marks, &outcome, Instant::now());
    }
}

/// The taint first: a node without our condition is one that was never seen, see `wn_plan::node::marks`.
async fn write(means: &Means, node: &str, marks: &Marks) -> Outcome {
    if marks.leave {
        return leave(means, node).await;
    }
    if let Some(group) = marks.group {
        match label(&means.api, node, group).await {
            Ok(stored) => means.world.put(Topic::Nodes, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    if let Some(set) = marks.taint {
        match taint::write(&means.api, node, set).await {
            Ok(stored) => means.world.put(Topic::Nodes, &stored),
            Err(error) => return judge(node, &error),
        }
    }
    let stored = |said: &Said| {
        means.world.read(|o| {
            let facts = o.nodes.get(node);
            facts.is_some_and(|n| n.says(said) && n.network_made == marks.network_made)
        })
    };
    // Judged again while it was being written, the node was put once more.
    if let Some(said) = marks.condition.as_ref().filter(|said| !stored(said)) {
        match say(&means.api, node, Some(said), marks.network_made.as_ref()).await {
            Ok(stored) => {
                means.metrics.node_condition_written();
                means.world.put(Topic::Nodes, &stored);
            }
            Err(error) => return judge(node, &error),
        }
        // After the condition: what is stored is what was announced, also after a restart of ours.
        if marks.told {
            means.events.publish_on_node(node, said).await;
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
        let marks = NodeMarks {
            tainted: found.annotations().contains_key(TAINTED),
            labelled: found.labels().contains_key(KUBE_PROXY_GROUP),
        };
        unmark(&means.api, node, marks).await
    };
    left.await
        .map_or_else(|error| judge(node, &error), |()| Outcome::Done)
}

/// Sets the label of the node's group, or takes it off.
async fn label(api: &Api<Node>, node: &str, group: Option<&str>) -> Result<Node, kube::Error> {
    let body = json!({ "metadata": { "labels": { (KUBE_PROXY_GROUP): group } } });
    let params = merge_as(managers::NODE);
    api.patch(node, &params, &Patch::Merge(body)).await
}

/// Applies the operator's condition and annotation, or removes them: an apply removes what it does not name any more. The API
/// server takes annotations of a Node through its status, as from Calico.
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
        return Outcome::Unanswered;
    };
    match status.code {
        // The node is gone, and its marks with it.
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
pub async fn unmark(api: &Api<Node>, node: &str, marks: NodeMarks) -> Result<(), kube::Error> {
    let gone = |error: kube::Error| match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        error => Err(error),
    };
    if marks.labelled {
        label(api, node, None).await.map(drop).or_else(gone)?;
    }
    if marks.tainted {
        taint::write(api, node, false).await.map(drop).or_else(gone)?;
    }
    say(api, node, None, None).await.map(drop).or_else(gone)
}
