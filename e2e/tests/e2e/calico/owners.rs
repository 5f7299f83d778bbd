//! Fields that somebody else holds: claimed by an apply, fought over, or reconciled by tigera/operator.

use std::time::Duration;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

const ARGO: &str = "argocd-controller";

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn an_applied_field_is_a_conflict_until_forced(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let ipam = json!({"strictAffinity": false, "autoAllocateBlocks": true});
    test.apply_as(IPAM, DEFAULT, ipam, ARGO).await?;
    // This one writes plain updates, and comes back nevertheless.
    test.edit(FELIX, DEFAULT, json!({"vxlanVNI": 100}), "helm")
        .await?;
    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test
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
    says(&test.event("FieldConflict", "strictAffinity").await?, &[ARGO])?;
    test.quiet().await?;
    let writes = calico_writes(&test, began)?;
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
    specs_are(&test, "in conflict", &specs_with(&before, &pools)).await?;
    ensure!(
        test.daemon_set("calico-node-windows").await?.is_null(),
        "agents wait for Calico"
    );

    let mut force = minimal("CalicoVXLAN");
    force["calico"] = json!({"conflicts": "Force"});
    test.apply(force).await?;
    test.ready().await?;
    specs_are(&test, "forced", &vxlan(&before, 4096)).await?;
    test.delete_and_wait().await?;
    specs_are(&test, "restored", &before).await?;

    // A config that is created again reports it again. The value restored is ours by now: only another one makes it helm's.
    test.edit(FELIX, DEFAULT, json!({"vxlanVNI": 200}), "helm")
        .await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.condition("CalicoConfigured", "False", "FieldConflict")
        .await?;
    let again = async || {
        let events = test.events().await?;
        Ok((events
            .iter()
            .filter(|e| e.starts_with("FieldConflict: Felix"))
            .count()
            > 1)
        .then_some(()))
    };
    test.until("another Event", again).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_contested_field_is_left_until_the_config_changes(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let before = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let began = test.quiet().await?;

    // A controller that will not give in, either.
    let api = test.calico(IPAM);
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
    let message = test.condition("CalicoConfigured", "False", "Contested").await?;
    says(
        &message,
        &[
            "IPAMConfiguration default spec.strictAffinity",
            "false",
            "stubborn",
            "need true",
        ],
    )?;
    test.event("Contested", "strictAffinity").await?;
    let rest = test.quiet().await?;
    let writes = calico_writes(&test, began)?;
    let accepted = writes.iter().filter(|w| w.response_code == 200).count();
    ensure!(accepted == 2, "two repairs, then rest: {:?}", lines(&writes));
    // Other fields are still looked after, and waking up for them is no reason to fight again.
    test.edit(FELIX, DEFAULT, json!({"vxlanPort": 4790}), PERSON)
        .await?;
    test.field(FELIX, DEFAULT, "vxlanPort", json!(4789)).await?;
    test.quiet().await?;
    let writes = calico_writes(&test, rest)?;
    ensure!(
        writes.iter().all(|w| w.resource == "felixconfigurations"),
        "{:?}",
        lines(&writes)
    );

    fighter.abort();
    // A changed config would start the count again, so nothing is asked of the operator meanwhile.
    let ended = Timestamp::now();
    test.quiet().await?;
    let writes = calico_writes(&test, ended)?;
    ensure!(writes.is_empty(), "written: {:?}", lines(&writes));
    let mut changed = minimal("CalicoVXLAN");
    changed["nodeAgent"] = json!({"logLevel": "Debug"});
    test.apply(changed).await?;
    test.ready().await?;
    specs_are(&test, "started again", &vxlan(&before, 4096)).await?;
    test.delete_and_wait().await?;
    specs_are(&test, "restored", &before).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_tigera_operator_is_not_edited(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let label = "app.kubernetes.io/managed-by=tigera-operator";
    test.cluster
        .kubectl(&["label", "ippool", POOL_NAME, label])
        .await?;
    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test
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
    test.quiet().await?;
    let expected = specs_with(&before, &[(IPAM, DEFAULT, json!({"strictAffinity": true}))]);
    specs_are(&test, "Felix keeps IPIP while the pool has it", &expected).await?;
    let writes = calico_writes(&test, began)?;
    ensure!(
        writes.len() == 1 && writes[0].name == DEFAULT,
        "IPAM only: {:?}",
        lines(&writes)
    );

    // What a person then does to Installation default, tigera/operator does to the pool.
    test.edit(
        POOL,
        POOL_NAME,
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
        "operator",
    )
    .await?;
    test.ready().await?;
    specs_are(&test, "Felix follows", &vxlan(&before, 4096)).await?;
    let writes = calico_writes(&test, began)?;
    ensure!(
        writes.iter().all(|w| w.resource != "ippools"),
        "{:?}",
        lines(&writes)
    );
    test.delete_and_wait().await?;
    let pool = [(
        POOL,
        POOL_NAME,
        json!({"ipipMode": "Never", "vxlanMode": "Always"}),
    )];
    specs_are(&test, "theirs stays", &specs_with(&before, &pool)).await
}
