//! Calico as its manifest leaves it, from the first apply to the last byte restored.

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, at, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn becomes_ready_rests_and_is_restored(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = TestCluster::with_operator(options(calico_api)).await?;
    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    specs_are(&test, "after Ready", &vxlan(&before, 4096)).await?;
    in_order(&test, began)?;
    let config = test.config().await?;
    let api = format!("{}/{}", test.calico_api.group(), test.calico_api.version());
    same(
        "status.calico.api",
        at(&config, "/status/calico/api")?,
        &json!(api),
    )?;

    // Woken by a node, and by a start of its own.
    let rest = test.quiet().await?;
    test.cluster
        .kubectl(&["label", "node", "windows-0", "example.test/zone=b"])
        .await?;
    no_writes(&test, rest).await?;
    test.kill_operator();
    let restarted = Timestamp::now();
    test.start_operator().await?;
    no_writes(&test, restarted).await?;

    test.delete_and_wait().await?;
    specs_are(&test, "after delete", &before).await?;
    for name in ["calico-node-windows", "kube-proxy-windows"] {
        let left = async || Ok(test.daemon_set(name).await?.is_null().then_some(()));
        test.until("our DaemonSets go, too", left).await?;
    }

    let mut retain = minimal("CalicoVXLAN");
    retain["deletionPolicy"] = json!("Retain");
    test.apply(retain).await?;
    test.ready().await?;
    let changed = test.calico_specs().await?;
    let kept = test.quiet().await?;
    test.delete_and_wait().await?;
    specs_are(&test, "retained", &changed).await?;
    test.quiet().await?;
    let writes = calico_writes(&test, kept)?;
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    Ok(())
}

/// Originals are stored before the first write to Calico, IPAM and pools come before Felix, and each object
/// is written once.
fn in_order(test: &TestCluster, began: Timestamp) -> Result<()> {
    let writes = test.writes_since(began)?;
    let index = |what: &str, is: &dyn Fn(&wn_e2e::control_plane::AuditEvent) -> bool| {
        writes
            .iter()
            .position(is)
            .with_context(|| format!("no write to {what}: {:?}", lines(&writes)))
    };
    let originals = index("originals", &|w| {
        let list = w
            .request_object
            .as_ref()
            .and_then(|o| o.pointer("/status/calico/originals"));
        list.and_then(Value::as_array).is_some_and(|l| l.len() == 7)
    })?;
    let ipam = index("IPAM", &|w| w.resource.starts_with("ipamconfig"))?;
    let pool = index("pool", &|w| w.resource == "ippools")?;
    let felix = index("Felix", &|w| w.resource == "felixconfigurations")?;
    let agent = index("DaemonSet", &|w| w.resource == "daemonsets")?;
    let order = [originals, ipam, pool, felix, agent];
    ensure!(order.is_sorted(), "{order:?} of {:?}", lines(&writes));
    let calico = calico_writes(test, began)?;
    ensure!(calico.len() == 3, "one write an object: {:?}", lines(&calico));
    ensure!(
        calico.iter().all(|w| w.response_code == 200),
        "refused: {:?}",
        lines(&calico)
    );
    Ok(())
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn drift_of_every_field_is_repaired(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let configured = test.calico_specs().await?;
    // A pool has one encapsulation, so IPIP comes back together with VXLAN going.
    let drifts: [(ConfigKind, &str, Value, &[&str]); 7] = [
        (
            IPAM,
            DEFAULT,
            json!({"strictAffinity": false}),
            &["spec.strictAffinity from false to true"],
        ),
        (
            POOL,
            POOL_NAME,
            json!({"ipipMode": "Always", "vxlanMode": "Never"}),
            &[
                "spec.ipipMode from Always to Never",
                "spec.vxlanMode from Never to Always",
            ],
        ),
        (
            POOL,
            POOL_NAME,
            json!({"vxlanMode": "CrossSubnet"}),
            &["spec.vxlanMode from CrossSubnet to Always"],
        ),
        (
            FELIX,
            DEFAULT,
            json!({"ipipEnabled": true}),
            &["spec.ipipEnabled from true to false"],
        ),
        (
            FELIX,
            DEFAULT,
            json!({"vxlanEnabled": null}),
            &["spec.vxlanEnabled from absent to true"],
        ),
        (
            FELIX,
            DEFAULT,
            json!({"vxlanVNI": 5000}),
            &["spec.vxlanVNI from 5000 to 4096"],
        ),
        (
            FELIX,
            DEFAULT,
            json!({"vxlanPort": 4790}),
            &["spec.vxlanPort from 4790 to 4789"],
        ),
    ];
    for (kind, name, change, notes) in drifts {
        test.edit(kind, name, change.clone(), PERSON).await?;
        let object = format!("{} {name} ", kind.as_str());
        for note in notes {
            let event = test.event("DriftRepaired", note).await?;
            let by: &[&str] = if change.to_string().contains("null") {
                &[&object]
            } else {
                &[&object, PERSON]
            };
            says(&event, by)?;
        }
        test.ready().await?;
        specs_are(&test, &format!("after {change}"), &configured).await?;
    }
    // A whole object deleted is drift of all its fields.
    test.calico(FELIX).delete(DEFAULT, &Default::default()).await?;
    test.field(FELIX, DEFAULT, "vxlanVNI", json!(4096)).await?;
    test.ready().await?;
    create_defaults_again(&test, &before).await?;
    test.delete_and_wait().await?;
    specs_are(&test, "after delete", &before).await
}

/// Calico itself writes its defaults when Felix' object is gone.
async fn create_defaults_again(test: &TestCluster, before: &Value) -> Result<()> {
    test.edit(
        FELIX,
        DEFAULT,
        before["FelixConfiguration default"].clone(),
        "Go-http-client",
    )
    .await
}
