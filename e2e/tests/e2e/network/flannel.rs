//! flannel's two backends.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_api::names::{kube_proxy, network_agent, node_agent};
use wn_e2e::objects::text;
use wn_e2e::stage::minimal;

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn vxlan_is_held_migrated_repaired_and_given_back() -> Result<()> {
    let mut stage = stage().await?;
    stage.start().await?;
    stage.apply(spec("FlannelVXLAN")).await?;
    stage
        .condition_says(
            "NetworkConfigured",
            "False",
            "InputMissing",
            &["kube-flannel-cfg"],
        )
        .await?;

    install_flannel(&stage, "vxlan").await?;
    let parts = ["Backend.VNI: 4096", "whenInUse to Migrate", "rollout restart"];
    stage
        .condition_says("NetworkConfigured", "False", "NetworkInUse", &parts)
        .await?;
    stage.condition("Stalled", "True", "NetworkInUse").await?;
    ensure!(stored(&stage).await? == net_conf("vxlan"), "it was changed");
    ensure!(
        stage
            .daemon_set(network_agent::FLANNEL_DAEMON_SET)
            .await?
            .is_null()
    );

    stage.apply(migrating("FlannelVXLAN")).await?;
    stage.ready().await?;
    let ours = stored(&stage).await?;
    let expected =
        net_conf("vxlan").replace("\"vxlan\"", "\"vxlan\",\n    \"Port\": 4789,\n    \"VNI\": 4096");
    ensure!(ours == expected, "{ours}");
    stage
        .event("NetworkPatched", "Backend.VNI from absent to 4096")
        .await?;
    stage
        .condition_says(
            "NetworkConfigured",
            "True",
            "AsExpected",
            &["rollout restart ds/kube-flannel-ds"],
        )
        .await?;
    stage
        .condition("NodeAgentAvailable", "True", "NotApplicable")
        .await?;
    stage
        .condition("CalicoConfigured", "True", "NotApplicable")
        .await?;
    ensure!(stage.daemon_set(node_agent::DAEMON_SET).await?.is_null());
    let proxy = stage.daemon_set(kube_proxy::DAEMON_SET).await?.to_string();
    ensure!(
        proxy.contains("--network-name=flannel.4096") && proxy.contains("SOURCE_VIP_IPAM"),
        "{proxy}"
    );
    let config = stage.config().await?;
    ensure!(
        text(&config, "/status/networkAgent/daemonSet").ends_with("kube-flannel-windows"),
        "{config}"
    );
    let originals = &config["status"]["calico"]["originals"];
    ensure!(originals.as_array().is_some_and(|o| o.len() == 2), "{originals}");

    edit(&stage, &ours.replace("4096", "1")).await?;
    let event = stage.event("DriftRepaired", "Backend.VNI from 1 to 4096").await?;
    ensure!(event.contains(PERSON), "{event}");
    stored_until(&stage, "the VNI is put right", |text| text == ours).await?;
    // What is not ours stays as they made it.
    edit(
        &stage,
        &ours.replace("\"EnableNFTables\": false", "\"EnableNFTables\": true"),
    )
    .await?;
    stage.quiet().await?;
    ensure!(stored(&stage).await?.contains("\"EnableNFTables\": true"));

    stage.delete_and_wait().await?;
    let given = stored(&stage).await?;
    ensure!(given == net_conf("vxlan").replace("false", "true"), "{given}");
    stage
        .event("NetworkRestored", "Backend.Port from 4789 to absent")
        .await?;
    for name in [network_agent::FLANNEL_DAEMON_SET, kube_proxy::DAEMON_SET] {
        ensure!(stage.daemon_set(name).await?.is_null(), "{name} is left");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn host_gateway_works_and_another_backend_is_refused() -> Result<()> {
    let mut stage = stage().await?;
    install_flannel(&stage, "host-gw").await?;
    stage.start().await?;
    stage.apply(spec("FlannelVXLAN")).await?;
    stage
        .condition_says(
            "NetworkConfigured",
            "False",
            "InputInvalid",
            &["Backend.Type is host-gw", "FlannelHostGateway"],
        )
        .await?;
    stage.apply(spec("FlannelHostGateway")).await?;
    stage.ready().await?;
    let proxy = stage.daemon_set(kube_proxy::DAEMON_SET).await?.to_string();
    ensure!(
        proxy.contains("--network-name=cbr0") && !proxy.contains("SOURCE_VIP"),
        "{proxy}"
    );
    ensure!(
        stored(&stage).await? == net_conf("host-gw"),
        "it is only looked at"
    );

    // Without an image there is nothing to run, and none is made up.
    stage.apply(minimal("FlannelHostGateway")).await?;
    let parts = ["spec.networkAgent.image", "docs/images.md"];
    stage
        .condition_says("Ready", "False", "InvalidSpec", &parts)
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observe_lists_what_it_would_do() -> Result<()> {
    let mut stage = stage().await?;
    install_flannel(&stage, "vxlan").await?;
    stage.start().await?;
    let mut observing = migrating("FlannelVXLAN");
    observing["mode"] = json!("Observe");
    stage.apply(observing).await?;
    stage
        .condition_says(
            "NetworkConfigured",
            "False",
            "ObserveOnly",
            &["Backend.VNI from absent to 4096"],
        )
        .await?;
    let pending = stage.config().await?["status"]["pendingChanges"].to_string();
    for part in [
        "Backend.Port",
        "DaemonSet windows-node-operator/kube-flannel-windows",
    ] {
        ensure!(pending.contains(part), "{pending}");
    }
    ensure!(stored(&stage).await? == net_conf("vxlan"));
    ensure!(
        stage
            .daemon_set(network_agent::FLANNEL_DAEMON_SET)
            .await?
            .is_null()
    );
    Ok(())
}
