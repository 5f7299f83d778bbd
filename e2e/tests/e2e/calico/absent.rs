//! Calico before its first IPAM call and without a FelixConfiguration.

use anyhow::{Result, ensure};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_and_removed(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = TestCluster::without_operator(ClusterOptions {
        calico_objects: false,
        ..options(calico_api)
    })
    .await?;
    let information = json!({"calicoVersion": "v3.32.1", "datastoreReady": true});
    create(
        &test,
        "ClusterInformation",
        "clusterinformations",
        DEFAULT,
        information,
    )
    .await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test
        .condition("CalicoConfigured", "False", "NoUsablePool")
        .await?;
    says(&message, &["IPPool", "nodeSelector"])?;

    let pool = json!({"cidr": "10.244.0.0/16", "blockSize": 26, "ipipMode": "Always", "natOutgoing": true});
    create_pool(&test, POOL_NAME, pool).await?;
    test.ready().await?;
    let ipam = test.spec(IPAM, DEFAULT).await?;
    ensure!(
        ipam["strictAffinity"] == true && ipam["autoAllocateBlocks"] == true,
        "{ipam}"
    );
    let felix = test.spec(FELIX, DEFAULT).await?;
    for (field, value) in [
        ("ipipEnabled", json!(false)),
        ("vxlanEnabled", json!(true)),
        ("vxlanVNI", json!(4096)),
        ("vxlanPort", json!(4789)),
    ] {
        same(field, &felix[field], &value)?;
    }
    for (name, original) in originals(&test).await? {
        let created = original["created"].as_bool().unwrap_or_default();
        ensure!(created != name.starts_with("IPPool"), "{name}: {original}");
    }

    test.delete_and_wait().await?;
    ensure!(
        test.spec(IPAM, DEFAULT).await?.is_null(),
        "IPAM configuration is left"
    );
    ensure!(
        test.spec(FELIX, DEFAULT).await?.is_null(),
        "Felix configuration is left"
    );
    let pool = test.spec(POOL, POOL_NAME).await?;
    ensure!(
        pool["ipipMode"] == "Always" && pool.get("vxlanMode").is_none(),
        "{pool}"
    );

    // What somebody else wrote to is no longer only ours to remove.
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.edit(FELIX, DEFAULT, json!({"logSeverityScreen": "Debug"}), PERSON)
        .await?;
    test.quiet().await?;
    test.delete_and_wait().await?;
    says(
        &test.event("NotRestored", "FelixConfiguration default").await?,
        &[PERSON, "created"],
    )?;
    same(
        "their field",
        &test.spec(FELIX, DEFAULT).await?["logSeverityScreen"],
        &json!("Debug"),
    )?;
    ensure!(
        test.spec(IPAM, DEFAULT).await?.is_null(),
        "IPAM configuration is left"
    );
    Ok(())
}
