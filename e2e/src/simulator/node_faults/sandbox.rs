//! Pods that cannot be created: the Event the kubelet writes.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use super::undo::{self, Undo};
use super::words::Words;
use crate::objects;

/// Any id of a sandbox; the kubelet's message names a new one each time.
const SANDBOX: &str = "cf8199556fa7cd64da0971c6dfa030be43b42d0e9c20a2ccc8fb9c4831bc395b";

/// A pod `default/<pod>-…` on the node that has no sandbox, and the kubelet's Event of it, whose last try was a time `ago`
/// (`pkg/kubelet/kuberuntime/kuberuntime_manager.go`; containerd `internal/cri/server/sandbox_run.go`).
pub async fn failed(
    client: &Client,
    node: &str,
    pod: &str,
    words: Words,
    ago: SignedDuration,
) -> Result<Vec<Undo>> {
    let api = |kind: &str, plural: &str| -> Api<DynamicObject> {
        Api::namespaced_with(
            client.clone(),
            "default",
            &objects::resource("", "v1", kind, plural),
        )
    };
    let now = Timestamp::now();
    let name = format!("{pod}-{node}-{:x}", now.as_nanosecond());
    let pods = api("Pod", "pods");
    let gone = undo::create(&pods, waiting(&name, node)).await?;
    let uid = pods.get(&name).await?.metadata.uid;
    let time = (now - ago).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let message = format!(
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"{SANDBOX}\": plugin type=\"calico\" name=\"Calico\" failed (add): {}",
        words.text
    );
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name, "uid": uid},
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
    Ok(vec![undo::create(&api("Event", "events"), event).await?, gone])
}

/// Bound to the node, and nothing more: no kubelet has begun with it. Without a grace period, as no kubelet ends it either.
fn waiting(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        // kwok leaves it alone (`kwok/stages/pod-ready.yaml`).
        "metadata": {"name": name, "namespace": "default", "labels": {"k8s-app": "without-sandbox"}},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "web", "image": "example.invalid/web"}],
        },
    })
}
