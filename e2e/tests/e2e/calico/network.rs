//! `CalicoBGP`, and the way between the network types.

use anyhow::Result;
use rstest::rstest;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

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
async fn bgp_vxlan_and_back(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let original = test.calico_specs().await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    specs_are(&test, "BGP", &bgp(&original)).await?;
    test.delete_and_wait().await?;
    specs_are(&test, "BGP restored", &original).await?;

    // A VNI below what Windows can use and a port: VXLAN sets both, BGP does not want them.
    test.edit(FELIX, DEFAULT, json!({"vxlanVNI": 100}), PERSON)
        .await?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(&test, "VXLAN", &vxlan(&before, 4096)).await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    specs_are(&test, "VXLAN, then BGP", &bgp(&before)).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(&test, "and VXLAN again", &vxlan(&before, 4096)).await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    test.delete_and_wait().await?;
    specs_are(&test, "all restored", &before).await
}
