//! Calico set otherwise than Windows needs it, and fields that change while nobody looks.

use anyhow::{Result, ensure};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn wrong_values_are_put_right(#[case] form: CalicoApi) -> Result<()> {
    let mut stage = Stage::play(options(form)).await?;
    stage
        .edit(
            POOL,
            POOL_NAME,
            json!({"ipipMode": "Never", "vxlanMode": "CrossSubnet"}),
            PERSON,
        )
        .await?;
    let felix = json!({"ipipEnabled": true, "vxlanEnabled": false, "vxlanVNI": 100, "vxlanPort": 8472});
    stage.edit(FELIX, DEFAULT, felix, PERSON).await?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(&stage, "VNI 100 is too low for Windows", &vxlan(&before, 4096)).await?;
    stage
        .event("CalicoPatched", "spec.vxlanPort from 8472 to 4789")
        .await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "after delete", &before).await?;

    // One that Windows can use is kept.
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanVNI": 5000}), PERSON)
        .await?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(&stage, "VNI 5000 is kept", &vxlan(&before, 5000)).await?;

    // While nobody looks, one field is set otherwise, another removed, a third put back by hand.
    stage.kill();
    stage
        .edit(POOL, POOL_NAME, json!({"vxlanMode": "Never"}), PERSON)
        .await?;
    stage
        .edit(
            FELIX,
            DEFAULT,
            json!({"vxlanPort": null, "ipipEnabled": true}),
            PERSON,
        )
        .await?;
    stage.delete().await?;
    stage.start().await?;
    let gone = async || {
        let config = wn_e2e::objects::configs(&stage.client).get_opt(DEFAULT).await?;
        Ok(config.is_none().then_some(()))
    };
    stage.until("the config is gone", gone).await?;
    let expected = specs_with(
        &before,
        &[
            (POOL, POOL_NAME, json!({"vxlanMode": "Never"})),
            (FELIX, DEFAULT, json!({"vxlanPort": null})),
        ],
    );
    specs_are(&stage, "what was changed since is left", &expected).await?;
    says(
        &stage.event("NotRestored", "spec.vxlanMode").await?,
        &[
            "IPPool default-ipv4-ippool",
            "we set Always",
            "it is Never now",
            "was CrossSubnet",
        ],
    )?;
    says(
        &stage.event("NotRestored", "spec.vxlanPort").await?,
        &["absent", "8472"],
    )?;
    let events = stage.events().await?;
    let ipip = events
        .iter()
        .find(|e| e.starts_with("NotRestored") && e.contains("ipip"));
    ensure!(ipip.is_none(), "what is as it was needs no word: {ipip:?}");
    Ok(())
}
