//! What several tests here need.

use anyhow::Result;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::names::flannel;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::objects;
use wn_e2e::stage::Stage;

/// Who installs flannel as its README says.
pub const INSTALLER: &str = "kubectl-client-side-apply";
pub const PERSON: &str = "kubectl-edit";

/// A cluster without Calico whose nodes have pod CIDRs.
pub async fn stage() -> Result<Stage> {
    let stage = Stage::set(ClusterOptions {
        calico_api: CalicoApi::None,
        calico_objects: false,
        ..ClusterOptions::default()
    })
    .await?;
    pod_cidr(&stage, "linux-0", "10.244.0.0/24").await?;
    pod_cidr(&stage, "windows-0", "10.244.1.0/24").await?;
    Ok(stage)
}

/// As kube-controller-manager assigns it.
pub async fn pod_cidr(stage: &Stage, node: &str, cidr: &str) -> Result<()> {
    let body = json!({"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
    stage
        .nodes()
        .patch(node, &PatchParams::default(), &Patch::Merge(body))
        .await?;
    Ok(())
}

/// A spec of a network type with an image of its agent.
pub fn spec(network: &str) -> Value {
    json!({
        "network": {"type": network},
        "networkAgent": {"image": {"repository": "example/agent", "tag": "v1"}},
    })
}

pub fn migrating(network: &str) -> Value {
    let mut spec = spec(network);
    spec["calico"] = json!({"encapsulation": {"whenInUse": "Migrate"}});
    spec
}

pub fn config_maps(stage: &Stage, namespace: &str) -> Api<DynamicObject> {
    let resource = objects::resource("", "v1", "ConfigMap", "configmaps");
    Api::namespaced_with(stage.client.clone(), namespace, &resource)
}

/// `net-conf.json` as `kube-flannel.yml` has it, with a backend.
pub fn net_conf(backend: &str) -> String {
    format!(
        "{{\n  \"Network\": \"10.244.0.0/16\",\n  \"EnableNFTables\": false,\n  \"Backend\": {{\n    \"Type\": \"{backend}\"\n  }}\n}}\n"
    )
}

/// flannel's namespace and configuration.
pub async fn install_flannel(stage: &Stage, backend: &str) -> Result<()> {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": flannel::NAMESPACE}});
    stage.create("namespaces", namespace).await?;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": flannel::CONFIG_MAP, "namespace": flannel::NAMESPACE},
        "data": {"cni-conf.json": "{}", "net-conf.json": net_conf(backend)},
    });
    let params = kube::api::PostParams {
        field_manager: Some(INSTALLER.to_owned()),
        ..kube::api::PostParams::default()
    };
    config_maps(stage, flannel::NAMESPACE)
        .create(&params, &serde_json::from_value(config)?)
        .await?;
    Ok(())
}

/// `net-conf.json` as it is stored.
pub async fn stored(stage: &Stage) -> Result<String> {
    let config = objects::json(
        &config_maps(stage, flannel::NAMESPACE)
            .get(flannel::CONFIG_MAP)
            .await?,
    )?;
    Ok(config["data"][flannel::NET_CONF_KEY]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// A person edits it.
pub async fn edit(stage: &Stage, text: &str) -> Result<()> {
    let params = PatchParams {
        field_manager: Some(PERSON.to_owned()),
        ..PatchParams::default()
    };
    let body = json!({"data": {flannel::NET_CONF_KEY: text}});
    config_maps(stage, flannel::NAMESPACE)
        .patch(flannel::CONFIG_MAP, &params, &Patch::Merge(body))
        .await?;
    Ok(())
}

/// Waits until it reads so.
pub async fn stored_until(stage: &Stage, what: &str, look: impl Fn(&str) -> bool) -> Result<String> {
    stage
        .until(what, async || {
            let text = stored(stage).await?;
            Ok(look(&text).then_some(text))
        })
        .await
}
