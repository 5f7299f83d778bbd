//! Pools that already serve pods.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_in_use_is_held_until_migration_is_allowed(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    linux_pod(&test).await?;
    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test.condition("CalicoConfigured", "False", "PoolInUse").await?;
    says(
        &message,
        &[
            POOL_NAME,
            "ipipMode: Never, vxlanMode: Always",
            "whenInUse",
            "Migrate",
        ],
    )?;
    test.quiet().await?;
    let expected = specs_with(&before, &[(IPAM, DEFAULT, json!({"strictAffinity": true}))]);
    specs_are(&test, "held", &expected).await?;
    let writes = calico_writes(&test, began)?;
    ensure!(
        writes.iter().all(|w| w.resource.starts_with("ipamconfig")),
        "no encapsulation: {:?}",
        lines(&writes)
    );
    ensure!(
        test.daemon_set("calico-node-windows").await?.is_null(),
        "agents wait for Calico"
    );

    let mut migrate = minimal("CalicoVXLAN");
    migrate["calico"] = json!({"encapsulation": {"whenInUse": "Migrate"}});
    test.apply(migrate.clone()).await?;
    test.ready().await?;
    specs_are(&test, "migrated", &vxlan(&before, 4096)).await?;
    // What we hold is held: a change back by hand is drift, not a pool to be spared.
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.edit(POOL, POOL_NAME, json!({"vxlanMode": "CrossSubnet"}), PERSON)
        .await?;
    test.event("DriftRepaired", "spec.vxlanMode from CrossSubnet to Always")
        .await?;
    test.ready().await?;
    // Giving it back interrupts these pods, too.
    test.delete().await?;
    let parts = [
        POOL_NAME,
        "waiting to set",
        "spec.vxlanMode: Never",
        "whenInUse to Migrate",
    ];
    test.condition_says("Ready", "False", "Restoring", &parts).await?;
    test.apply(migrate).await?;
    test.gone().await?;
    specs_are(&test, "restored", &before).await
}
