//! `CalicoBGP`, and the way between the network types.

use anyhow::Result;
use rstest::rstest;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

/// What Windows nodes need with `CalicoBGP`, on top of what was there.
fn bgp(specs: &Value) -> Value {
    specs_with(
        specs,
        &[
            (IPAM, DEFAULT, json!({"strictAffinity": true})),
            (
                POOL,
                POOL_NAME,
                json!({"ipipMode": "Never", "vxlanMode": "Never"}),
            ),
            (
                FELIX,
                DEFAULT,
                json!({"ipipEnabled": false, "vxlanEnabled": false}),
            ),
        ],
    )
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn bgp_vxlan_and_back(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    let original = stage.calico_specs().await?;
    stage.apply(minimal("CalicoBGP")).await?;
    stage.ready().await?;
    specs_are(&stage, "BGP", &bgp(&original)).await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "BGP given back", &original).await?;

    // A VNI below what Windows can use and a port: VXLAN sets both, BGP does not want them.
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanVNI": 100}), PERSON)
        .await?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(&stage, "VXLAN", &vxlan(&before, 4096)).await?;
    stage.apply(minimal("CalicoBGP")).await?;
    stage.ready().await?;
    specs_are(&stage, "VXLAN, then BGP", &bgp(&before)).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(&stage, "and VXLAN again", &vxlan(&before, 4096)).await?;
    stage.apply(minimal("CalicoBGP")).await?;
    stage.ready().await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "all given back", &before).await
}
