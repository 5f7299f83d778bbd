//! A node's life: boots, and what outlives a restart of the operator.

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_api::names::annotations::HNS_NETWORK;
use wn_e2e::simulator::{Fault, NodeFault};
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::{
    all_ready, condition, expect_events, line, network_condition, node_events, nodes_of, ready_crowd, taints,
};

/// Our condition as it was, at an earlier time.
async fn backdate(test: &TestCluster, name: &str, ago: SignedDuration) -> Result<()> {
    let mut condition = network_condition(&test.node(name).await?).clone();
    let at = Timestamp::now() - ago;
    condition["lastTransitionTime"] = json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    assert_eq!(condition["type"], NODE_CONDITION);
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    test.nodes()
        .patch_status(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Ten minutes after a boot, a node whose pods did not restart fails. The condition on the Node remembers the boot, because the
/// operator may restart meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_boot_outlives_a_restart_of_the_operator() -> Result<()> {
    let mut test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let repair = test.simulator.break_node("win-1", &NodeFault::Reboot).await?;
    condition(&test, "win-1", "False", "RecoveringAfterReboot").await?;
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    condition(&test, "win-1", "False", "RecoveringAfterReboot").await?;

    test.kill_operator();
    backdate(&test, "win-1", SignedDuration::from_mins(11)).await?;
    test.start_operator().await?;
    let stored = condition(&test, "win-1", "False", "NotRecovered").await?;
    assert!(
        stored["message"].as_str().is_some_and(|m| m.contains("rebooted")),
        "{stored}"
    );
    expect_events(&test, "win-1", "NotRecovered", "Warning", 1).await?;
    // And that is remembered, too.
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    condition(&test, "win-1", "False", "NotRecovered").await?;
    expect_events(&test, "win-1", "NotRecovered", "Warning", 1).await?;
    repair.run().await?;
    condition(&test, "win-1", "True", "AsExpected").await?;
    all_ready(&test, 2).await
}

/// HNS keeps the network it has. What it was made with is remembered on the Node, for us and for those after us.
#[tokio::test(flavor = "multi_thread")]
async fn a_vni_that_changes_strands_nodes_until_they_boot() -> Result<()> {
    let spec = |vni: i32| {
        json!({
            "network": {"type": "CalicoVXLAN"},
            "calico": {"vxlan": {"vni": vni}, "encapsulation": {"whenInUse": "Migrate"}},
        })
    };
    let mut test = ready_crowd(2, spec(4096)).await?;
    test.apply(spec(5000)).await?;
    for name in ["win-0", "win-1"] {
        let condition = condition(&test, name, "False", "NodeRebuildRequired").await?;
        assert!(condition["lastHeartbeatTime"].is_string(), "{condition}");
    }
    test.quiet().await?;
    let (times, _) = node_events(&test, "win-0", "NodeRebuildRequired", "Warning").await?;
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    condition(&test, "win-0", "False", "NodeRebuildRequired").await?;
    expect_events(&test, "win-0", "NodeRebuildRequired", "Warning", times).await?;

    let reboot = test.simulator.break_node("win-1", &NodeFault::Reboot).await?;
    condition(&test, "win-1", "False", "RecoveringAfterReboot").await?;
    reboot.run().await?;
    condition(&test, "win-1", "True", "AsExpected").await?;
    condition(&test, "win-0", "False", "NodeRebuildRequired").await?;

    // With the original VNI, the rebuilt node is the one that does not fit.
    test.apply(spec(4096)).await?;
    condition(&test, "win-0", "True", "AsExpected").await?;
    condition(&test, "win-1", "False", "NodeRebuildRequired").await?;

    test.delete_and_wait().await?;
    let node = test.node("win-1").await?;
    assert!(node["metadata"]["annotations"][HNS_NETWORK].is_null(), "{node:#}");
    Ok(())
}

/// What goes wrong long after a boot is not the boot's fault.
#[tokio::test(flavor = "multi_thread")]
async fn a_boot_is_over_when_it_is_over() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let reboot = test.simulator.break_node("win-1", &NodeFault::Reboot).await?;
    condition(&test, "win-1", "False", "RecoveringAfterReboot").await?;
    reboot.run().await?;
    condition(&test, "win-1", "True", "AsExpected").await?;
    test.simulator.inject("win-1", Fault::AgentNotReady);
    condition(&test, "win-1", "False", "AgentNotReady").await?;
    test.simulator.clear("win-1");
    condition(&test, "win-1", "True", "AsExpected").await?;
    Ok(())
}

