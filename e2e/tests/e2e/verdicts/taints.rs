//! The readiness taint: set and taken off as the spec says, and no other taint ever touched.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_api::names::{READINESS_TAINT, kube_proxy, node_agent};
use wn_e2e::simulator::Mishap;
use wn_e2e::stage::Stage;

use super::support::{condition, crowd, eventually, flawless, node, ready_crowd, spec, summary, taints};

const OTHERS: &str = "example.com/others";

async fn tainted(stage: &Stage, name: &str, wanted: bool) -> Result<()> {
    eventually(&format!("{name} tainted: {wanted}"), async || {
        let found = taints(&stage.node(name).await?);
        let is = found.iter().any(|key| key == READINESS_TAINT);
        Ok(if is == wanted {
            Vec::new()
        } else {
            vec![format!("{found:?}")]
        })
    })
    .await
}

async fn others_stay(stage: &Stage, name: &str) -> Result<()> {
    let found = taints(&stage.node(name).await?);
    ensure!(found.iter().any(|key| key == OTHERS), "{found:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn none_is_set_unless_asked_for() -> Result<()> {
    let stage = ready_crowd(2, spec("None")).await?;
    let mend = stage.simulator.befall(&node(1), &Mishap::BlockExhausted).await?;
    condition(&stage, &node(1), "False", "BlockExhausted").await?;
    ensure!(taints(&stage.node(&node(1)).await?).is_empty(), "not asked for");

    // Asked for later, and taken off when it is asked for no more.
    stage.apply(spec("Continuous")).await?;
    tainted(&stage, &node(1), true).await?;
    tainted(&stage, &node(0), false).await?;
    stage.apply(spec("None")).await?;
    tainted(&stage, &node(1), false).await?;

    // A taint of this key that is not ours stays while nothing is asked for.
    let words = format!("taint node {} {READINESS_TAINT}=pending:NoSchedule", node(1));
    stage
        .cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    mend.run().await?;
    condition(&stage, &node(1), "True", "AsExpected").await?;
    stage.quiet().await?;
    tainted(&stage, &node(1), true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn startup_taints_a_new_node_until_it_is_ready() -> Result<()> {
    let stage = crowd(1).await?;
    stage.apply(spec("Startup")).await?;
    summary(&stage, "1/1").await?;
    tainted(&stage, &node(0), false).await?;

    // A node that joins with a taint of its own, and cannot work yet.
    let joins = flawless("late")
        .taint(format!("{OTHERS}=x:NoSchedule"))
        .kernel_version("10.0.20348.1");
    stage.cluster.add_node(joins).await?;
    tainted(&stage, "late", true).await?;
    others_stay(&stage, "late").await?;
    for name in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
        stage
            .until("our own pods come nevertheless", async || {
                let set = stage.daemon_set(name).await?;
                Ok((set["status"]["numberReady"] == 2).then_some(()))
            })
            .await?;
    }
    let mend = stage
        .simulator
        .befall("late", &Mishap::Kernel("10.0.20348.3207"))
        .await?;
    condition(&stage, "late", "True", "AsExpected").await?;
    tainted(&stage, "late", false).await?;
    others_stay(&stage, "late").await?;

    // Once ready, it is never tainted again.
    mend.run().await?;
    condition(&stage, "late", "False", "OSBuildUnsupported").await?;
    stage.quiet().await?;
    tainted(&stage, "late", false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn continuous_taints_whatever_does_not_work() -> Result<()> {
    let stage = ready_crowd(2, spec("Continuous")).await?;
    let words = format!("taint node {} {OTHERS}=x:NoSchedule", node(0));
    stage
        .cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    for _ in 0..2 {
        let mend = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
        tainted(&stage, &node(0), true).await?;
        others_stay(&stage, &node(0)).await?;
        mend.run().await?;
        tainted(&stage, &node(0), false).await?;
        others_stay(&stage, &node(0)).await?;
    }
    tainted(&stage, &node(1), false).await?;

    // The taint goes with the config, and the others stay.
    let _stays = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
    tainted(&stage, &node(0), true).await?;
    stage.delete_and_wait().await?;
    let left = stage.node(&node(0)).await?;
    ensure!(taints(&left) == [OTHERS], "{:?}", taints(&left));
    ensure!(
        left.pointer("/metadata/annotations/windowsnode.dev~1tainted")
            .is_none(),
        "{left:#}"
    );
    stage.apply(json!({"network": {"type": "CalicoVXLAN"}})).await?;
    summary(&stage, "1/2").await
}

/// A taint is an entry of one list: whoever writes the list must not lose the entries of others.
#[tokio::test(flavor = "multi_thread")]
async fn taints_written_at_the_same_time_all_stay() -> Result<()> {
    const ROUNDS: usize = 12;
    let stage = ready_crowd(2, spec("Continuous")).await?;
    let name = node(0);
    for round in 0..ROUNDS {
        let key = format!("{OTHERS}-{round}");
        let words = format!("taint node {name} {key}=x:NoSchedule");
        let words: Vec<_> = words.split(' ').collect();
        // Set and taken off in turn, while `kubectl` reads, changes and writes the same list.
        let breaks = stage.simulator.befall(&name, &Mishap::BlockExhausted);
        let (mend, other) = tokio::join!(breaks, stage.cluster.kubectl(&words));
        other?;
        mend?.run().await?;
    }
    tainted(&stage, &name, false).await?;
    stage.quiet().await?;
    let found = taints(&stage.node(&name).await?);
    for round in 0..ROUNDS {
        let key = format!("{OTHERS}-{round}");
        ensure!(found.contains(&key), "{key} was lost: {found:?}");
    }
    Ok(())
}

/// What is no Windows node any more is not kept from Linux pods for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_no_longer_ours_is_free() -> Result<()> {
    let stage = ready_crowd(2, spec("Continuous")).await?;
    let _stays = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
    tainted(&stage, &node(0), true).await?;
    let words = format!("label node {} kubernetes.io/os=linux --overwrite", node(0));
    stage
        .cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    summary(&stage, "1/1").await?;
    tainted(&stage, &node(0), false).await
}
