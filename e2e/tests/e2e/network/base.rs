//! What several tests here need.

use anyhow::Result;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::names::flannel as names;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions};
use wn_e2e::flannel;
pub use wn_e2e::flannel::{assign_pod_cidr, net_conf as stored};
use wn_e2e::objects;
use wn_e2e::test_cluster::TestCluster;

pub const PERSON: &str = "kubectl-edit";

/// A cluster without Calico whose nodes have pod CIDRs.
pub async fn test_cluster() -> Result<TestCluster> {
    let test = TestCluster::without_operator(ClusterOptions {
        calico_api: CalicoApi::None,
        calico_objects: false,
        ..ClusterOptions::default()
    })
    .await?;
    flannel::assign_pod_cidrs(&test).await?;
    Ok(test)
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

pub fn config_maps(test: &TestCluster, namespace: &str) -> Api<DynamicObject> {
    let resource = objects::resource("", "v1", "ConfigMap", "configmaps");
    Api::namespaced_with(test.client.clone(), namespace, &resource)
}

/// `net-conf.json` as `kube-flannel.yml` has it, with a backend.
pub fn net_conf(backend: &str) -> String {
    format!(
        "{{\n  \"Network\": \"10.244.0.0/16\",\n  \"EnableNFTables\": false,\n  \"Backend\": {{\n    \"Type\": \"{backend}\"\n  }}\n}}\n"
    )
}

/// flannel with a backend.
pub async fn install_flannel(test: &TestCluster, backend: &str) -> Result<()> {
    flannel::install(test, &net_conf(backend)).await
}

/// A person edits it.
pub async fn edit(test: &TestCluster, text: &str) -> Result<()> {
    let params = PatchParams {
        field_manager: Some(PERSON.to_owned()),
        ..PatchParams::default()
    };
    let body = json!({"data": {names::NET_CONF_KEY: text}});
    flannel::config_maps(test)
        .patch(names::CONFIG_MAP, &params, &Patch::Merge(body))
        .await?;
    Ok(())
}

/// Waits until it reads so.
pub async fn stored_until(test: &TestCluster, what: &str, look: impl Fn(&str) -> bool) -> Result<String> {
    test.until(what, async || {
        let text = flannel::net_conf(test).await?;
        Ok(look(&text).then_some(text))
    })
    .await
}
