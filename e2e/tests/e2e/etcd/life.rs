//! Set, kept, raced for, and restored.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_api::names::{annotations as names, node_agent};
use wn_e2e::test_cluster::at;

use wn_e2e::etcd_fixture::{BLOCK, FELIX, Fixture, POOL, felix, pool};

#[tokio::test(flavor = "multi_thread")]
async fn what_windows_nodes_need_is_set_kept_and_restored() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let before = fixture.contents().await?;
    fixture.own_secret().await?;
    fixture.test.apply(fixture.spec()).await?;
    fixture.is_set().await?;
    fixture
        .test
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let config = fixture.test.config().await?;
    ensure!(
        at(&config, "/status/calico/api")? == "etcd",
        "{}",
        config["status"]["calico"]
    );
    ensure!(at(&config, "/status/calico/version")? == "v3.32.1");

    // Nothing but the three keys was written.
    let ours = [wn_e2e::etcd_fixture::IPAM, POOL, FELIX];
    let others = |all: &[(String, String)]| {
        all.iter()
            .filter(|(key, _)| !ours.contains(&key.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    ensure!(others(&fixture.contents().await?) == others(&before));

    agent_gets_the_endpoints(&fixture).await?;

    fixture.etcd.put(POOL, &pool("Never", "Always")).await?;
    fixture.holds(POOL, &pool("Always", "Never")).await?;
    fixture.test.event("DriftRepaired", "an etcd client").await?;

    // While it is away nothing can be repaired; what is changed as it comes back must not be missed.
    fixture.etcd.kill();
    fixture
        .test
        .condition_says(
            "CalicoConfigured",
            "False",
            "DatastoreUnreachable",
            &[&fixture.etcd.url()],
        )
        .await?;
    fixture.etcd.restart().await?;
    fixture.etcd.put(FELIX, &felix(false)).await?;
    fixture.is_set().await?;
    fixture
        .test
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;

    // Calico is restored when it can be.
    fixture.etcd.kill();
    fixture.test.delete().await?;
    fixture.test.condition("Reconciling", "True", "Restoring").await?;
    fixture.etcd.restart().await?;
    fixture
        .test
        .until("the config is gone", async || {
            Ok(fixture.test.config().await.is_err().then_some(()))
        })
        .await?;
    ensure!(
        fixture.contents().await? == before,
        "{:#?}",
        fixture.contents().await?
    );
    Ok(())
}

/// What the agent and the CNI plugin need to reach the same etcd.
async fn agent_gets_the_endpoints(fixture: &Fixture) -> Result<()> {
    let set = fixture
        .test
        .until("the agent's DaemonSet", async || {
            let found = fixture.test.daemon_set(node_agent::DAEMON_SET).await?;
            Ok((!found.is_null()).then_some(found))
        })
        .await?;
    let containers = at(&set, "/spec/template/spec/containers")?
        .as_array()
        .context("a list")?;
    let url = fixture.etcd.url();
    for (name, value) in [
        ("DATASTORE_TYPE", "etcdv3"),
        ("ETCD_ENDPOINTS", url.as_str()),
        (
            "ETCD_KEY_FILE",
            "$env:CONTAINER_SANDBOX_MOUNT_POINT/calico-secrets/etcd-key",
        ),
    ] {
        for container in containers {
            let env = container["env"].as_array().context("env")?;
            ensure!(
                env.contains(&json!({"name": name, "value": value})),
                "{name}: {env:?}"
            );
        }
    }
    Ok(())
}

/// Certificates end and are replaced, here by those of another client.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_used_and_rolls_the_agent() -> Result<()> {
    let fixture = Fixture::configured().await?;
    fixture.is_set().await?;
    let checksum = async || {
        let set = fixture.test.daemon_set(node_agent::DAEMON_SET).await?;
        let annotations = &set["spec"]["template"]["metadata"]["annotations"];
        Ok::<_, anyhow::Error>(annotations[names::ETCD_CHECKSUM].as_str().map(str::to_owned))
    };
    let before = fixture
        .test
        .until("the agent's DaemonSet", async || checksum().await)
        .await?;
    fixture.replace_secret("renewed").await?;
    fixture
        .test
        .until("another checksum", async || {
            Ok(checksum().await?.filter(|now| *now != before))
        })
        .await?;
    fixture.etcd.put(POOL, &pool("Never", "Always")).await?;
    fixture.holds(POOL, &pool("Always", "Never")).await
}

/// An edit that loses against the operator's write, or wins, but is never undone by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_loses_no_change_of_either() -> Result<()> {
    let fixture = Fixture::start().await?;
    fixture.own_secret().await?;
    fixture.test.apply(fixture.spec()).await?;
    let mut last: i64 = 0;
    let mut after = 0;
    // Until the operator's write has landed, and twenty edits longer. The pauses grow: on a busy machine an editor that never rests
    // changes the value between the operator's every read and write, and a compare-and-swap is not fair.
    while after < 20 {
        tokio::time::sleep(Duration::from_micros(last.unsigned_abs() * 100)).await;
        let entry = fixture.etcd.get(FELIX).await?.context("Felix is gone")?;
        let mut value: Value = serde_json::from_str(&entry.value)?;
        let found = value["spec"]["routeTableRanges"][0]["max"]
            .as_i64()
            .unwrap_or_default();
        ensure!(found == last, "edit {last} was undone: {value}");
        after += i32::from(value["spec"]["vxlanEnabled"] == true);
        value["spec"]["routeTableRanges"] = json!([{"min": 1, "max": last + 1}]);
        if fixture.etcd.swap(&entry, &value.to_string()).await? {
            last += 1;
        }
        ensure!(last < 1000, "the operator never got its turn: {value}");
    }
    fixture
        .test
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let value: Value = serde_json::from_str(&fixture.etcd.value(FELIX).await?)?;
    ensure!(value["spec"]["routeTableRanges"][0]["max"] == last, "{value}");
    ensure!(
        value["spec"]["ipipEnabled"] == false && value["spec"]["vxlanPort"] == 4789,
        "{value}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observing_writes_nothing_and_says_what_it_would() -> Result<()> {
    let fixture = Fixture::start().await?;
    let before = fixture.etcd.all().await?;
    fixture.own_secret().await?;
    let mut spec = fixture.spec();
    spec["mode"] = json!("Observe");
    fixture.test.apply(spec).await?;
    let change = "IPAMConfiguration default spec.strictAffinity from false to true";
    fixture
        .test
        .condition_says("CalicoConfigured", "False", "ObserveOnly", &[change])
        .await?;
    let config = fixture.test.config().await?;
    let pending = at(&config, "/status/pendingChanges")?
        .as_array()
        .context("a list")?;
    ensure!(pending.contains(&json!(format!("set {change}"))), "{pending:?}");
    ensure!(fixture.etcd.all().await? == before);
    Ok(())
}

/// The node's block is read from etcd.
#[tokio::test(flavor = "multi_thread")]
async fn a_block_without_windows_reservation_is_named() -> Result<()> {
    let fixture = Fixture::configured().await?;
    fixture
        .test
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let reasons = async |wanted: bool| {
        let what = format!("BlockReservationMissing found: {wanted}");
        fixture
            .test
            .until(&what, async || {
                let config = fixture.test.config().await?;
                let node = config["status"]["nodes"]["list"].to_string();
                Ok(
                    (node.contains("windows-0") && node.contains("BlockReservationMissing") == wanted)
                        .then_some(()),
                )
            })
            .await
    };
    reasons(false).await?;
    let value = fixture.etcd.value(BLOCK).await?;
    let bare = value.replace("windows-reserved-ipam-handle", "somebody-elses-handle");
    ensure!(bare != value);
    fixture.etcd.put(BLOCK, &bare).await?;
    reasons(true).await?;
    fixture.etcd.put(BLOCK, &value).await?;
    reasons(false).await
}
