//! `mode: Observe` and the `Report` policies: everything is reported, nothing done.

use anyhow::{Result, ensure};
use rstest::rstest;
use serde_json::{Value, json};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, at, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn reports_what_it_would_write_and_writes_its_status_only(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let before = test.calico_specs().await?;
    let began = jiff::Timestamp::now();
    let mut observe = minimal("CalicoVXLAN");
    observe["mode"] = json!("Observe");
    test.apply(observe).await?;
    let message = test.condition("CalicoConfigured", "False", "ObserveOnly").await?;
    says(
        &message,
        &["IPPool default-ipv4-ippool spec.ipipMode from Always to Never"],
    )?;
    test.quiet().await?;
    let config = test.config().await?;
    let pending = at(&config, "/status/pendingChanges")?.to_string();
    says(
        &pending,
        &[
            "IPAMConfiguration default spec.strictAffinity from false to true",
            "IPPool default-ipv4-ippool spec.vxlanMode from Never to Always",
            "FelixConfiguration default spec.vxlanVNI from absent to 4096",
            "calico-node-windows",
            "kube-proxy-windows",
        ],
    )?;
    let other = |w: &&wn_e2e::control_plane::AuditEvent| {
        // An Event tells, and changes nothing.
        w.resource != "events" && (w.resource != "windowsnodeconfigs" || w.subresource != "status")
    };
    let writes = test.writes_since(began)?;
    let foreign: Vec<_> = writes.iter().filter(other).cloned().collect();
    ensure!(foreign.is_empty(), "written: {:?}", lines(&foreign));
    ensure!(
        config.pointer("/metadata/finalizers").is_none(),
        "nothing is to be restored"
    );
    specs_are(&test, "observed", &before).await?;

    // Report: strict affinity is ours, encapsulation is not.
    let mut report = minimal("CalicoVXLAN");
    report["calico"] = json!({"encapsulation": {"policy": "Report"}});
    test.apply(report).await?;
    let message = test.condition("CalicoConfigured", "False", "ReportOnly").await?;
    says(
        &message,
        &[
            "IPPool default-ipv4-ippool spec.ipipMode is Always",
            "Windows nodes need Never",
        ],
    )?;
    test.field(IPAM, DEFAULT, "strictAffinity", json!(true)).await?;
    let expected = specs_with(&before, &[(IPAM, DEFAULT, json!({"strictAffinity": true}))]);
    specs_are(&test, "reported", &expected).await?;
    let names: Vec<_> = originals(&test)
        .await?
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    ensure!(names == ["IPAMConfiguration default strictAffinity"], "{names:?}");
    test.delete_and_wait().await?;
    specs_are(&test, "restored", &before).await?;
    ensure!(test.calico_specs().await? != Value::Null);
    Ok(())
}
