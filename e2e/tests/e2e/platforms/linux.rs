//! Linux nodes that Windows nodes depend on, and Typha, which runs there.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::node_agent;
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::test_cluster::{TestCluster, minimal};

const TYPE: &str = "LinuxNodesAvailable";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_linux_node() -> Result<()> {
    let options = ClusterOptions {
        linux_nodes: 0,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let parts = ["no node with kubernetes.io/os=linux", "add a Linux node"];
    test.condition_says(TYPE, "False", "NoLinuxNodes", &parts).await?;
    test.condition("Ready", "False", "NoLinuxNodes").await?;
    // It is reported, and everything else is done nevertheless.
    test.condition("NodeAgentAvailable", "True", "AsExpected").await?;
    test.cluster.add_node(NodeSpec::linux("linux-0")).await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    test.ready().await
}

async fn typha(test: &TestCluster, namespace: &str, env: Value) -> Result<()> {
    let labels = json!({"k8s-app": "calico-typha"});
    let containers = json!([{"name": "calico-typha", "image": "calico/typha:v3.32.1", "env": env}]);
    test.create(
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
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calico-system"}});
    test.create("namespaces", namespace).await?;
    typha(
        &test,
        "calico-system",
        json!([{"name": "TYPHA_CAFILE", "value": "/etc/pki/tls/certs/ca.crt"}]),
    )
    .await?;
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "AsExpected",
        &["client certificates"],
    )
    .await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    // Three nodes want two replicas, and Windows nodes count without taking one.
    test.cluster.add_node(NodeSpec::windows("windows-1")).await?;
    let parts = [
        "calico-system/calico-typha",
        "needs 2 schedulable Linux nodes, and there are 1",
    ];
    test.condition_says(TYPE, "False", "TooFewLinuxNodes", &parts)
        .await?;
    test.condition("Stalled", "True", "TooFewLinuxNodes").await?;
    test.cluster.add_node(NodeSpec::linux("linux-1")).await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    test.cluster.kubectl(&["cordon", "linux-1"]).await?;
    test.condition(TYPE, "False", "TooFewLinuxNodes").await?;
    test.cluster.kubectl(&["uncordon", "linux-1"]).await?;
    test.ready().await
}

/// A Typha that takes anybody serves Felix on Windows nodes, too.
#[tokio::test(flavor = "multi_thread")]
async fn felix_asks_a_typha_without_tls() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    typha(&test, "kube-system", json!([])).await?;
    let typha = test
        .until("Felix is configured for Typha", async || {
            let agent = test.daemon_set(node_agent::DAEMON_SET).await?;
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
    ensure!(
        typha == (json!("kube-system"), json!("calico-typha")),
        "{typha:?}"
    );
    test.ready().await
}
