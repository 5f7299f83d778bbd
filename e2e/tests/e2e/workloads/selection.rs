//! A first rollout to some nodes: `spec.nodeSelector`.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::{AGENT, PROXY, edit, node_status};

fn spec(pool: Option<&str>) -> Value {
    let mut spec = minimal("CalicoVXLAN");
    if let Some(pool) = pool {
        spec["nodeSelector"] = json!({"example.com/pool": pool});
    }
    spec
}

/// Waits until that many nodes of the selected are ready, and so many are not selected.
async fn nodes(test: &TestCluster, summary: &str, not_selected: u64) -> Result<()> {
    test.until(
        &format!("{summary} ready, {not_selected} not selected"),
        async || {
            let config = test.config().await?;
            let nodes = &config["status"]["nodes"];
            let others = nodes["notSelected"].as_u64().unwrap_or_default();
            Ok((nodes["summary"] == summary && nodes["total"] == 3 && others == not_selected).then_some(()))
        },
    )
    .await
}

/// Has a Node the operator's condition?
async fn is_marked(test: &TestCluster, node: &str) -> Result<bool> {
    let node = test.node(node).await?;
    let conditions = node["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    Ok(conditions.iter().any(|c| c["type"] == NODE_CONDITION))
}

async fn unmarked(test: &TestCluster, node: &str) -> Result<()> {
    test.until(&format!("{node} has no condition of the operator"), async || {
        Ok((!is_marked(test, node).await?).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_is_judged_alone_and_extended() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 3,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    let labels = json!({"metadata": {"labels": {"example.com/pool": "canary"}}});
    edit(&test.nodes(), "windows-0", labels).await?;

    test.apply(spec(Some("canary"))).await?;
    nodes(&test, "1/1", 2).await?;
    test.ready().await?;
    for name in [AGENT, PROXY] {
        let desired = test.daemon_set(name).await?["status"]["desiredNumberScheduled"].clone();
        ensure!(desired == 1, "{name}: {desired}");
    }
    let other = node_status(&test, "windows-1").await?;
    ensure!(other["state"] == "NotSelected", "{other}");
    ensure!(is_marked(&test, "windows-0").await? && !is_marked(&test, "windows-1").await?);
    test.condition_says("NodesReady", "True", "AsExpected", &["spec.nodeSelector selects"])
        .await?;
    test.quiet().await?;

    // All nodes, and back again: the DaemonSets and the marks follow.
    test.apply(spec(None)).await?;
    nodes(&test, "3/3", 0).await?;
    test.ready().await?;
    ensure!(is_marked(&test, "windows-1").await?);
    test.apply(spec(Some("canary"))).await?;
    nodes(&test, "1/1", 2).await?;
    unmarked(&test, "windows-1").await?;
    unmarked(&test, "windows-2").await?;
    test.ready().await?;
    test.quiet().await?;

    test.apply(spec(Some("nowhere"))).await?;
    nodes(&test, "0/0", 3).await?;
    test.condition_says("Ready", "True", "NoWindowsNodes", &[])
        .await?;
    unmarked(&test, "windows-0").await
}
