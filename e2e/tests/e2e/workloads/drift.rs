//! Someone changes or deletes what is ours.

use anyhow::{Context as _, Result};
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use wn_api::names::{SCRIPT_KEY, kube_proxy, node_agent};
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::{AGENT, PROXY, config_maps, container, daemon_sets, edit, get};

/// The spec, and the data of a ConfigMap.
fn content(object: &Value) -> [Value; 2] {
    [object["spec"].clone(), object["data"].clone()]
}

async fn back(test: &TestCluster, api: &Api<DynamicObject>, name: &str, wanted: &[Value; 2]) -> Result<()> {
    let what = format!("{name} is as it was");
    test.until(&what, async || {
        Ok((content(&get(api, name).await?) == *wanted).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_is_put_right() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.quiet().await?;
    let sets = daemon_sets(&test, NAME);
    let maps = config_maps(&test, NAME);

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
        back(&test, &sets, name, &right).await?;
        test.event("DriftRepaired", &format!("DaemonSet {NAME}/{name} "))
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
        back(&test, &sets, name, &right).await?;

        // The third change within ten minutes is left, unless the config changes.
        let mut config = minimal("CalicoVXLAN");
        config["nodeListLimit"] = json!(limit);
        test.apply(config).await?;
        test.ready().await?;
        let selector = json!({"kubernetes.io/os": "windows", "kubernetes.io/hostname": "nowhere"});
        edit(
            &sets,
            name,
            json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
        )
        .await?;
        back(&test, &sets, name, &right).await?;
        // What we do not set belongs to whoever sets it.
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"nodeSelector": selector}}}}),
        )
        .await?;
        test.quiet().await?;
        let kept = get(&sets, name).await?;
        assert_eq!(kept.pointer("/spec/template/spec/nodeSelector"), Some(&selector));
        edit(
            &sets,
            name,
            json!({"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": null}}}}}),
        )
        .await?;
        back(&test, &sets, name, &right).await?;
    }
    for (name, key) in [
        (node_agent::CONFIG_MAP, node_agent::CONFIG_KEY),
        (kube_proxy::CONFIG_MAP, SCRIPT_KEY),
    ] {
        let right = content(&get(&maps, name).await?);
        edit(&maps, name, json!({"data": {key: "exit 1"}})).await?;
        back(&test, &maps, name, &right).await?;
        test.event("DriftRepaired", &format!("ConfigMap {NAME}/{name} "))
            .await?;
    }
    test.ready().await?;
    test.quiet().await?;
    assert_eq!(test.simulator.problems("windows-0"), Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_is_made_again() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let sets = daemon_sets(&test, NAME);
    let maps = config_maps(&test, NAME);
    let ours = [
        ("DaemonSet", &sets, AGENT),
        ("DaemonSet", &sets, PROXY),
        ("ConfigMap", &maps, node_agent::CONFIG_MAP),
        ("ConfigMap", &maps, kube_proxy::CONFIG_MAP),
    ];
    for (kind, api, name) in ours {
        let before = get(api, name).await?;
        api.delete(name, &DeleteParams::background()).await?;
        test.until(&format!("{name} is there again"), async || {
            let now = get(api, name).await?;
            let replaced = now
                .pointer("/metadata/uid")
                .is_some_and(|u| Some(u) != before.pointer("/metadata/uid"));
            Ok(replaced.then_some(()))
        })
        .await?;
        assert_eq!(content(&get(api, name).await?), content(&before), "{name}");
        test.event("DriftRepaired", &format!("{kind} {NAME}/{name} "))
            .await?;
    }
    test.ready().await?;

    // While we were away, too.
    let mut test = test;
    test.quiet().await?;
    test.kill_operator();
    let sets = daemon_sets(&test, NAME);
    sets.delete(AGENT, &DeleteParams::background()).await?;
    let merge = json!({"spec": {"template": {"spec": {"hostNetwork": null, "securityContext": null}}}});
    edit(&sets, PROXY, merge).await?;
    test.start_operator().await?;
    test.until("both are right again", async || {
        let there = !test.daemon_set(AGENT).await?.is_null();
        let proxy = test.daemon_set(PROXY).await?;
        Ok((there && proxy.pointer("/spec/template/spec/hostNetwork") == Some(&json!(true))).then_some(()))
    })
    .await?;
    test.ready().await
}
