//! What versions and flags follow from: kube-proxy's from the Windows nodes there are, the agent's from Calico on Linux nodes.

use anyhow::Result;
use serde_json::{Value, json};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::stage::{Stage, minimal};

use crate::support::{AGENT, PROXY, arguments, daemon_set_until, image, remove_node};

const GATE: &str = "--feature-gates=WinDSR=true";
const DSR: &str = "--enable-dsr=true";

async fn version(stage: &Stage, version: &str) -> Result<Value> {
    let wanted = format!("docker.io/sigwindowstools/kube-proxy:{version}-calico-hostprocess");
    let what = format!("runs {version}");
    let found = daemon_set_until(stage, PROXY, &what, |d| image(d) == wanted).await?;
    stage.ready().await?;
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn version_follows_the_oldest_kubelet() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    version(&stage, stage.cluster.kubernetes_version()).await?;

    stage
        .cluster
        .add_node(NodeSpec::windows("old").kubelet_version("v1.34.4"))
        .await?;
    let found = version(&stage, "v1.34.4").await?;
    assert!(!arguments(&found).contains(&GATE));

    // The last minor that needs the gate; later ones do not know it for long.
    stage
        .cluster
        .add_node(NodeSpec::windows("older").kubelet_version("v1.32.13"))
        .await?;
    let found = version(&stage, "v1.32.13").await?;
    assert!(
        arguments(&found).contains(&GATE) && arguments(&found).contains(&DSR),
        "{found}"
    );
    for node in ["windows-0", "old", "older"] {
        // The last to come may still wait for its network.
        stage
            .until("every node works", async || {
                Ok(stage.simulator.problems(node).is_empty().then_some(()))
            })
            .await?;
    }

    // A distribution's build: a tag cannot hold a plus.
    remove_node(&stage, "older").await?;
    stage
        .cluster
        .add_node(NodeSpec::windows("vendor").kubelet_version("v1.33.4+vendor.1"))
        .await?;
    let found = version(&stage, "v1.33.4_vendor.1").await?;
    assert!(!arguments(&found).contains(&GATE));
    remove_node(&stage, "vendor").await?;
    version(&stage, "v1.34.4").await?;

    stage
        .apply(json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"version": "v1.35.1"}}))
        .await?;
    version(&stage, "v1.35.1").await?;
    stage.quiet().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dsr_is_used_where_every_node_can() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    assert!(arguments(&stage.daemon_set(PROXY).await?).contains(&DSR));

    let old = NodeSpec::windows("server-2019").kernel_version("10.0.17763.1000");
    stage.cluster.add_node(old).await?;
    let off = |d: &Value| !arguments(d).contains(&DSR);
    daemon_set_until(&stage, PROXY, "without DSR", off).await?;
    stage.ready().await?;
    stage
        .condition_says(
            "KubeProxyAvailable",
            "True",
            "AsExpected",
            &["DSR is off", "server-2019", "17763.1432"],
        )
        .await?;

    let dsr = |dsr: &str| json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"dsr": dsr}});
    stage.apply(dsr("Enabled")).await?;
    let why = stage
        .condition("KubeProxyAvailable", "False", "DSRUnsupported")
        .await?;
    assert!(
        why.contains("server-2019") && why.contains("set dsr to Auto"),
        "{why}"
    );
    stage.condition("Stalled", "True", "DSRUnsupported").await?;
    stage.condition("Ready", "False", "DSRUnsupported").await?;
    stage
        .condition("NodeAgentAvailable", "True", "AsExpected")
        .await?;
    assert!(
        off(&stage.daemon_set(PROXY).await?),
        "a DaemonSet that works is left alone"
    );

    // What waited for the node to be updated goes on by itself.
    remove_node(&stage, "server-2019").await?;
    daemon_set_until(&stage, PROXY, "with DSR", |d| arguments(d).contains(&DSR)).await?;
    stage.ready().await?;

    stage.apply(dsr("Disabled")).await?;
    daemon_set_until(&stage, PROXY, "without DSR", off).await?;
    stage.ready().await?;
    let note = stage
        .condition("KubeProxyAvailable", "True", "AsExpected")
        .await?;
    assert!(!note.contains("DSR"), "{note}");
    Ok(())
}

/// Every agent writes its version into ClusterInformation, those on Windows nodes too.
#[tokio::test(flavor = "multi_thread")]
async fn the_agent_follows_linux_nodes_and_not_itself() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    let agent = |version: &'static str| {
        let wanted = format!("quay.io/calico/node-windows:{version}");
        let stage = &stage;
        async move {
            let what = format!("the agent is {version}");
            daemon_set_until(stage, AGENT, &what, |d| image(d) == wanted).await?;
            stage.ready().await
        }
    };
    let written = async |version: &str| {
        let patch = json!({"spec": {"calicoVersion": version}}).to_string();
        let resource = "clusterinformations.crd.projectcalico.org";
        stage
            .cluster
            .kubectl(&["patch", resource, "default", "--type=merge", "-p", &patch])
            .await
    };
    stage.apply(minimal("CalicoVXLAN")).await?;
    agent("v3.32.1").await?;

    // Linux nodes are upgraded; one that starts again on a Windows node that waits for its turn writes the old version.
    let labels = json!({"k8s-app": "calico-node"});
    let linux = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "calico-node", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "containers": [{"name": "calico-node", "image": "quay.io/calico/node:v3.32.2"}],
        }}},
    });
    stage.create("daemonsets", linux).await?;
    agent("v3.32.2").await?;
    written("v3.32.1").await?;
    stage.quiet().await?;
    agent("v3.32.2").await?;

    // Where no image tells, what agents write never takes the agent back, but forward.
    stage
        .cluster
        .kubectl(&["delete", "daemonset", "calico-node", "-n", "kube-system"])
        .await?;
    written("v3.32.1").await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "True",
            "AsExpected",
            &["the agent stays at v3.32.2"],
        )
        .await?;
    agent("v3.32.2").await?;
    written("v3.32.3").await?;
    agent("v3.32.3").await
}
