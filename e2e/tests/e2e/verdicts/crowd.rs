//! Many nodes: causes that are shared, nodes that come and go, and a restart in the middle of a storm.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::simulator::{Fault, NodeFault};
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::{
    Complaints, all_ready, condition, count, count_events, eventually, line, network_condition, node,
    nodes_of, ready_crowd, spec, summary,
};

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_a_reason() -> Result<()> {
    let test = ready_crowd(3, spec("None")).await?;
    let one = test
        .simulator
        .break_node(&node(0), &NodeFault::BlockExhausted)
        .await?;
    let other = test
        .simulator
        .break_node(&node(2), &NodeFault::BlockExhausted)
        .await?;
    summary(&test, "1/3").await?;
    let both = ["2 nodes: BlockExhausted (win-0, win-2)"];
    test.condition_says("NodesReady", "False", "NodesNotReady", &both)
        .await?;
    test.condition_says("Ready", "False", "NodesNotReady", &both)
        .await?;
    let config = test.config().await?;
    ensure!(
        count(&config, "BlockExhausted")["nodes"] == 2,
        "{:#}",
        nodes_of(&config)
    );
    ensure!(nodes_of(&config)["failing"] == 2, "{:#}", nodes_of(&config));
    one.run().await?;
    summary(&test, "2/3").await?;
    test.condition_says(
        "NodesReady",
        "False",
        "NodesNotReady",
        &["1 node: BlockExhausted (win-2)"],
    )
    .await?;
    other.run().await?;
    all_ready(&test, 3).await?;
    test.ready().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_takes_its_verdict_along() -> Result<()> {
    let test = ready_crowd(3, spec("None")).await?;
    let _gone = test
        .simulator
        .break_node(&node(0), &NodeFault::BlockExhausted)
        .await?;
    let _renamed = test
        .simulator
        .break_node(&node(1), &NodeFault::BlockExhausted)
        .await?;
    summary(&test, "1/3").await?;
    test.remove_node(&node(0)).await?;
    summary(&test, "1/2").await?;
    // Somebody's mistake, or a name that is used again: it is no longer a Windows node.
    let words = format!("label node {} kubernetes.io/os=linux --overwrite", node(1));
    test.cluster
        .kubectl(&words.split(' ').collect::<Vec<_>>())
        .await?;
    summary(&test, "1/1").await?;
    test.ready().await?;
    let config = test.config().await?;
    ensure!(line(&config, &node(1)).is_null(), "{:#}", nodes_of(&config));
    Ok(())
}

/// What is stored on the Nodes, times included.
async fn conditions(test: &TestCluster, nodes: usize) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for number in 0..nodes {
        found.push(network_condition(&test.node(&node(number)).await?).clone());
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_a_storm_ends_in_one_right_status() -> Result<()> {
    const NODES: usize = 12;
    let mut test = ready_crowd(NODES, spec("None")).await?;
    // One that was broken before keeps its time and gets no further Event.
    let long = test
        .simulator
        .break_node(&node(0), &NodeFault::BlockExhausted)
        .await?;
    let before = condition(&test, &node(0), "False", "BlockExhausted").await?;
    for number in 1..NODES {
        test.simulator.inject(&node(number), Fault::AgentNotReady);
    }
    eventually("the storm has begun", async || {
        let config = test.config().await?;
        let ready = nodes_of(&config)["ready"].as_i64().unwrap_or_default();
        Ok(if ready < 11 {
            Vec::new()
        } else {
            vec![format!("{ready} ready")]
        })
    })
    .await?;
    test.kill_operator();
    test.start_operator().await?;
    summary(&test, &format!("0/{NODES}")).await?;
    for number in 1..NODES {
        condition(&test, &node(number), "False", "AgentNotReady").await?;
    }
    test.quiet().await?;
    let (stored, events) = (conditions(&test, NODES).await?, count_events(&test, NODES).await?);
    ensure!(
        stored[0]["lastTransitionTime"] == before["lastTransitionTime"],
        "{:#}",
        stored[0]
    );

    // And a restart in the calm changes nothing and tells nothing.
    let status = test.config().await?["status"].clone();
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    ensure!(
        conditions(&test, NODES).await? == stored,
        "conditions changed without a cause"
    );
    ensure!(count_events(&test, NODES).await? == events, "reported again");
    ensure!(
        test.config().await?["status"] == status,
        "the status changed without a cause"
    );

    for number in 1..NODES {
        test.simulator.clear(&node(number));
    }
    long.run().await?;
    all_ready(&test, NODES).await?;
    test.ready().await
}

/// Our conditions go with the config.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_ours_stays_on_nodes() -> Result<()> {
    let test = ready_crowd(2, minimal("CalicoVXLAN")).await?;
    for number in 0..2 {
        condition(&test, &node(number), "True", "AsExpected").await?;
    }
    test.delete_and_wait().await?;
    let mut left = Complaints::default();
    for number in 0..2 {
        let found = test.node(&node(number)).await?;
        left.holds(
            || format!("{NODE_CONDITION} is still on {}", node(number)),
            network_condition(&found).is_null(),
        );
    }
    ensure!(left.0.is_empty(), "{:?}", left.0);
    Ok(())
}

/// What does not work comes first, and the counts know of all.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_as_long_as_asked_for() -> Result<()> {
    let limited = |limit: u32| json!({"network": {"type": "CalicoVXLAN"}, "nodeListLimit": limit});
    let test = ready_crowd(3, limited(1)).await?;
    let _stays = test
        .simulator
        .break_node(&node(2), &NodeFault::BlockExhausted)
        .await?;
    for limit in [1, 0, 2, 3] {
        test.apply(limited(limit)).await?;
        eventually(&format!("{limit} are listed"), async || {
            let config = test.config().await?;
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
