//! What several tests here need.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::json;
use wn_e2e::control_plane::Cluster;

/// Asks until the answer is yes. An error of the question itself is an error at once.
pub async fn eventually(what: &str, question: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !question().await.with_context(|| what.to_owned())? {
        if Instant::now() > deadline {
            bail!("not within 30 s: {what}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

pub fn is_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// A DaemonSet with one pod on every node of that operating system.
pub async fn daemon_set(cluster: &Cluster, name: &str, os: &str) -> Result<()> {
    let labels = json!({"k8s-app": name});
    let object: DaemonSet = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": os},
                "initContainers": [{"name": "prepare", "image": "registry.example/agent:1"}],
                "containers": [{"name": "agent", "image": "registry.example/agent:1"}],
            },
        }},
    }))?;
    Api::namespaced(cluster.client(), "default")
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

/// Waits until exactly `count` pods of that `k8s-app` exist and all are Running.
pub async fn pods_running(cluster: &Cluster, app: &str, count: usize) -> Result<()> {
    let pods = Api::<Pod>::namespaced(cluster.client(), "default");
    let ours = ListParams::default().labels(&format!("k8s-app={app}"));
    eventually(&format!("{count} pods of {app} run"), async || {
        let list = pods.list(&ours).await?;
        let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
        let running = list
            .items
            .iter()
            .filter(|pod| phase(pod).as_deref() == Some("Running"))
            .count();
        Ok(running == count && list.items.len() == count)
    })
    .await
}

/// Whether a process of that number exists. One that waits to be reaped by its parent counts as gone.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// The numbers of all processes whose command line mentions `text`.
pub fn processes_about(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}
