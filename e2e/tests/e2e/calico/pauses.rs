//! When Calico must not be written, and Calico that comes later.

use anyhow::{Result, ensure};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use rstest::rstest;
use serde_json::json;
use wn_e2e::control_plane::{CalicoApi, CalicoCrds, Neighbour};
use wn_e2e::objects;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

async fn migration_is(test: &TestCluster, phase: &str) -> Result<()> {
    let resource = objects::resource(
        "migration.projectcalico.org",
        "v1",
        "DatastoreMigration",
        "datastoremigrations",
    );
    let api = kube::Api::<kube::api::DynamicObject>::all_with(test.client.clone(), &resource);
    let status = Patch::Merge(json!({"status": {"phase": phase}}));
    api.patch_status("v1-to-v3", &PatchParams::default(), &status)
        .await?;
    Ok(())
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_calico_is_not_to_be_written(#[case] calico_api: CalicoApi) -> Result<()> {
    let test = TestCluster::with_operator(options(calico_api)).await?;
    let before = test.calico_specs().await?;
    // The API of migrations appears while the operator runs.
    test.cluster
        .install_neighbour(Neighbour::DatastoreMigration)
        .await?;
    let migration = json!({
        "apiVersion": "migration.projectcalico.org/v1",
        "kind": "DatastoreMigration",
        "metadata": {"name": "v1-to-v3"},
        "spec": {"type": "APIServerToCRDs"},
    });
    retry(async || test.create("datastoremigrations", migration.clone()).await).await?;
    migration_is(&test, "Migrating").await?;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test
        .condition("CalicoConfigured", "False", "MigrationRunning")
        .await?;
    says(&message, &["DatastoreMigration v1-to-v3 is Migrating"])?;
    migration_is(&test, "WaitingForConflictResolution").await?;
    let waiting = async || {
        let message = test
            .condition("CalicoConfigured", "False", "MigrationRunning")
            .await?;
        Ok(message.contains("WaitingForConflictResolution").then_some(()))
    };
    test.until("the message names the phase", waiting).await?;
    no_calico_writes(&test, began).await?;

    inform(&test, json!({"datastoreReady": false})).await?;
    migration_is(&test, "Complete").await?;
    let message = test
        .condition("CalicoConfigured", "False", "DatastoreNotReady")
        .await?;
    says(
        &message,
        &["ClusterInformation default spec.datastoreReady is false"],
    )?;
    no_calico_writes(&test, began).await?;
    specs_are(&test, "untouched", &before).await?;

    inform(&test, json!({"datastoreReady": true})).await?;
    test.ready().await?;
    specs_are(&test, "written at last", &vxlan(&before, 4096)).await?;

    // Nor is drift repaired in a pause, and deletion waits for its end.
    inform(&test, json!({"datastoreReady": false})).await?;
    test.condition("CalicoConfigured", "False", "DatastoreNotReady")
        .await?;
    let paused = Timestamp::now();
    test.edit(IPAM, DEFAULT, json!({"strictAffinity": false}), PERSON)
        .await?;
    test.delete().await?;
    let restoring = async || {
        let config = test.config().await?;
        let ready = wn_e2e::test_cluster::condition(&config, "Ready")
            .cloned()
            .unwrap_or_default();
        Ok((ready["reason"] == "Restoring").then_some(()))
    };
    test.until("Restoring", restoring).await?;
    no_calico_writes(&test, paused).await?;
    inform(&test, json!({"datastoreReady": true})).await?;
    let gone = async || {
        Ok(objects::configs(&test.client)
            .get_opt(DEFAULT)
            .await?
            .is_none()
            .then_some(()))
    };
    test.until("the config is gone", gone).await?;
    specs_are(&test, "restored", &before).await
}

#[rstest]
#[case::v1(CalicoApi::V1)]
#[case::v3(CalicoApi::V3)]
#[tokio::test(flavor = "multi_thread")]
async fn calico_may_come_later_and_go(#[case] calico_api: CalicoApi) -> Result<()> {
    let mut test = TestCluster::with_operator(options(CalicoApi::None)).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test
        .condition("CalicoConfigured", "False", "CalicoNotInstalled")
        .await?;
    says(&message, &["crd.projectcalico.org", "projectcalico.org"])?;
    ensure!(
        test.daemon_set("calico-node-windows").await?.is_null(),
        "agents wait for Calico"
    );

    test.cluster
        .install_calico(calico_api, &CalicoCrds::Builtin)
        .await?;
    test.cluster.seed_calico().await?;
    test.calico_api = objects::calico_api(&test.client)
        .await?
        .unwrap_or(test.calico_api);
    test.ready().await?;
    let spec = test.spec(POOL, POOL_NAME).await?;
    same("vxlanMode", &spec["vxlanMode"], &json!("Always"))?;

    // A Calico that is gone is reported as such, and deletion does not wait for it.
    test.cluster.remove_calico().await?;
    test.condition("CalicoConfigured", "False", "CalicoNotInstalled")
        .await?;
    test.delete_and_wait().await
}

/// CRDs of v1 beside native v3 that holds the objects, and no migration: calico-node's environment says which one is in use.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_v1_beside_v3_is_not_written_to() -> Result<()> {
    let test = TestCluster::with_operator(options(CalicoApi::V3)).await?;
    test.cluster
        .install_calico(CalicoApi::V1, &CalicoCrds::Builtin)
        .await?;
    let before = test.calico_specs().await?;
    let began = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    let parts = ["crd.projectcalico.org/v1 is empty", POOL_NAME, "CALICO_API_GROUP"];
    test.condition_says("CalicoConfigured", "False", "CalicoAPIUnclear", &parts)
        .await?;
    no_calico_writes(&test, began).await?;

    let labels = json!({"k8s-app": "calico-node"});
    let env = json!([{"name": "CALICO_API_GROUP", "value": "projectcalico.org/v3"}]);
    let container = json!({"name": "calico-node", "image": "quay.io/calico/node:v3.32.1", "env": env});
    let pod = json!({"nodeSelector": {"kubernetes.io/os": "linux"}, "containers": [container]});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let daemon_set = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "calico-node", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    });
    test.create("daemonsets", daemon_set).await?;
    test.ready().await?;
    specs_are(&test, "v3 is configured", &vxlan(&before, 4096)).await
}
