//! Pods that cannot be created: the Event the kubelet writes.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::json;

use super::undo::{self, Undo};
use super::words::Words;
use crate::objects;

/// Any id of a sandbox; the kubelet's message names a new one each time.
const SANDBOX: &str = "cf8199556fa7cd64da0971c6dfa030be43b42d0e9c20a2ccc8fb9c4831bc395b";

/// Writes the Event of pod `default/<pod>`, whose last try was a time `ago`
/// (`pkg/kubelet/kuberuntime/kuberuntime_manager.go`; containerd `internal/cri/server/sandbox_run.go`).
pub async fn failed(
    client: &Client,
    node: &str,
    pod: &str,
    said: Words,
    ago: SignedDuration,
) -> Result<Undo> {
    let api: Api<DynamicObject> = Api::namespaced_with(
        client.clone(),
        "default",
        &objects::resource("", "v1", "Event", "events"),
    );
    let now = Timestamp::now();
    let time = (now - ago).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let message = format!(
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"{SANDBOX}\": plugin type=\"calico\" name=\"Calico\" failed (add): {}",
        said.text
    );
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": format!("{pod}.{:x}", now.as_nanosecond()), "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": pod},
        "reason": "FailedCreatePodSandBox",
        "message": message,
        "source": {"component": "kubelet", "host": node},
        "reportingComponent": "kubelet",
        "reportingInstance": node,
        "type": "Warning",
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
    });
    undo::create(&api, event).await
}
