//! The readiness taint: set and removed as the spec says; no other taint is touched.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_api::names::{READINESS_TAINT, kube_proxy, node_agent};
use wn_e2e::simulator::NodeFault;
use wn_e2e::test_cluster::TestCluster;

use super::support::{condition, crowd, eventually, flawless, node, ready_crowd, spec, summary, taints};

const OTHERS: &str = "example.com/others";

async fn tainted(test: &TestCluster, name: &str, wanted: bool) -> Result<()> {
    eventually(&format!("{name} tainted: {wanted}"), async || {
        let found = taints(&test.node(name).await?);
        let is = found.iter().any(|key| key == READINESS_TAINT);
        Ok(if is == wanted {
            Vec::new()
        } else {
            vec![format!("{found:?}")]
        })
    })
    .await
}

async fn others_stay(test: &TestCluster, name: &str) -> Result<()> {
    let found = taints(&test.node(name).await?);
    ensure!(found.iter().any(|key| key == OTHERS), "{found:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_set_unless_asked_for() -> Result<()> {
    let test = ready_crowd(2, spec("None")).await?;
    let repair = test
        .simulator
        .break_node(&node(1), &NodeFault::BlockExhausted)
        .await?;
    condition(&test, &node(1), "False", "BlockExhausted").await?;
    ensure!(taints(&test.node(&node(1)).await?).is_empty(), "not asked for");

    // Enabled later, and removed when it is disabled.
    test.apply(spec("Continuous")).await?;
    tainted(&test, &node(1), true).await?;
    tainted(&test, &node(0), false).await?;
    test.apply(spec("None")).await?;
    tainted(&test, &node(1), false).await?;

    // A taint of this key that is not ours stays while nothing is asked for.
    let words = format!("taint node {} {READINESS_TAINT}=pending:NoSchedule", node(1));
    test.cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    repair.run().await?;
    condition(&test, &node(1), "True", "AsExpected").await?;
    test.quiet().await?;
    tainted(&test, &node(1), true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn startup_taints_a_new_node_until_it_is_ready() -> Result<()> {
    let test = crowd(1).await?;
    test.apply(spec("Startup")).await?;
    summary(&test, "1/1").await?;
    tainted(&test, &node(0), false).await?;

    // A node that joins with a taint of its own, and cannot work yet.
    let joins = flawless("late")
        .taint(format!("{OTHERS}=x:NoSchedule"))
        .kernel_version("10.0.20348.1");
    test.cluster.add_node(joins).await?;
    tainted(&test, "late", true).await?;
    others_stay(&test, "late").await?;
    for name in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
        test.until("our own pods come nevertheless", async || {
            let set = test.daemon_set(name).await?;
            Ok((set["status"]["numberReady"] == 2).then_some(()))
        })
        .await?;
    }
    let repair = test
        .simulator
        .break_node("late", &NodeFault::Kernel("10.0.20348.3207"))
        .await?;
    condition(&test, "late", "True", "AsExpected").await?;
    tainted(&test, "late", false).await?;
    others_stay(&test, "late").await?;

    // Once ready, it is never tainted again.
    repair.run().await?;
    condition(&test, "late", "False", "OSBuildUnsupported").await?;
    test.quiet().await?;
    tainted(&test, "late", false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn continuous_taints_whatever_does_not_work() -> Result<()> {
    let test = ready_crowd(2, spec("Continuous")).await?;
    let words = format!("taint node {} {OTHERS}=x:NoSchedule", node(0));
    test.cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    for _ in 0..2 {
        let repair = test
            .simulator
            .break_node(&node(0), &NodeFault::BlockExhausted)
            .await?;
        tainted(&test, &node(0), true).await?;
        others_stay(&test, &node(0)).await?;
        repair.run().await?;
        tainted(&test, &node(0), false).await?;
        others_stay(&test, &node(0)).await?;
    }
    tainted(&test, &node(1), false).await?;

    // The taint goes with the config, and the others stay.
    let _stays = test
        .simulator
        .break_node(&node(0), &NodeFault::BlockExhausted)
        .await?;
    tainted(&test, &node(0), true).await?;
    test.delete_and_wait().await?;
    let left = test.node(&node(0)).await?;
    ensure!(taints(&left) == [OTHERS], "{:?}", taints(&left));
    ensure!(
        left.pointer("/metadata/annotations/windowsnode.dev~1tainted")
            .is_none(),
        "{left:#}"
    );
    test.apply(json!({"network": {"type": "CalicoVXLAN"}})).await?;
    summary(&test, "1/2").await
}

/// A taint is an entry of one list: whoever writes the list must not lose the entries of others.
#[tokio::test(flavor = "multi_thread")]
async fn taints_written_at_the_same_time_all_stay() -> Result<()> {
    const ROUNDS: usize = 12;
    let test = ready_crowd(2, spec("Continuous")).await?;
    let name = node(0);
    for round in 0..ROUNDS {
        let key = format!("{OTHERS}-{round}");
        let words = format!("taint node {name} {key}=x:NoSchedule");
        let words: Vec<_> = words.split(' ').collect();
        // Set and removed in turn, while `kubectl` reads, changes and writes the same list.
        let breaks = test.simulator.break_node(&name, &NodeFault::BlockExhausted);
        let (repair, other) = tokio::join!(breaks, test.cluster.kubectl(&words));
        other?;
        repair?.run().await?;
    }
    tainted(&test, &name, false).await?;
    test.quiet().await?;
    let found = taints(&test.node(&name).await?);
    for round in 0..ROUNDS {
        let key = format!("{OTHERS}-{round}");
        ensure!(found.contains(&key), "{key} was lost: {found:?}");
    }
    Ok(())
}

/// What is no Windows node any more is not kept from Linux pods for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_no_longer_ours_is_free() -> Result<()> {
    let test = ready_crowd(2, spec("Continuous")).await?;
    let _stays = test
        .simulator
        .break_node(&node(0), &NodeFault::BlockExhausted)
        .await?;
    tainted(&test, &node(0), true).await?;
    let words = format!("label node {} kubernetes.io/os=linux --overwrite", node(0));
    test.cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    summary(&test, "1/1").await?;
    tainted(&test, &node(0), false).await
}
