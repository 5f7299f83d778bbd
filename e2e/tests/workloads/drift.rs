//! Someone changes or deletes what is ours.

use anyhow::{Context as _, Result};
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use wn_api::names::{SCRIPT_KEY, kube_proxy, node_agent};
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::operator::NAME;
use wn_e2e::stage::{Stage, minimal};

use crate::support::{AGENT, PROXY, config_maps, container, daemon_sets, edit, get};

/// The spec, and the data of a ConfigMap.
fn content(object: &Value) -> [Value; 2] {
    [object["spec"].clone(), object["data"].clone()]
}

async fn back(stage: &Stage, api: &Api<DynamicObject>, name: &str, wanted: &[Value; 2]) -> Result<()> {
    let what = format!("{name} is as it was");
    stage
        .until(&what, async || {
            Ok((content(&get(api, name).await?) == *wanted).then_some(()))
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_is_put_right() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    stage.quiet().await?;
    let sets = daemon_sets(&stage, NAME);
    let maps = config_maps(&stage, NAME);

    for (name, limit) in [(AGENT, 40), (PROXY, 41)] {
        let right = content(&get(&sets, name).await?);
        let mut containers = right[0]
            .pointer("/template/spec/containers")
            .cloned()
            .context("no containers")?;
        containers[0]["image"] = json!("example.com/evil:1");
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"containers": containers}}}}),
        )
        .await?;
        back(&stage, &sets, name, &right).await?;
        stage
            .event("DriftRepaired", &format!("DaemonSet {NAME}/{name} "))
            .await?;

        let env = containers[0]["env"].as_array_mut().context("no env")?;
        env.remove(0);
        containers[0]["image"] = container(&json!({"spec": right[0]}))["image"].clone();
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"containers": containers}}}}),
        )
        .await?;
        back(&stage, &sets, name, &right).await?;

        // The third change within ten minutes is left, unless the config changes.
        let mut config = minimal("CalicoVXLAN");
        config["status"] = json!({"nodeListLimit": limit});
        stage.apply(config).await?;
        stage.ready().await?;
        let selector = json!({"kubernetes.io/os": "windows", "kubernetes.io/hostname": "nowhere"});
        edit(
            &sets,
            name,
            json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
        )
        .await?;
        back(&stage, &sets, name, &right).await?;
        // What we do not set belongs to whoever sets it.
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"nodeSelector": selector}}}}),
        )
        .await?;
        stage.quiet().await?;
        let kept = get(&sets, name).await?;
        assert_eq!(kept.pointer("/spec/template/spec/nodeSelector"), Some(&selector));
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": null}}}}}),
        )
        .await?;
        back(&stage, &sets, name, &right).await?;
    }
    for (name, key) in [
        (node_agent::CONFIG_MAP, node_agent::CONFIG_KEY),
        (kube_proxy::CONFIG_MAP, SCRIPT_KEY),
    ] {
        let right = content(&get(&maps, name).await?);
        edit(&maps, name, json!({"data": {key: "exit 1"}})).await?;
        back(&stage, &maps, name, &right).await?;
        stage
            .event("DriftRepaired", &format!("ConfigMap {NAME}/{name} "))
            .await?;
    }
    stage.ready().await?;
    stage.quiet().await?;
    assert_eq!(stage.simulator.problems("windows-0"), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_is_made_again() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let sets = daemon_sets(&stage, NAME);
    let maps = config_maps(&stage, NAME);
    let ours = [
        ("DaemonSet", &sets, AGENT),
        ("DaemonSet", &sets, PROXY),
        ("ConfigMap", &maps, node_agent::CONFIG_MAP),
        ("ConfigMap", &maps, kube_proxy::CONFIG_MAP),
    ];
    for (kind, api, name) in ours {
        let before = get(api, name).await?;
        api.delete(name, &DeleteParams::background()).await?;
        stage
            .until(&format!("{name} is there again"), async || {
                let now = get(api, name).await?;
                let anew = now
                    .pointer("/metadata/uid")
                    .is_some_and(|u| Some(u) != before.pointer("/metadata/uid"));
                Ok(anew.then_some(()))
            })
            .await?;
        assert_eq!(content(&get(api, name).await?), content(&before), "{name}");
        stage
            .event("DriftRepaired", &format!("{kind} {NAME}/{name} "))
            .await?;
    }
    stage.ready().await?;

    // While we were away, too.
    let mut stage = stage;
    stage.quiet().await?;
    stage.kill();
    let sets = daemon_sets(&stage, NAME);
    sets.delete(AGENT, &DeleteParams::background()).await?;
    let merge = json!({"spec": {"template": {"spec": {"hostNetwork": null, "securityContext": null}}}});
    edit(&sets, PROXY, merge).await?;
    stage.start().await?;
    stage
        .until("both are right again", async || {
            let there = !stage.daemon_set(AGENT).await?.is_null();
            let proxy = stage.daemon_set(PROXY).await?;
            Ok(
                (there && proxy.pointer("/spec/template/spec/hostNetwork") == Some(&json!(true)))
                    .then_some(()),
            )
        })
        .await?;
    stage.ready().await
}
