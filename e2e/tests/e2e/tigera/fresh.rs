//! What `custom-resources.yaml` leaves is far from what Windows nodes need.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{CalicoApi, SERVICE_RANGE};
use wn_e2e::test_cluster::{SINGLETON, TestCluster, minimal};

use super::support::*;

fn enforce() -> Value {
    let mut spec = minimal("CalicoVXLAN");
    spec["calico"] = json!({"installation": "Enforce"});
    spec
}

fn writes_to_installation(test: &TestCluster, since: Timestamp) -> Result<Vec<String>> {
    let writes = test.writes_since(since)?.into_iter();
    Ok(writes
        .filter(|w| w.resource == "installations")
        .map(|w| format!("{} {} {}", w.verb, w.name, w.response_code))
        .collect())
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn from_degraded_to_available_and_back(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = test_cluster(calico_api, true).await?;
    let _tigera = install_calico(&test).await?;
    // As a person who read Calico's documentation does it, and finds nothing happen.
    edit(&test, json!({"calicoNetwork": {"windowsDataplane": "HNS"}})).await?;
    tigera_until(&test, "calico", "services endpoint configmap").await?;

    // Everything that is missing is reported, and nothing of the Installation is written.
    test.start_operator().await?;
    let began = Timestamp::now();
    let mut report = minimal("CalicoVXLAN");
    report["calico"] = json!({"strictAffinity": "Report"});
    test.apply(report).await?;
    test
        .condition_says(
            "CalicoConfigured",
            "False",
            "ReportOnly",
            &[
                "IPAMConfiguration default spec.strictAffinity",
                "spec.calicoNetwork.bgp is Enabled, Windows nodes need Disabled",
                "spec.calicoNetwork.ipPools[10.244.0.0/16].encapsulation is VXLANCrossSubnet, Windows nodes need VXLAN",
                "spec.serviceCIDRs is absent, Windows nodes need",
                "kubectl patch installation default --type=merge -p",
                "spec.calico.installation to Enforce",
            ],
        )
        .await?;
    // The ConfigMap is made in any case; then it complains of the next.
    tigera_until(&test, "calico-windows", "ServiceCIDRs must be provided").await?;
    test
        .condition_says(
            "NodeAgentAvailable",
            "False",
            "OperatorDegraded",
            &[
                "TigeraStatus calico-windows is Degraded (InvalidConfigurationError: Invalid Installation provided",
                "spec.serviceCIDRs is absent",
                "spec.strictAffinity is not true",
                "spec.calicoNetwork.bgp is Enabled",
            ],
        )
        .await?;
    test.quiet().await?;
    ensure!(writes_to_installation(&test, began)?.is_empty());
    ensure!(!theirs_exists(&test).await?);

    test.apply(enforce()).await?;
    test.ready().await?;
    ensure!(tigera_says(&test, "calico-windows").await?.contains("Available"));
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "External",
        &[
            "tigera/operator runs it",
            "every pod of DaemonSet calico-system/calico-node-windows is updated and ready",
            "TigeraStatus calico-windows is Available",
        ],
    )
    .await?;
    ensure!(test.daemon_set(AGENT).await?.is_null(), "ours is not beside it");
    let pool = test.spec(ConfigKind::IpPool, POOL).await?;
    ensure!(pool["vxlanMode"] == "Always", "{pool}");
    let written = installation(&test).await?;
    ensure!(written["calicoNetwork"]["ipPools"][0]["natOutgoing"] == "Enabled");
    ensure!(written["serviceCIDRs"] == json!([SERVICE_RANGE]), "{written}");
    let writes = writes_to_installation(&test, began)?;
    ensure!(writes == ["patch default 200"], "{writes:?}");

    // A person edits it back: it is repaired, with an Event.
    edit(&test, json!({"calicoNetwork": {"bgp": "Enabled"}})).await?;
    let event = test.event("DriftRepaired", "spec.calicoNetwork.bgp").await?;
    ensure!(event.contains(PERSON), "{event}");
    installation_until(&test, "bgp is Disabled again", |s| {
        s["calicoNetwork"]["bgp"] == "Disabled"
    })
    .await?;
    test.ready().await?;

    // The person's agent of tigera/operator runs on: what it is Degraded without stays, and is named.
    let before_deletion = installation(&test).await?;
    test.delete_and_wait().await?;
    let event = test.event("NotRestored", "spec.strictAffinity").await?;
    ensure!(event.contains("its original value was false"), "{event}");
    let after = installation(&test).await?;
    ensure!(
        after == before_deletion,
        "found {after:#}\nexpected {before_deletion:#}"
    );
    let ipam = test.spec(ConfigKind::IpamConfiguration, SINGLETON).await?;
    ensure!(ipam["strictAffinity"] == true, "{ipam}");
    for status in ["calico", "calico-windows"] {
        let says = tigera_says(&test, status).await?;
        ensure!(says.contains("Available"), "TigeraStatus {status}: {says}");
    }
    Ok(())
}

