//! A reservation that covers a Windows node's block is reported on the cluster and on the node.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::*;

async fn node_says(test: &TestCluster, status: &str, reason: &str) -> Result<()> {
    test.until(&format!("{NODE} is {status} {reason}"), async || {
        let node = test.node(NODE).await?;
        let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
        let ours = conditions
            .into_iter()
            .flatten()
            .find(|c| c["type"] == NODE_CONDITION);
        Ok(ours
            .is_some_and(|c| c["status"] == status && c["reason"] == reason)
            .then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn reserved_addresses_are_not_free() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, false).await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    advised(&test, &[]).await?;
    node_says(&test, "True", "AsExpected").await?;

    // Nothing of the block itself changes.
    let all = json!({"reservedCIDRs": ["10.244.0.0/26"]});
    create(&test, "IPReservation", "ipreservations", "all", all).await?;
    let config = advised(&test, &["WN1033"]).await?;
    ensure!(list(&config)[0]["severity"] == "Error", "{config:#}");
    node_says(&test, "False", "BlockExhausted").await?;
    test.condition_says("NodesReady", "False", "NodesNotReady", &["BlockExhausted"])
        .await?;

    let one = json!({"reservedCIDRs": ["10.244.0.10/32"]});
    patch(&test, "IPReservation", "ipreservations", "all", one).await?;
    advised(&test, &["WN1034"]).await?;
    node_says(&test, "True", "AsExpected").await?;

    delete(&test, "ipreservations", "all").await?;
    advised(&test, &[]).await?;
    test.ready().await
}
