//! Fields that somebody else holds: claimed by an apply, fought over, or reconciled by tigera/operator.

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

const ARGO: &str = "argocd-controller";

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn an_applied_field_is_a_conflict_until_forced(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    let ipam = json!({"strictAffinity": false, "autoAllocateBlocks": true});
    stage.apply_as(IPAM, DEFAULT, ipam, ARGO).await?;
    // This one writes plain updates, and comes back nevertheless.
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanVNI": 100}), "helm")
        .await?;
    let before = stage.calico_specs().await?;
    let began = Timestamp::now();
    stage.apply(minimal("CalicoVXLAN")).await?;
    let message = stage
        .condition("CalicoConfigured", "False", "FieldConflict")
        .await?;
    says(
        &message,
        &[
            "IPAMConfiguration default spec.strictAffinity is false",
            "need true",
            "FelixConfiguration default spec.vxlanVNI is 100",
            "need 4096",
            ARGO,
            "helm",
            "spec.calico.conflicts",
        ],
    )?;
    says(&stage.event("FieldConflict", "strictAffinity").await?, &[ARGO])?;
    stage.quiet().await?;
    let writes = calico_writes(&stage, began)?;
    ensure!(
        writes.iter().all(|w| w.resource == "ippools"),
        "contested objects are not touched: {:?}",
        lines(&writes)
    );
    let pools = [(
        POOL,
        POOL_NAME,
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
    )];
    specs_are(&stage, "in conflict", &specs_with(&before, &pools)).await?;
    ensure!(
        stage.daemon_set("calico-node-windows").await?.is_null(),
        "agents wait for Calico"
    );

    let mut force = minimal("CalicoVXLAN");
    force["calico"] = json!({"conflicts": "Force"});
    stage.apply(force).await?;
    stage.ready().await?;
    specs_are(&stage, "forced", &vxlan(&before, 4096)).await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "given back", &before).await?;

    // A config made anew says so again. The value given back is ours by now: only another one makes it helm's.
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanVNI": 200}), "helm")
        .await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage
        .condition("CalicoConfigured", "False", "FieldConflict")
        .await?;
    let again = async || {
        let events = stage.events().await?;
        Ok((events
            .iter()
            .filter(|e| e.starts_with("FieldConflict: Felix"))
            .count()
            > 1)
        .then_some(()))
    };
    stage.until("another Event", again).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_contested_field_is_left_until_the_config_changes(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    let before = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let began = stage.quiet().await?;

    // A controller that will not give in, either.
    let api = stage.calico(IPAM);
    let fighter = tokio::spawn(async move {
        loop {
            let strict = api
                .get(DEFAULT)
                .await
                .is_ok_and(|o| o.data["spec"]["strictAffinity"] == true);
            if strict {
                let body = Patch::Merge(json!({"spec": {"strictAffinity": false}}));
                let params = PatchParams {
                    field_manager: Some("stubborn".to_owned()),
                    ..PatchParams::default()
                };
                let _ = api.patch(DEFAULT, &params, &body).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let message = stage.condition("CalicoConfigured", "False", "Contested").await?;
    says(
        &message,
        &[
            "IPAMConfiguration default spec.strictAffinity",
            "false",
            "stubborn",
            "need true",
        ],
    )?;
    stage.event("Contested", "strictAffinity").await?;
    let rest = stage.quiet().await?;
    let writes = calico_writes(&stage, began)?;
    let accepted = writes.iter().filter(|w| w.response_code == 200).count();
    ensure!(accepted == 2, "two repairs, then rest: {:?}", lines(&writes));
    // Other fields are still looked after, and waking up for them is no reason to fight again.
    stage
        .edit(FELIX, DEFAULT, json!({"vxlanPort": 4790}), PERSON)
        .await?;
    stage.field(FELIX, DEFAULT, "vxlanPort", json!(4789)).await?;
    stage.quiet().await?;
    let writes = calico_writes(&stage, rest)?;
    ensure!(
        writes.iter().all(|w| w.resource == "felixconfigurations"),
        "{:?}",
        lines(&writes)
    );

    fighter.abort();
    // A changed config would start the count again, so nothing is asked of the operator meanwhile.
    let ended = Timestamp::now();
    stage.quiet().await?;
    let writes = calico_writes(&stage, ended)?;
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    let mut changed = minimal("CalicoVXLAN");
    changed["nodeAgent"] = json!({"logLevel": "Debug"});
    stage.apply(changed).await?;
    stage.ready().await?;
    specs_are(&stage, "started again", &vxlan(&before, 4096)).await?;
    stage.delete_and_wait().await?;
    specs_are(&stage, "given back", &before).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_tigera_operator_is_not_edited(#[case] form: CalicoApi) -> Result<()> {
    let stage = Stage::play(options(form)).await?;
    let label = "app.kubernetes.io/managed-by=tigera-operator";
    stage
        .cluster
        .kubectl(&["label", "ippool", POOL_NAME, label])
        .await?;
    let before = stage.calico_specs().await?;
    let began = Timestamp::now();
    stage.apply(minimal("CalicoVXLAN")).await?;
    let message = stage
        .condition("CalicoConfigured", "False", "PoolManagedByOperator")
        .await?;
    says(
        &message,
        &[
            POOL_NAME,
            "tigera/operator",
            "Installation default",
            "encapsulation: VXLAN",
        ],
    )?;
    stage.quiet().await?;
    let expected = specs_with(&before, &[(IPAM, DEFAULT, json!({"strictAffinity": true}))]);
    specs_are(&stage, "Felix keeps IPIP while the pool has it", &expected).await?;
    let writes = calico_writes(&stage, began)?;
    ensure!(
        writes.len() == 1 && writes[0].name == DEFAULT,
        "IPAM only: {:?}",
        lines(&writes)
    );

    // What a person then does to Installation default, tigera/operator does to the pool.
    stage
        .edit(
            POOL,
            POOL_NAME,
            json!({"ipipMode": "Never", "vxlanMode": "Always"}),
            "operator",
        )
        .await?;
    stage.ready().await?;
    specs_are(&stage, "Felix follows", &vxlan(&before, 4096)).await?;
    let writes = calico_writes(&stage, began)?;
    ensure!(
        writes.iter().all(|w| w.resource != "ippools"),
        "{:?}",
        lines(&writes)
    );
    stage.delete_and_wait().await?;
    let pool = [(
        POOL,
        POOL_NAME,
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
    )];
    specs_are(&stage, "theirs stays", &specs_with(&before, &pool)).await
}
