//! Pools that already serve pods.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_in_use_is_held_until_migration_is_allowed(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    linux_pod(&stage).await?;
    let before = stage.calico_specs().await?;
    let began = Timestamp::now();
    stage.apply(minimal("CalicoVXLAN")).await?;
    let message = stage.condition("CalicoConfigured", "False", "PoolInUse").await?;
    says(
        &message,
        &[
            POOL_NAME,
            "ipipMode: Never, vxlanMode: Always",
            "whenInUse",
            "Migrate",
        ],
    )?;
    stage.quiet().await?;
    let expected = specs_with(&before, &[(IPAM, DEFAULT, json!({"strictAffinity": true}))]);
    specs_are(&stage, "held", &expected).await?;
    let writes = calico_writes(&stage, began)?;
    ensure!(
        writes.iter().all(|w| w.resource.starts_with("ipamconfig")),
        "no encapsulation: {:?}",
        lines(&writes)
    );
    ensure!(
        stage.daemon_set("calico-node-windows").await?.is_null(),
        "agents wait for Calico"
    );

    let mut migrate = minimal("CalicoVXLAN");
    migrate["calico"] = json!({"encapsulation": {"whenInUse": "Migrate"}});
    stage.apply(migrate.clone()).await?;
    stage.ready().await?;
    specs_are(&stage, "migrated", &vxlan(&before, 4096)).await?;
    // What we hold is held: a change back by hand is drift, not a pool to be spared.
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    stage
        .edit(POOL, POOL_NAME, json!({"vxlanMode": "CrossSubnet"}), PERSON)
        .await?;
    stage
        .event("DriftRepaired", "spec.vxlanMode from CrossSubnet to Always")
        .await?;
    stage.ready().await?;
    // Giving it back interrupts these pods, too.
    stage.delete().await?;
    let parts = [
        POOL_NAME,
        "waiting to set",
        "spec.vxlanMode: Never",
        "whenInUse to Migrate",
    ];
    stage
        .condition_says("Ready", "False", "Restoring", &parts)
        .await?;
    stage.apply(migrate).await?;
    stage.gone().await?;
    specs_are(&stage, "given back", &before).await
}
