//! Calico set otherwise than Windows needs it, and fields that change while nobody looks.

use anyhow::{Result, ensure};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn wrong_values_are_put_right(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = TestCluster::with_operator(options(calico_api)).await?;
    test.edit(
        POOL,
        POOL_NAME,
        json!({"ipipMode": "Never", "vxlanMode": "CrossSubnet"}),
        PERSON,
    )
    .await?;
    let felix = json!({"ipipEnabled": true, "vxlanEnabled": false, "vxlanVNI": 100, "vxlanPort": 8472});
    test.edit(FELIX, DEFAULT, felix, PERSON).await?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(&test, "VNI 100 is too low for Windows", &vxlan(&before, 4096)).await?;
    test.event("CalicoPatched", "spec.vxlanPort from 8472 to 4789")
        .await?;
    test.delete_and_wait().await?;
    specs_are(&test, "after delete", &before).await?;

    // One that Windows can use is kept.
    test.edit(FELIX, DEFAULT, json!({"vxlanVNI": 5000}), PERSON)
        .await?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(&test, "VNI 5000 is kept", &vxlan(&before, 5000)).await?;

    // While nobody looks, one field is set otherwise, another removed, a third put back by hand.
    test.kill_operator();
    test.edit(POOL, POOL_NAME, json!({"vxlanMode": "Never"}), PERSON)
        .await?;
    test.edit(
        FELIX,
        DEFAULT,
        json!({"vxlanPort": null, "ipipEnabled": true}),
        PERSON,
    )
    .await?;
    test.delete().await?;
    test.start_operator().await?;
    let gone = async || {
        let config = wn_e2e::objects::configs(&test.client).get_opt(DEFAULT).await?;
        Ok(config.is_none().then_some(()))
    };
    test.until("the config is gone", gone).await?;
    let expected = specs_with(
        &before,
        &[
            (POOL, POOL_NAME, json!({"vxlanMode": "Never"})),
            (FELIX, DEFAULT, json!({"vxlanPort": null})),
        ],
    );
    specs_are(&test, "what was changed since is left", &expected).await?;
    says(
        &test.event("NotRestored", "spec.vxlanMode").await?,
        &[
            "IPPool default-ipv4-ippool",
            "the operator set Always",
            "it is Never now",
            "was CrossSubnet",
        ],
    )?;
    says(
        &test.event("NotRestored", "spec.vxlanPort").await?,
        &["absent", "8472"],
    )?;
    let events = test.events().await?;
    let ipip = events
        .iter()
        .find(|e| e.starts_with("NotRestored") && e.contains("ipip"));
    ensure!(ipip.is_none(), "what is as it was needs no word: {ipip:?}");
    Ok(())
}
