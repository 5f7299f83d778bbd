//! Many nodes: causes that are shared, nodes that come and go, and a restart in the middle of a storm.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::simulator::{Fault, Mishap};
use wn_e2e::stage::{Stage, minimal};

use super::support::{
    Complaints, all_ready, condition, count, eventually, line, node, nodes_of, ready_crowd, remove, said,
    spec, summary, told_in_all,
};

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_a_reason() -> Result<()> {
    let stage = ready_crowd(3, spec("None")).await?;
    let one = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
    let other = stage.simulator.befall(&node(2), &Mishap::BlockExhausted).await?;
    summary(&stage, "1/3").await?;
    let both = ["2 nodes: BlockExhausted (win-0, win-2)"];
    stage
        .condition_says("NodesReady", "False", "NodesNotReady", &both)
        .await?;
    stage
        .condition_says("Ready", "False", "NodesNotReady", &both)
        .await?;
    let config = stage.config().await?;
    ensure!(
        count(&config, "BlockExhausted")["nodes"] == 2,
        "{:#}",
        nodes_of(&config)
    );
    ensure!(nodes_of(&config)["failing"] == 2, "{:#}", nodes_of(&config));
    one.run().await?;
    summary(&stage, "2/3").await?;
    stage
        .condition_says(
            "NodesReady",
            "False",
            "NodesNotReady",
            &["1 node: BlockExhausted (win-2)"],
        )
        .await?;
    other.run().await?;
    all_ready(&stage, 3).await?;
    stage.ready().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_takes_its_verdict_along() -> Result<()> {
    let stage = ready_crowd(3, spec("None")).await?;
    let _gone = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
    let _renamed = stage.simulator.befall(&node(1), &Mishap::BlockExhausted).await?;
    summary(&stage, "1/3").await?;
    remove(&stage, &node(0)).await?;
    summary(&stage, "1/2").await?;
    // Somebody's mistake, or a name that is used anew: it is no Windows node any more.
    let words = format!("label node {} kubernetes.io/os=linux --overwrite", node(1));
    stage
        .cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    summary(&stage, "1/1").await?;
    stage.ready().await?;
    let config = stage.config().await?;
    ensure!(line(&config, &node(1)).is_null(), "{:#}", nodes_of(&config));
    Ok(())
}

/// What is stored on the Nodes, times included.
async fn conditions(stage: &Stage, nodes: usize) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for number in 0..nodes {
        found.push(said(&stage.node(&node(number)).await?).clone());
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_a_storm_ends_in_one_right_status() -> Result<()> {
    const NODES: usize = 12;
    let mut stage = ready_crowd(NODES, spec("None")).await?;
    // One that was broken before keeps its time and is not told again.
    let long = stage.simulator.befall(&node(0), &Mishap::BlockExhausted).await?;
    let before = condition(&stage, &node(0), "False", "BlockExhausted").await?;
    for number in 1..NODES {
        stage.simulator.inject(&node(number), Fault::AgentNotReady);
    }
    eventually("the storm has begun", async || {
        let config = stage.config().await?;
        let ready = nodes_of(&config)["ready"].as_i64().unwrap_or_default();
        Ok(if ready < 11 {
            Vec::new()
        } else {
            vec![format!("{ready} ready")]
        })
    })
    .await?;
    stage.kill();
    stage.start().await?;
    summary(&stage, &format!("0/{NODES}")).await?;
    for number in 1..NODES {
        condition(&stage, &node(number), "False", "AgentNotReady").await?;
    }
    stage.quiet().await?;
    let (stored, told) = (
        conditions(&stage, NODES).await?,
        told_in_all(&stage, NODES).await?,
    );
    ensure!(
        stored[0]["lastTransitionTime"] == before["lastTransitionTime"],
        "{:#}",
        stored[0]
    );

    // And a restart in the calm changes nothing and tells nothing.
    let status = stage.config().await?["status"].clone();
    stage.kill();
    stage.start().await?;
    stage.quiet().await?;
    ensure!(
        conditions(&stage, NODES).await? == stored,
        "conditions changed without a cause"
    );
    ensure!(told_in_all(&stage, NODES).await? == told, "told again");
    ensure!(
        stage.config().await?["status"] == status,
        "the status changed without a cause"
    );

    for number in 1..NODES {
        stage.simulator.clear(&node(number));
    }
    long.run().await?;
    all_ready(&stage, NODES).await?;
    stage.ready().await
}

/// Our conditions go with the config.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_ours_stays_on_nodes() -> Result<()> {
    let stage = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    for number in 0..2 {
        condition(&stage, &node(number), "True", "AsExpected").await?;
    }
    stage.delete_and_wait().await?;
    let mut left = Complaints::default();
    for number in 0..2 {
        let found = stage.node(&node(number)).await?;
        left.holds(
            || format!("{NODE_CONDITION} is still on {}", node(number)),
            said(&found).is_null(),
        );
    }
    ensure!(left.0.is_empty(), "{:?}", left.0);
    Ok(())
}

/// What does not work comes first, and the counts know of all.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_as_long_as_asked_for() -> Result<()> {
    let limited =
        |limit: u32| json!({"network": {"type": "CalicoVXLAN"}, "status": {"nodeListLimit": limit}});
    let stage = ready_crowd(3, limited(1)).await?;
    let _stays = stage.simulator.befall(&node(2), &Mishap::BlockExhausted).await?;
    for limit in [1, 0, 2, 3] {
        stage.apply(limited(limit)).await?;
        eventually(&format!("{limit} are listed"), async || {
            let config = stage.config().await?;
            let nodes = nodes_of(&config);
            let list = nodes["list"].as_array().map_or(0, Vec::len);
            let mut wrong = Complaints::default();
            wrong.equal("summary", &nodes["summary"], "2/3");
            wrong.equal("listed", &json!(list), limit);
            wrong.equal(
                "omitted",
                &json!(nodes["omitted"].as_u64().unwrap_or(0)),
                3 - limit,
            );
            if limit > 0 {
                wrong.equal("first", &nodes["list"][0]["name"], node(2));
            }
            Ok(wrong.0)
        })
        .await?;
    }
    Ok(())
}
