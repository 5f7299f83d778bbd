//! A reservation that takes a Windows node's block: told of the cluster, and of the node.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::names::NODE_CONDITION;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::support::*;

async fn node_says(stage: &Stage, status: &str, reason: &str) -> Result<()> {
    stage
        .until(&format!("{NODE} is {status} {reason}"), async || {
            let node = stage.node(NODE).await?;
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
    let mut stage = stage(CalicoApi::V1, false).await?;
    stage.start().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    advised(&stage, &[]).await?;
    node_says(&stage, "True", "AsExpected").await?;

    // Nothing of the block itself changes.
    let all = json!({"reservedCIDRs": ["10.244.0.0/26"]});
    create(&stage, "IPReservation", "ipreservations", "all", all).await?;
    let config = advised(&stage, &["WN1033"]).await?;
    ensure!(list(&config)[0]["severity"] == "Error", "{config:#}");
    node_says(&stage, "False", "BlockExhausted").await?;
    stage
        .condition_says("NodesReady", "False", "NodesNotReady", &["BlockExhausted"])
        .await?;

    let one = json!({"reservedCIDRs": ["10.244.0.10/32"]});
    patch(&stage, "IPReservation", "ipreservations", "all", one).await?;
    advised(&stage, &["WN1034"]).await?;
    node_says(&stage, "True", "AsExpected").await?;

    delete(&stage, "ipreservations", "all").await?;
    advised(&stage, &[]).await?;
    stage.ready().await
}
