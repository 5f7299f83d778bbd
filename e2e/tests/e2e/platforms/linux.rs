//! Linux nodes that Windows nodes depend on, and Typha, which runs there.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::node_agent;
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::stage::{Stage, minimal};

const TYPE: &str = "LinuxNodesAvailable";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_linux_node() -> Result<()> {
    let options = ClusterOptions {
        linux_nodes: 0,
        ..ClusterOptions::default()
    };
    let stage = Stage::play(options).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    let parts = ["no node with kubernetes.io/os=linux", "add a Linux node"];
    stage
        .condition_says(TYPE, "False", "NoLinuxNodes", &parts)
        .await?;
    stage.condition("Ready", "False", "NoLinuxNodes").await?;
    // It is said, and the rest is done all the same.
    stage
        .condition("NodeAgentAvailable", "True", "AsExpected")
        .await?;
    stage.cluster.add_node(NodeSpec::linux("linux-0")).await?;
    stage.condition(TYPE, "True", "AsExpected").await?;
    stage.ready().await
}

async fn typha(stage: &Stage, namespace: &str, env: Value) -> Result<()> {
    let labels = json!({"k8s-app": "calico-typha"});
    let containers = json!([{"name": "calico-typha", "image": "calico/typha:v3.32.1", "env": env}]);
    stage
        .create(
            "deployments",
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "calico-typha", "namespace": namespace},
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels},
                    "spec": {"nodeSelector": {"kubernetes.io/os": "linux"}, "containers": containers},
                }},
            }),
        )
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_linux_nodes_for_typha() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calico-system"}});
    stage.create("namespaces", namespace).await?;
    typha(
        &stage,
        "calico-system",
        json!([{"name": "TYPHA_CAFILE", "value": "/etc/pki/tls/certs/ca.crt"}]),
    )
    .await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "True",
            "AsExpected",
            &["client certificates"],
        )
        .await?;
    stage.condition(TYPE, "True", "AsExpected").await?;
    // Three nodes want two replicas, and Windows nodes count without taking one.
    stage.cluster.add_node(NodeSpec::windows("windows-1")).await?;
    let parts = [
        "calico-system/calico-typha",
        "needs 2 schedulable Linux nodes and there are 1",
    ];
    stage
        .condition_says(TYPE, "False", "TooFewLinuxNodes", &parts)
        .await?;
    stage.condition("Stalled", "True", "TooFewLinuxNodes").await?;
    stage.cluster.add_node(NodeSpec::linux("linux-1")).await?;
    stage.condition(TYPE, "True", "AsExpected").await?;
    stage.cluster.kubectl(&["cordon", "linux-1"]).await?;
    stage.condition(TYPE, "False", "TooFewLinuxNodes").await?;
    stage.cluster.kubectl(&["uncordon", "linux-1"]).await?;
    stage.ready().await
}

/// A Typha that takes anybody serves Felix on Windows nodes, too.
#[tokio::test(flavor = "multi_thread")]
async fn felix_asks_a_typha_without_tls() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    typha(&stage, "kube-system", json!([])).await?;
    let told = stage
        .until("Felix is told of Typha", async || {
            let agent = stage.daemon_set(node_agent::DAEMON_SET).await?;
            let env = agent
                .pointer("/spec/template/spec/containers/0/env")
                .cloned()
                .unwrap_or_default();
            let value = |name: &str| {
                let all = env.as_array().into_iter().flatten();
                all.into_iter()
                    .find(|v| v["name"] == name)
                    .map(|v| v["value"].clone())
            };
            Ok(value("FELIX_TYPHAK8SNAMESPACE").zip(value("FELIX_TYPHAK8SSERVICENAME")))
        })
        .await?;
    ensure!(told == (json!("kube-system"), json!("calico-typha")), "{told:?}");
    stage.ready().await
}