/// The kubelet starts containers before it reports its boot: whoever is back already needs no patience.
#[tokio::test(flavor = "multi_thread")]
async fn a_boot_that_is_over_before_it_is_seen() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    test.quiet().await?;
    test.simulator.age("win-1", SignedDuration::from_secs(20)).await?;
    let _stays = test
        .simulator
        .break_node(
            "win-1",
            &NodeFault::BootId("11111111-0000-4000-8000-000000000000"),
        )
        .await?;
    test.quiet().await?;
    let config = test.config().await?;
    assert_eq!(nodes_of(&config)["reasons"], Value::Null);
    assert_eq!(
        node_events(&test, "win-1", "RecoveringAfterReboot", "Warning")
            .await?
            .0,
        0
    );
    Ok(())
}

/// Our condition is ours: what somebody else writes there is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_was_tampered_with() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let repair = test
        .simulator
        .break_node("win-0", &NodeFault::BlockExhausted)
        .await?;
    let ours = condition(&test, "win-0", "False", "BlockExhausted").await?;
    for other in [
        json!({"type": NODE_CONDITION, "status": "True", "reason": "Fine", "message": ""}),
        json!({"type": NODE_CONDITION, "$patch": "delete"}),
    ] {
        let patch = Patch::Strategic(json!({"status": {"conditions": [other]}}));
        test.nodes()
            .patch_status("win-0", &PatchParams::default(), &patch)
            .await?;
        let again = condition(&test, "win-0", "False", "BlockExhausted").await?;
        assert_eq!(again["message"], ours["message"]);
    }
    repair.run().await?;
    condition(&test, "win-0", "True", "AsExpected").await?;
    Ok(())
}

/// `mode: Observe` writes nothing, and leaves nothing that may be wrong by and by.
#[tokio::test(flavor = "multi_thread")]
async fn no_node_is_changed_in_mode_observe() -> Result<()> {
    let observe =
        json!({"network": {"type": "CalicoVXLAN"}, "mode": "Observe", "readiness": {"taint": "Continuous"}});
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    test.delete_and_wait().await?;
    test.apply(observe).await?;
    let _stays = test
        .simulator
        .break_node("win-0", &NodeFault::Kernel("10.0.20348.1"))
        .await?;
    test.until("the status says it", async || {
        let config = test.config().await?;
        Ok((line(&config, "win-0")["reason"] == "OSBuildUnsupported").then_some(()))
    })
    .await?;
    test.quiet().await?;
    for name in ["win-0", "win-1"] {
        let node = test.node(name).await?;
        assert!(network_condition(&node).is_null(), "{node:#}");
        assert_eq!(taints(&node), Vec::<String>::new());
    }
    Ok(())
}

/// A boot during which the kubelet was silent is a boot all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_boot_after_silence() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    let silence = test.simulator.break_node("win-1", &NodeFault::Silent).await?;
    condition(&test, "win-1", "False", "KubeletNotReporting").await?;
    let reboot = test.simulator.break_node("win-1", &NodeFault::Reboot).await?;
    silence.run().await?;
    condition(&test, "win-1", "False", "RecoveringAfterReboot").await?;
    reboot.run().await?;
    condition(&test, "win-1", "True", "AsExpected").await?;
    all_ready(&test, 2).await
}