/// Everything at once, on a cluster where nobody has done anything; and the other network type.
#[tokio::test(flavor = "multi_thread")]
async fn bgp_from_nothing() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, true).await?;
    let _tigera = install_calico(&test).await?;
    let before = installation(&test).await?;
    test.start_operator().await?;
    let mut spec = enforce();
    spec["network"]["type"] = json!("CalicoBGP");
    test.apply(spec).await?;
    test.ready().await?;
    let written = installation(&test).await?;
    let network = &written["calicoNetwork"];
    ensure!(
        network["windowsDataplane"] == "HNS" && network["bgp"] == "Enabled",
        "{written}"
    );
    ensure!(network["ipPools"][0]["encapsulation"] == "None", "{written}");
    test.delete_and_wait().await?;
    let after = installation(&test).await?;
    ensure!(after == before, "found {after:#}\nexpected {before:#}");
    Ok(())
}

/// Without the right, the message names the chart's value that grants it; the operator's agent runs on.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_allowed_is_said() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, false).await?;
    let _tigera = install_calico(&test).await?;
    edit(
        &test,
        json!({"calicoNetwork": {"ipPools": [{
            "name": POOL, "blockSize": 26, "cidr": "10.244.0.0/16", "encapsulation": "VXLAN",
            "natOutgoing": "Enabled", "nodeSelector": "all()",
        }]}}),
    )
    .await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "AsExpected",
        &["spec.calico.installation to Enforce"],
    )
    .await?;
    test.apply(enforce()).await?;
    test.condition_says(
        "CalicoConfigured",
        "False",
        "Forbidden",
        &["Installation default", "tigeraOperator.enabled=true", "forbidden"],
    )
    .await?;
    ensure!(!test.daemon_set(AGENT).await?.is_null(), "ours runs on");
    Ok(())
}

/// Windows switched on before Calico is there at all: without the ConfigMap that the chart value allows tigera/operator makes
/// nothing, and the missing right is reported first.
#[tokio::test(flavor = "multi_thread")]
async fn a_cold_start_without_the_right() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, false).await?;
    let _tigera = start_cold(&test).await?;
    tigera_until(&test, "calico", "services endpoint configmap").await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    for condition in [("Ready", "False"), ("Stalled", "True")] {
        test.condition_says(
            condition.0,
            condition.1,
            "Forbidden",
            &["kubernetes-services-endpoint", "tigeraOperator.enabled=true"],
        )
        .await?;
    }
    let message = test.condition("CalicoConfigured", "False", "ReportOnly").await?;
    ensure!(
        message.contains("there is no IPPool yet") && !message.contains("create one"),
        "{message}"
    );
    Ok(())
}

/// A person switches Windows off by hand, as the way to have our agent run: what tigera/operator filled in stops it.
#[tokio::test(flavor = "multi_thread")]
async fn folders_without_windows_are_said() -> Result<()> {
    let mut test = test_cluster(CalicoApi::V1, false).await?;
    let _tigera = install_calico(&test).await?;
    let mut pools = installation(&test).await?["calicoNetwork"]["ipPools"].take();
    pools[0]["encapsulation"] = json!("VXLAN");
    let folders = json!({"cniBinDir": "/opt/cni/bin"});
    edit(&test, json!({"calicoNetwork": {"ipPools": pools}})).await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    edit(&test, json!({"windowsNodes": folders})).await?;
    tigera_until(&test, "calico", "spec.WindowsNodes is not valid").await?;
    test.condition_says(
        "CalicoConfigured",
        "False",
        "ReportOnly",
        &[
            "spec.windowsNodes",
            "'{\"spec\":{\"windowsNodes\":null}}'",
            "TigeraStatus calico is Degraded",
        ],
    )
    .await?;
    edit(&test, json!({"windowsNodes": null})).await?;
    test.ready().await
}
