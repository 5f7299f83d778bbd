//! In mode Observe nothing is written, and what limits Windows nodes is told all the same.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::support::*;

async fn specs(stage: &Stage) -> Result<serde_json::Value> {
    stage.calico_specs().await
}

#[tokio::test(flavor = "multi_thread")]
async fn observing_advises() -> Result<()> {
    let mut stage = stage(CalicoApi::V1, false).await?;
    felix(&stage, json!({"bpfEnabled": true, "vxlanPort": 8472})).await?;
    let before = specs(&stage).await?;
    stage.start().await?;
    let mut spec = minimal("CalicoVXLAN");
    spec["mode"] = json!("Observe");
    stage.apply(spec).await?;
    let config = advised(&stage, &["WN1003", "WN1002"]).await?;
    ensure!(
        config["status"]["pendingChanges"]
            .to_string()
            .contains("vxlanPort from 8472 to 4789"),
        "{config:#}"
    );
    stage
        .condition_says("Advisories", "True", "AdvisoriesFound", &["1 Error, 1 Warning"])
        .await?;
    stage.event("AdvisoriesFound", "vxlanPort is 8472").await?;
    stage.quiet().await?;
    ensure!(
        specs(&stage).await? == before,
        "Calico was written in mode Observe"
    );

    // Managed, the port is put right, and what is left is what nobody can put right.
    stage.apply(minimal("CalicoVXLAN")).await?;
    advised(&stage, &["WN1002"]).await?;
    stage.ready().await
}
