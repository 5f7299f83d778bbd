//! Calico as its manifest leaves it, from the first apply to the last byte given back.

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, at, minimal};

use super::base::*;

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn becomes_ready_rests_and_is_given_back(#[case] form: CalicoApi) -> Result<()> {
    let mut stage = Stage::play(options(form)).await?;
    let before = stage.calico_specs().await?;
    let began = Timestamp::now();
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    specs_are(&stage, "after Ready", &vxlan(&before, 4096)).await?;
    in_order(&stage, began)?;
    let config = stage.config().await?;
    let api = format!("{}/{}", stage.form.group(), stage.form.version());
    same(
        "status.calico.api",
        at(&config, "/status/calico/api")?,
        &json!(api),
    )?;

    // Woken by a node, and by a start of its own.
    let rest = stage.quiet().await?;
    stage
        .cluster
        .kubectl(&["label", "node", "windows-0", "example.test/zone=b"])
        .await?;
    no_writes(&stage, rest).await?;
    stage.kill();
    let restarted = Timestamp::now();
    stage.start().await?;
    no_writes(&stage, restarted).await?;

    stage.delete_and_wait().await?;
    specs_are(&stage, "after delete", &before).await?;
    for name in ["calico-node-windows", "kube-proxy-windows"] {
        let left = async || Ok(stage.daemon_set(name).await?.is_null().then_some(()));
        stage.until("our DaemonSets go, too", left).await?;
    }

    let mut retain = minimal("CalicoVXLAN");
    retain["deletionPolicy"] = json!("Retain");
    stage.apply(retain).await?;
    stage.ready().await?;
    let changed = stage.calico_specs().await?;
    let kept = stage.quiet().await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "retained", &changed).await?;
    stage.quiet().await?;
    let writes = calico_writes(&stage, kept)?;
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    Ok(())
}

/// Originals are stored before the first write to Calico, IPAM and pools come before Felix, and each object
/// is written once.
fn in_order(stage: &Stage, began: Timestamp) -> Result<()> {
    let writes = stage.writes_since(began)?;
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
    let calico = calico_writes(stage, began)?;
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
async fn drift_of_every_field_is_repaired(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let configured = stage.calico_specs().await?;
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
        stage.edit(kind, name, change.clone(), PERSON).await?;
        let object = format!("{} {name} ", kind.as_str());
        for note in notes {
            let event = stage.event("DriftRepaired", note).await?;
            let by: &[&str] = if change.to_string().contains("null") {
                &[&object]
            } else {
                &[&object, PERSON]
            };
            says(&event, by)?;
        }
        stage.ready().await?;
        specs_are(&stage, &format!("after {change}"), &configured).await?;
    }
    // A whole object deleted is drift of all its fields.
    stage.calico(FELIX).delete(DEFAULT, &Default::default()).await?;
    stage.field(FELIX, DEFAULT, "vxlanVNI", json!(4096)).await?;
    stage.ready().await?;
    create_defaults_again(&stage, &before).await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "after delete", &before).await
}

/// Calico itself writes its defaults when Felix' object is gone.
async fn create_defaults_again(stage: &Stage, before: &Value) -> Result<()> {
    stage
        .edit(
            FELIX,
            DEFAULT,
            before["FelixConfiguration default"].clone(),
            "Go-http-client",
        )
        .await
}
