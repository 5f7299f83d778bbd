//! In mode Observe nothing is written, but advisories are reported.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::*;

async fn specs(test: &TestCluster) -> Result<serde_json::Value> {
    test.calico_specs().await
}

#[tokio::test(flavor = "multi_thread")]
async fn observing_advises() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, false).await?;
    felix(&test, json!({"bpfEnabled": true, "vxlanPort": 8472})).await?;
    let before = specs(&test).await?;
    test.start_operator().await?;
    let mut spec = minimal("CalicoVXLAN");
    spec["mode"] = json!("Observe");
    test.apply(spec).await?;
    let config = advised(&test, &["WN1003", "WN1002"]).await?;
    ensure!(
        config["status"]["pendingChanges"]
            .to_string()
            .contains("vxlanPort from 8472 to 4789"),
        "{config:#}"
    );
    test.condition_says("Advisories", "True", "AdvisoriesFound", &["1 Error, 1 Warning"])
        .await?;
    test.event("AdvisoriesFound", "vxlanPort is 8472").await?;
    test.quiet().await?;
    ensure!(
        specs(&test).await? == before,
        "Calico was written in mode Observe"
    );

    // In mode Manage the port is corrected, and only limits that nobody can change are left.
    test.apply(minimal("CalicoVXLAN")).await?;
    advised(&test, &["WN1002"]).await?;
    test.ready().await
}
