//! From our agent to theirs and back, with a witness on every node.

use anyhow::{Result, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::operator::NAME;
use wn_e2e::stage::{Stage, minimal};

use super::support::*;

fn spec(installation: &str) -> Value {
    let mut spec = minimal("CalicoVXLAN");
    spec["calico"] = json!({"installation": installation});
    spec
}

/// Ours runs on two nodes, on a Calico that tigera/operator installed.
async fn ours_runs() -> Result<(Stage, wn_e2e::tigera::Tigera, Witness)> {
    let mut stage = stage(CalicoApi::V1, true).await?;
    let node = wn_e2e::control_plane::NodeSpec::windows("windows-1");
    stage.cluster.add_node(node).await?;
    // Two for Typha.
    let node = wn_e2e::control_plane::NodeSpec::linux("linux-1");
    stage.cluster.add_node(node).await?;
    let tigera = install_calico(&stage).await?;
    let witness = Witness::start(stage.client.clone());
    let mut pools = installation(&stage).await?["calicoNetwork"]["ipPools"].take();
    pools[0]["encapsulation"] = json!("VXLAN");
    edit(&stage, json!({"calicoNetwork": {"ipPools": pools}})).await?;
    stage.start().await?;
    stage.apply(spec("Report")).await?;
    stage.ready().await?;
    ensure!(!theirs_exists(&stage).await? && !stage.daemon_set(AGENT).await?.is_null());
    Ok((stage, tigera, witness))
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_theirs_ours() -> Result<()> {
    let (stage, _tigera, witness) = ours_runs().await?;
    let held = hold_a_pod(&stage, NAME).await?;
    stage.apply(spec("Enforce")).await?;
    stage
        .condition_says(
            "CalicoConfigured",
            "False",
            "WaitingForPrecondition",
            &["windowsDataplane waits until the last pod of our DaemonSet calico-node-windows is gone"],
        )
        .await?;
    stage.quiet().await?;
    ensure!(installation(&stage).await?["calicoNetwork"]["windowsDataplane"] == "Disabled");
    ensure!(!theirs_exists(&stage).await?);
    let_go(&stage, NAME, &held).await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "True",
            "External",
            &["calico-system/calico-node-windows is updated and ready"],
        )
        .await?;
    stage.ready().await?;
    ensure!(stage.daemon_set(AGENT).await?.is_null());

    stage.apply(spec("Report")).await?;
    installation_until(&stage, "windowsDataplane is given back", |s| {
        s["calicoNetwork"]["windowsDataplane"] == "Disabled" && s["windowsNodes"].is_null()
    })
    .await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "False",
            "AgentsOverlap",
            &["kubectl delete daemonset -n calico-system calico-node-windows"],
        )
        .await?;
    stage.condition("Stalled", "True", "AgentsOverlap").await?;
    ensure!(theirs_exists(&stage).await?, "we never delete theirs");
    ensure!(stage.daemon_set(AGENT).await?.is_null(), "ours waits");
    let held = hold_a_pod(&stage, THEIRS).await?;
    theirs(&stage).delete(AGENT, &DeleteParams::background()).await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "False",
            "WaitingForPrecondition",
            &["waits until the last pod of DaemonSet calico-system/calico-node-windows is gone"],
        )
        .await?;
    stage.quiet().await?;
    ensure!(
        stage.daemon_set(AGENT).await?.is_null(),
        "ours waits for the last of theirs"
    );
    let_go(&stage, THEIRS, &held).await?;
    stage.ready().await?;
    ensure!(!stage.daemon_set(AGENT).await?.is_null());
    witness.swears()
}

/// Nobody can keep tigera/operator from what a person told it: ours goes as soon as it is seen.
#[tokio::test(flavor = "multi_thread")]
async fn switched_by_hand() -> Result<()> {
    let (stage, _tigera, _) = ours_runs().await?;
    edit(
        &stage,
        json!({
            "calicoNetwork": {"windowsDataplane": "HNS", "bgp": "Disabled"}, "serviceCIDRs": ["10.96.0.0/12"],
        }),
    )
    .await?;
    stage
        .until("ours is gone", async || {
            Ok(stage.daemon_set(AGENT).await?.is_null().then_some(()))
        })
        .await?;
    stage.condition("NodeAgentAvailable", "True", "External").await?;
    // The user insists on ours: two would run, so ours does not.
    let mut managed = spec("Report");
    managed["nodeAgent"] = json!({"management": "Managed"});
    stage.apply(managed).await?;
    stage
        .condition_says(
            "NodeAgentAvailable",
            "False",
            "AgentsOverlap",
            &["windowsDataplane HNS", "spec.nodeAgent.management is Managed"],
        )
        .await?;
    stage.quiet().await?;
    ensure!(stage.daemon_set(AGENT).await?.is_null());
    ensure!(theirs_exists(&stage).await?);
    Ok(())
}
