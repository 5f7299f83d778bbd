//! The cloud's own network: nothing of it is ours.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use wn_api::names::{eks, kube_proxy, node_agent};
use wn_e2e::test_cluster::minimal;

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn prerequisites_of_eks_are_named_until_they_are_met() -> Result<()> {
    let mut test = test_cluster().await?;
    let labels = json!({"metadata": {"labels": {"eks.amazonaws.com/nodegroup": "windows"}}});
    let params = PatchParams::default();
    test.nodes()
        .patch("windows-0", &params, &Patch::Merge(labels))
        .await?;
    test.start_operator().await?;
    test.apply(minimal("CloudProvider")).await?;
    let parts = ["amazon-vpc-cni", eks::WINDOWS_IPAM, "windows-0", eks::ADDRESSES];
    test.condition_says("NetworkConfigured", "False", "PrerequisiteMissing", &parts)
        .await?;

    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": eks::CONFIG_MAP, "namespace": "kube-system"},
        "data": {eks::WINDOWS_IPAM: "true"},
    });
    test.create("configmaps", config).await?;
    let allocatable = json!({"status": {"allocatable": {eks::ADDRESSES: "14"}}});
    test.nodes()
        .patch_status("windows-0", &params, &Patch::Merge(allocatable))
        .await?;
    test.condition_says("NetworkConfigured", "True", "AsExpected", &["DSR"])
        .await?;
    test.condition("KubeProxyAvailable", "True", "External").await?;
    test.condition("NodeAgentAvailable", "True", "NotApplicable")
        .await?;
    test.ready().await?;
    for name in [kube_proxy::DAEMON_SET, node_agent::DAEMON_SET] {
        ensure!(
            test.daemon_set(name).await?.is_null(),
            "{name} is not ours to run"
        );
    }
    Ok(())
}

/// Azure CNI shows nothing in the API that could be checked; what is unknown is reported.
#[tokio::test(flavor = "multi_thread")]
async fn aks_works_with_nothing_of_ours() -> Result<()> {
    let mut test = test_cluster().await?;
    let labels = json!({"metadata": {"labels": {"kubernetes.azure.com/cluster": "mc"}}});
    let params = PatchParams::default();
    test.nodes()
        .patch("windows-0", &params, &Patch::Merge(labels))
        .await?;
    test.start_operator().await?;
    test.apply(minimal("CloudProvider")).await?;
    test.ready().await?;
    test.condition_says("NetworkConfigured", "True", "AsExpected", &["AKS", "DSR"])
        .await?;
    let mut managed = minimal("CloudProvider");
    managed["kubeProxy"] = json!({"management": "Managed"});
    let refused = test.apply(managed).await;
    let error = refused.err().map(|e| format!("{e:#}")).unwrap_or_default();
    for part in ["spec.kubeProxy.management", "remove it"] {
        ensure!(error.contains(part), "{error:?}");
    }
    Ok(())
}
