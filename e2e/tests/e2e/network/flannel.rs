//! flannel's two backends.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_api::names::{kube_proxy, network_agent, node_agent};
use wn_e2e::objects::text;
use wn_e2e::test_cluster::minimal;

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn vxlan_is_held_migrated_repaired_and_restored() -> Result<()> {
    let mut test = test_cluster().await?;
    test.start_operator().await?;
    test.apply(spec("FlannelVXLAN")).await?;
    test.condition_says(
        "NetworkConfigured",
        "False",
        "InputMissing",
        &["kube-flannel-cfg"],
    )
    .await?;

    install_flannel(&test, "vxlan").await?;
    let parts = ["Backend.VNI: 4096", "whenInUse to Migrate", "rollout restart"];
    test.condition_says("NetworkConfigured", "False", "NetworkInUse", &parts)
        .await?;
    test.condition("Stalled", "True", "NetworkInUse").await?;
    ensure!(stored(&test).await? == net_conf("vxlan"), "it was changed");
    ensure!(
        test.daemon_set(network_agent::FLANNEL_DAEMON_SET)
            .await?
            .is_null()
    );

    test.apply(migrating("FlannelVXLAN")).await?;
    test.ready().await?;
    let ours = stored(&test).await?;
    let expected =
        net_conf("vxlan").replace("\"vxlan\"", "\"vxlan\",\n    \"Port\": 4789,\n    \"VNI\": 4096");
    ensure!(ours == expected, "{ours}");
    test.event("NetworkPatched", "Backend.VNI from absent to 4096")
        .await?;
    test.condition_says(
        "NetworkConfigured",
        "True",
        "AsExpected",
        &["rollout restart ds/kube-flannel-ds"],
    )
    .await?;
    test.condition("NodeAgentAvailable", "True", "NotApplicable")
        .await?;
    test.condition("CalicoConfigured", "True", "NotApplicable")
        .await?;
    ensure!(test.daemon_set(node_agent::DAEMON_SET).await?.is_null());
    let proxy = test.daemon_set(kube_proxy::DAEMON_SET).await?.to_string();
    ensure!(
        proxy.contains("--network-name=flannel.4096") && proxy.contains("SOURCE_VIP_IPAM"),
        "{proxy}"
    );
    let config = test.config().await?;
    ensure!(
        text(&config, "/status/networkAgent/daemonSet").ends_with("kube-flannel-windows"),
        "{config}"
    );
    let originals = &config["status"]["calico"]["originals"];
    ensure!(originals.as_array().is_some_and(|o| o.len() == 2), "{originals}");

    edit(&test, &ours.replace("4096", "1")).await?;
    let event = test.event("DriftRepaired", "Backend.VNI from 1 to 4096").await?;
    ensure!(event.contains(PERSON), "{event}");
    stored_until(&test, "the VNI is repaired", |text| text == ours).await?;
    // What is not ours stays as they made it.
    edit(
        &test,
        &ours.replace("\"EnableNFTables\": false", "\"EnableNFTables\": true"),
    )
    .await?;
    test.quiet().await?;
    ensure!(stored(&test).await?.contains("\"EnableNFTables\": true"));

    test.delete_and_wait().await?;
    let given = stored(&test).await?;
    ensure!(given == net_conf("vxlan").replace("false", "true"), "{given}");
    test.event("NetworkRestored", "Backend.Port from 4789 to absent")
        .await?;
    for name in [network_agent::FLANNEL_DAEMON_SET, kube_proxy::DAEMON_SET] {
        ensure!(test.daemon_set(name).await?.is_null(), "{name} is left");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn host_gateway_works_and_another_backend_is_refused() -> Result<()> {
    let mut test = test_cluster().await?;
    install_flannel(&test, "host-gw").await?;
    test.start_operator().await?;
    test.apply(spec("FlannelVXLAN")).await?;
    test.condition_says(
        "NetworkConfigured",
        "False",
        "InputInvalid",
        &["Backend.Type is host-gw", "FlannelHostGateway"],
    )
    .await?;
    test.apply(spec("FlannelHostGateway")).await?;
    test.ready().await?;
    let proxy = test.daemon_set(kube_proxy::DAEMON_SET).await?.to_string();
    ensure!(
        proxy.contains("--network-name=cbr0") && !proxy.contains("SOURCE_VIP"),
        "{proxy}"
    );
    ensure!(
        stored(&test).await? == net_conf("host-gw"),
        "it is only looked at"
    );

    // Without an image there is nothing to run, and none is made up.
    let refused = test.apply(minimal("FlannelHostGateway")).await;
    let error = refused.err().map(|e| format!("{e:#}")).unwrap_or_default();
    for part in ["spec.networkAgent.image", "docs/images.md"] {
        ensure!(error.contains(part), "{error:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observe_lists_what_it_would_do() -> Result<()> {
    let mut test = test_cluster().await?;
    install_flannel(&test, "vxlan").await?;
    test.start_operator().await?;
    let mut observing = migrating("FlannelVXLAN");
    observing["mode"] = json!("Observe");
    test.apply(observing).await?;
    test.condition_says(
        "NetworkConfigured",
        "False",
        "ObserveOnly",
        &["Backend.VNI from absent to 4096"],
    )
    .await?;
    let pending = test.config().await?["status"]["pendingChanges"].to_string();
    for part in [
        "Backend.Port",
        "DaemonSet windows-node-operator/kube-flannel-windows",
    ] {
        ensure!(pending.contains(part), "{pending}");
    }
    ensure!(stored(&test).await? == net_conf("vxlan"));
    ensure!(
        test.daemon_set(network_agent::FLANNEL_DAEMON_SET)
            .await?
            .is_null()
    );
    Ok(())
}
