//! What several tests here need.

use anyhow::Result;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::names::{kube_proxy, node_agent};
use wn_e2e::objects;
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::TestCluster;

pub const AGENT: &str = node_agent::DAEMON_SET;
pub const PROXY: &str = kube_proxy::DAEMON_SET;
pub const NO_DSR_PROXY: &str = kube_proxy::NO_DSR_DAEMON_SET;

/// DaemonSets of a namespace.
pub fn daemon_sets(test: &TestCluster, namespace: &str) -> Api<DynamicObject> {
    let resource = objects::resource("apps", "v1", "DaemonSet", "daemonsets");
    Api::namespaced_with(test.client.clone(), namespace, &resource)
}

pub fn config_maps(test: &TestCluster, namespace: &str) -> Api<DynamicObject> {
    let resource = objects::resource("", "v1", "ConfigMap", "configmaps");
    Api::namespaced_with(test.client.clone(), namespace, &resource)
}

/// An object as JSON; null when it does not exist.
pub async fn get(api: &Api<DynamicObject>, name: &str) -> Result<Value> {
    api.get_opt(name)
        .await?
        .map_or(Ok(Value::Null), |o| objects::json(&o))
}

/// An update as `kubectl edit` makes it; `null` removes a field.
pub async fn edit(api: &Api<DynamicObject>, name: &str, merge: Value) -> Result<()> {
    let params = PatchParams {
        field_manager: Some("kubectl-edit".to_owned()),
        ..PatchParams::default()
    };
    api.patch(name, &params, &Patch::Merge(merge)).await?;
    Ok(())
}

/// The first container of a DaemonSet.
pub fn container(daemon_set: &Value) -> &Value {
    daemon_set
        .pointer("/spec/template/spec/containers/0")
        .unwrap_or(&Value::Null)
}

pub fn image(daemon_set: &Value) -> &str {
    objects::text(container(daemon_set), "/image")
}

pub fn arguments(daemon_set: &Value) -> Vec<&str> {
    strings(&container(daemon_set)["args"])
}

pub fn strings(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

/// Value of a variable of the first container.
pub fn variable<'a>(daemon_set: &'a Value, name: &str) -> Option<&'a str> {
    let all = container(daemon_set)["env"].as_array()?;
    all.iter().find(|v| v["name"] == name)?["value"].as_str()
}

/// Waits until a DaemonSet of ours is as `look` wants it.
pub async fn daemon_set_until(
    test: &TestCluster,
    name: &str,
    what: &str,
    look: impl Fn(&Value) -> bool,
) -> Result<Value> {
    test.until(&format!("DaemonSet {name}: {what}"), async || {
        let found = test.daemon_set(name).await?;
        Ok(look(&found).then_some(found))
    })
    .await
}

/// Waits until neither DaemonSet of ours nor its ConfigMap exists.
pub async fn gone(test: &TestCluster, name: &str, config_map: &str) -> Result<()> {
    test.until(&format!("{name} and {config_map} are gone"), async || {
        let daemon_set = test.daemon_set(name).await?;
        let map = get(&config_maps(test, NAME), config_map).await?;
        Ok((daemon_set.is_null() && map.is_null()).then_some(()))
    })
    .await
}

/// A node of the status; null when it is not listed.
pub async fn node_status(test: &TestCluster, name: &str) -> Result<Value> {
    let config = test.config().await?;
    let list = config.pointer("/status/nodes/list").and_then(Value::as_array);
    let found = list.into_iter().flatten().find(|n| n["name"] == name);
    Ok(found.cloned().unwrap_or_default())
}

/// Waits until the status gives that reason for a node; its message.
pub async fn node_reason(test: &TestCluster, name: &str, reason: &str) -> Result<String> {
    test.until(&format!("node {name} is {reason}"), async || {
        let node = node_status(test, name).await?;
        let hit = objects::text(&node, "/reason") == reason;
        Ok(hit.then(|| objects::text(&node, "/message").to_owned()))
    })
    .await
}

/// A DaemonSet somebody else made, on Windows nodes.
pub async fn foreign(test: &TestCluster, namespace: &str, name: &str, image: &str) -> Result<()> {
    let labels = json!({ "app": name });
    test.create(
        "daemonsets",
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "windows"},
                    "containers": [{"name": "main", "image": image}],
                },
            }},
        }),
    )
    .await
}

pub async fn namespace(test: &TestCluster, name: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    test.create("namespaces", object).await
}
