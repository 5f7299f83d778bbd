//! From our agent to theirs and back, with a witness on every node.

use anyhow::{Result, ensure};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::*;

fn spec(installation: &str) -> Value {
    let mut spec = minimal("CalicoVXLAN");
    spec["calico"] = json!({"installation": installation});
    spec
}

/// Ours runs on two nodes, on a Calico that tigera/operator installed.
async fn ours_runs() -> Result<(TestCluster, wn_e2e::tigera::Tigera, Witness)> {
    let mut test = test_cluster(CalicoApi::V1, true).await?;
    let node = wn_e2e::control_plane::NodeSpec::windows("windows-1");
    test.cluster.add_node(node).await?;
    // Two for Typha.
    let node = wn_e2e::control_plane::NodeSpec::linux("linux-1");
    test.cluster.add_node(node).await?;
    let tigera = install_calico(&test).await?;
    let witness = Witness::start(test.client.clone());
    let mut pools = installation(&test).await?["calicoNetwork"]["ipPools"].take();
    pools[0]["encapsulation"] = json!("VXLAN");
    edit(&test, json!({"calicoNetwork": {"ipPools": pools}})).await?;
    test.start_operator().await?;
    test.apply(spec("Report")).await?;
    test.ready().await?;
    ensure!(!theirs_exists(&test).await? && !test.daemon_set(AGENT).await?.is_null());
    Ok((test, tigera, witness))
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_theirs_ours() -> Result<()> {
    let (test, _tigera, witness) = ours_runs().await?;
    let held = hold_a_pod(&test, NAME).await?;
    test.apply(spec("Enforce")).await?;
    test.condition_says(
        "CalicoConfigured",
        "False",
        "WaitingForPrecondition",
        &["windowsDataplane is set to HNS when the last pod of the operator's DaemonSet calico-node-windows is gone"],
    )
    .await?;
    test.quiet().await?;
    ensure!(installation(&test).await?["calicoNetwork"]["windowsDataplane"] == "Disabled");
    ensure!(!theirs_exists(&test).await?);
    let_go(&test, NAME, &held).await?;
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "External",
        &["calico-system/calico-node-windows is updated and ready"],
    )
    .await?;
    test.ready().await?;
    ensure!(test.daemon_set(AGENT).await?.is_null());

    test.apply(spec("Report")).await?;
    installation_until(&test, "windowsDataplane is restored", |s| {
        s["calicoNetwork"]["windowsDataplane"] == "Disabled" && s["windowsNodes"].is_null()
    })
    .await?;
    test.condition_says(
        "NodeAgentAvailable",
        "False",
        "AgentsOverlap",
        &["kubectl delete daemonset -n calico-system calico-node-windows"],
    )
    .await?;
    test.condition("Stalled", "True", "AgentsOverlap").await?;
    ensure!(theirs_exists(&test).await?, "we never delete theirs");
    ensure!(test.daemon_set(AGENT).await?.is_null(), "ours waits");
    let held = hold_a_pod(&test, THEIRS).await?;
    theirs(&test).delete(AGENT, &DeleteParams::background()).await?;
    test.condition_says(
        "NodeAgentAvailable",
        "False",
        "WaitingForPrecondition",
        &["waits until the last pod of DaemonSet calico-system/calico-node-windows is gone"],
    )
    .await?;
    test.quiet().await?;
    ensure!(
        test.daemon_set(AGENT).await?.is_null(),
        "ours waits for the last of theirs"
    );
    let_go(&test, THEIRS, &held).await?;
    test.ready().await?;
    ensure!(!test.daemon_set(AGENT).await?.is_null());
    witness.swears()
}

/// Nobody can stop tigera/operator from doing what a person configured: the operator's agent goes as soon as that is seen.
#[tokio::test(flavor = "multi_thread")]
async fn switched_by_hand() -> Result<()> {
    let (test, _tigera, _) = ours_runs().await?;
    edit(
        &test,
        json!({
            "calicoNetwork": {"windowsDataplane": "HNS", "bgp": "Disabled"}, "serviceCIDRs": ["10.96.0.0/12"],
        }),
    )
    .await?;
    test.until("ours is gone", async || {
        Ok(test.daemon_set(AGENT).await?.is_null().then_some(()))
    })
    .await?;
    test.condition("NodeAgentAvailable", "True", "External").await?;
    // The user insists on ours: two would run, so ours does not.
    let mut managed = spec("Report");
    managed["nodeAgent"] = json!({"management": "Managed"});
    test.apply(managed).await?;
    test.condition_says(
        "NodeAgentAvailable",
        "False",
        "AgentsOverlap",
        &["windowsDataplane HNS", "spec.nodeAgent.management is Managed"],
    )
    .await?;
    test.quiet().await?;
    ensure!(test.daemon_set(AGENT).await?.is_null());
    ensure!(theirs_exists(&test).await?);
    Ok(())
}
