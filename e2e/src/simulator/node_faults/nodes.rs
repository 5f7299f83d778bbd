//! What befalls the Node object: written as the kubelet, or Calico, would write it.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use super::undo::{self, Part, Undo};
use super::words;
use crate::objects;

/// While a Node has this annotation kwok leaves its conditions alone (`kwok/stages/node-ready.yaml`).
const HELD: &str = "lab.windowsnode.dev/kubelet";

pub fn api(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &objects::resource("", "v1", "Node", "nodes"))
}

/// A field of `status.nodeInfo`.
pub async fn info(client: &Client, node: &str, field: &str, value: &str) -> Result<Undo> {
    status(client, node, json!({"nodeInfo": {field: value}})).await
}

pub async fn max_pods(client: &Client, node: &str, pods: u32) -> Result<Undo> {
    status(client, node, json!({"allocatable": {"pods": pods.to_string()}})).await
}

/// An annotation of Calico's; `None` takes it away.
pub async fn annotation(client: &Client, node: &str, name: &str, value: Option<&str>) -> Result<Undo> {
    let patch = json!({"metadata": {"annotations": {format!("projectcalico.org/{name}"): value}}});
    undo::merge(&api(client), node, Part::Main, patch).await
}

/// The kubelet says it is not ready, or says nothing (`Unknown`, written by the node controller).
pub async fn kubelet(client: &Client, node: &str, status: &str, message: &str) -> Result<Vec<Undo>> {
    let hold = json!({"metadata": {"annotations": {HELD: "held"}}});
    let reason = if message == words::kubelet::SILENT {
        "NodeStatusUnknown"
    } else {
        "KubeletNotReady"
    };
    Ok(vec![
        undo::merge(&api(client), node, Part::Main, hold).await?,
        condition(client, node, ["Ready", status, reason, message]).await?,
    ])
}

/// Type, status, reason and message of a condition.
pub async fn condition(client: &Client, node: &str, parts: [&str; 4]) -> Result<Undo> {
    condition_at(client, node, parts, Timestamp::now()).await
}

/// Startup succeeded that long ago, and not since (`node/pkg/lifecycle/utils`, `SetNodeNetworkUnavailableCondition`).
pub async fn up_since(client: &Client, node: &str, ago: SignedDuration) -> Result<Undo> {
    let parts = [
        "NetworkUnavailable",
        "False",
        "CalicoIsUp",
        "Calico is running on this node",
    ];
    condition_at(client, node, parts, Timestamp::now() - ago).await
}

async fn condition_at(client: &Client, node: &str, parts: [&str; 4], at: Timestamp) -> Result<Undo> {
    let [type_, status, reason, message] = parts;
    let now = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    undo::entry(
        &api(client),
        node,
        Part::Status,
        ["status", "conditions"],
        "type",
        condition,
    )
    .await
}

/// A boot that cannot be taken back.
pub async fn reboot(client: &Client, node: &str) -> Result<()> {
    let id = format!(
        "00000000-0000-4000-9000-{:012x}",
        Timestamp::now().as_millisecond()
    );
    info(client, node, "bootID", &id).await.map(drop)
}

async fn status(client: &Client, node: &str, status: Value) -> Result<Undo> {
    undo::merge(&api(client), node, Part::Status, json!({ "status": status })).await
}
