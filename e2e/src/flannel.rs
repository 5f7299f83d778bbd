//! flannel as its README installs it: pod CIDRs on the Nodes, a namespace, and a ConfigMap with `net-conf.json`.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use wn_api::names::flannel;

use crate::objects::{self, text};
use crate::test_cluster::TestCluster;

/// The field manager of `kubectl apply`, with which flannel's README installs it.
pub const INSTALLER: &str = "kubectl-client-side-apply";

/// Gives every Node a pod CIDR, `10.244.N.0/24`, as kube-controller-manager would.
pub async fn assign_pod_cidrs(test: &TestCluster) -> Result<()> {
    for (number, node) in objects::list(&test.nodes()).await?.iter().enumerate() {
        let cidr = format!("10.244.{number}.0/24");
        assign_pod_cidr(test, text(node, "/metadata/name"), &cidr).await?;
    }
    Ok(())
}

pub async fn assign_pod_cidr(test: &TestCluster, node: &str, cidr: &str) -> Result<()> {
    let patch = json!({"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}});
    let nodes = test.nodes();
    nodes
        .patch(node, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// Creates the namespace and the ConfigMap with this `net-conf.json`.
pub async fn install(test: &TestCluster, net_conf: &str) -> Result<()> {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": flannel::NAMESPACE}});
    test.create("namespaces", namespace).await?;
    let config = json!({
        "metadata": {"name": flannel::CONFIG_MAP},
        "data": {"cni-conf.json": "{}", (flannel::NET_CONF_KEY): net_conf},
    });
    let params = PostParams {
        field_manager: Some(INSTALLER.to_owned()),
        ..PostParams::default()
    };
    config_maps(test)
        .create(&params, &serde_json::from_value(config)?)
        .await?;
    Ok(())
}

/// `net-conf.json` as it is stored.
pub async fn net_conf(test: &TestCluster) -> Result<String> {
    let found = config_maps(test).get(flannel::CONFIG_MAP).await?;
    let data = found.data.unwrap_or_default().remove(flannel::NET_CONF_KEY);
    Ok(data.unwrap_or_default())
}

/// ConfigMaps in flannel's namespace.
pub fn config_maps(test: &TestCluster) -> Api<ConfigMap> {
    Api::namespaced(test.client.clone(), flannel::NAMESPACE)
}
