//! Set, kept, raced for, and given back.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_api::names::{annotations as names, node_agent};
use wn_e2e::stage::at;

use wn_e2e::etcd_scene::{BLOCK, FELIX, POOL, Scene, felix, pool};

#[tokio::test(flavor = "multi_thread")]
async fn what_windows_nodes_need_is_set_kept_and_given_back() -> Result<()> {
    let mut scene = Scene::set().await?;
    let before = scene.contents().await?;
    scene.own_secret().await?;
    scene.stage.apply(scene.spec()).await?;
    scene.is_set().await?;
    scene
        .stage
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let config = scene.stage.config().await?;
    ensure!(
        at(&config, "/status/calico/api")? == "etcd",
        "{}",
        config["status"]["calico"]
    );
    ensure!(at(&config, "/status/calico/version")? == "v3.32.1");

    // Nothing but the three keys was written.
    let ours = [wn_e2e::etcd_scene::IPAM, POOL, FELIX];
    let others = |all: &[(String, String)]| {
        all.iter()
            .filter(|(key, _)| !ours.contains(&key.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    ensure!(others(&scene.contents().await?) == others(&before));

    agent_is_told(&scene).await?;

    scene.etcd.put(POOL, &pool("Never", "Always")).await?;
    scene.holds(POOL, &pool("Always", "Never")).await?;
    scene.stage.event("DriftRepaired", "an etcd client").await?;

    // While it is away nothing can be repaired; what is changed as it comes back must not be missed.
    scene.etcd.kill();
    scene
        .stage
        .condition_says(
            "CalicoConfigured",
            "False",
            "DatastoreUnreachable",
            &[&scene.etcd.url()],
        )
        .await?;
    scene.etcd.restart().await?;
    scene.etcd.put(FELIX, &felix(false)).await?;
    scene.is_set().await?;
    scene
        .stage
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;

    // Calico is given back when it can be.
    scene.etcd.kill();
    scene.stage.delete().await?;
    scene.stage.condition("Reconciling", "True", "Restoring").await?;
    scene.etcd.restart().await?;
    scene
        .stage
        .until("the config is gone", async || {
            Ok(scene.stage.config().await.is_err().then_some(()))
        })
        .await?;
    ensure!(
        scene.contents().await? == before,
        "{:#?}",
        scene.contents().await?
    );
    Ok(())
}

/// What the agent and the CNI plugin need to reach the same etcd.
async fn agent_is_told(scene: &Scene) -> Result<()> {
    let set = scene
        .stage
        .until("the agent's DaemonSet", async || {
            let found = scene.stage.daemon_set(node_agent::DAEMON_SET).await?;
            Ok((!found.is_null()).then_some(found))
        })
        .await?;
    let containers = at(&set, "/spec/template/spec/containers")?
        .as_array()
        .context("a list")?;
    let url = scene.etcd.url();
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
    let scene = Scene::play().await?;
    scene.is_set().await?;
    let checksum = async || {
        let set = scene.stage.daemon_set(node_agent::DAEMON_SET).await?;
        let annotations = &set["spec"]["template"]["metadata"]["annotations"];
        Ok::<_, anyhow::Error>(annotations[names::ETCD_CHECKSUM].as_str().map(str::to_owned))
    };
    let before = scene
        .stage
        .until("the agent's DaemonSet", async || checksum().await)
        .await?;
    scene.replace_secret("renewed").await?;
    scene
        .stage
        .until("another checksum", async || {
            Ok(checksum().await?.filter(|now| *now != before))
        })
        .await?;
    scene.etcd.put(POOL, &pool("Never", "Always")).await?;
    scene.holds(POOL, &pool("Always", "Never")).await
}

/// An edit that loses against the operator's write, or wins, but is never undone by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_loses_no_change_of_either() -> Result<()> {
    let scene = Scene::set().await?;
    scene.own_secret().await?;
    scene.stage.apply(scene.spec()).await?;
    let mut last = 0;
    let mut after = 0;
    // Until the operator's write has landed, and twenty edits longer.
    while after < 20 {
        let entry = scene.etcd.get(FELIX).await?.context("Felix is gone")?;
        let mut value: Value = serde_json::from_str(&entry.value)?;
        let found = value["spec"]["routeTableRanges"][0]["max"]
            .as_i64()
            .unwrap_or_default();
        ensure!(found == last, "edit {last} was undone: {value}");
        after += i32::from(value["spec"]["vxlanEnabled"] == true);
        value["spec"]["routeTableRanges"] = json!([{"min": 1, "max": last + 1}]);
        if scene.etcd.swap(&entry, &value.to_string()).await? {
            last += 1;
        }
        ensure!(last < 5000, "the operator never got its turn: {value}");
    }
    scene
        .stage
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let value: Value = serde_json::from_str(&scene.etcd.value(FELIX).await?)?;
    ensure!(value["spec"]["routeTableRanges"][0]["max"] == last, "{value}");
    ensure!(
        value["spec"]["ipipEnabled"] == false && value["spec"]["vxlanPort"] == 4789,
        "{value}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn observing_writes_nothing_and_says_what_it_would() -> Result<()> {
    let scene = Scene::set().await?;
    let before = scene.etcd.all().await?;
    scene.own_secret().await?;
    let mut spec = scene.spec();
    spec["mode"] = json!("Observe");
    scene.stage.apply(spec).await?;
    let wish = "IPAMConfiguration default spec.strictAffinity from false to true";
    scene
        .stage
        .condition_says("CalicoConfigured", "False", "ObserveOnly", &[wish])
        .await?;
    let config = scene.stage.config().await?;
    let pending = at(&config, "/status/pendingChanges")?
        .as_array()
        .context("a list")?;
    ensure!(pending.contains(&json!(format!("set {wish}"))), "{pending:?}");
    ensure!(scene.etcd.all().await? == before);
    Ok(())
}

/// The node's block is read from etcd.
#[tokio::test(flavor = "multi_thread")]
async fn a_block_without_windows_reservation_is_named() -> Result<()> {
    let scene = Scene::play().await?;
    scene
        .stage
        .condition("CalicoConfigured", "True", "AsExpected")
        .await?;
    let reasons = async |wanted: bool| {
        let what = format!("BlockReservationMissing found: {wanted}");
        scene
            .stage
            .until(&what, async || {
                let config = scene.stage.config().await?;
                let node = config["status"]["nodes"]["list"].to_string();
                Ok(
                    (node.contains("windows-0") && node.contains("BlockReservationMissing") == wanted)
                        .then_some(()),
                )
            })
            .await
    };
    reasons(false).await?;
    let value = scene.etcd.value(BLOCK).await?;
    let bare = value.replace("windows-reserved-ipam-handle", "somebody-elses-handle");
    ensure!(bare != value);
    scene.etcd.put(BLOCK, &bare).await?;
    reasons(true).await?;
    scene.etcd.put(BLOCK, &value).await?;
    reasons(false).await
}
