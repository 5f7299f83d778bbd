//! Platforms that Calico for Windows does not support: one sentence, and not one write.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::{kube_proxy, node_agent};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::test_cluster::{SINGLETON, TestCluster, condition, minimal};

use super::supported::known_as;

const IPAM: ConfigKind = ConfigKind::IpamConfiguration;
const PAGE: &str =
    "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/limitations";

fn accepting() -> Value {
    let mut spec = minimal("CalicoVXLAN");
    spec["platform"] = json!({"acceptUnsupported": true});
    spec
}

fn theirs() -> NodeSpec {
    NodeSpec::linux("theirs")
}

/// Resource versions of both DaemonSets: any write would change them.
async fn daemon_sets(test: &TestCluster) -> Result<Vec<Value>> {
    let mut specs = Vec::new();
    for name in [node_agent::DAEMON_SET, kube_proxy::DAEMON_SET] {
        let found = test.daemon_set(name).await?;
        ensure!(!found.is_null(), "DaemonSet {name} is gone");
        specs.push(found["metadata"]["generation"].clone());
    }
    Ok(specs)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_until_the_user_insists() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let rows = [
        (
            "GKE",
            theirs().label("cloud.google.com/gke-nodepool", "x"),
            "label cloud.google.com/gke-nodepool",
        ),
        (
            "IKS",
            theirs().provider_id("ibm://account/x"),
            "providerID ibm://",
        ),
        (
            "OpenStack",
            theirs().provider_id("openstack:///x"),
            "providerID openstack://",
        ),
        (
            "K3s",
            theirs().kubelet_version("v1.36.3+k3s1"),
            "kubelet v1.36.3+k3s1",
        ),
        (
            "EKS",
            theirs().label("eks.amazonaws.com/nodegroup", "x"),
            "label eks.amazonaws.com/nodegroup",
        ),
        (
            "AKS",
            theirs().label("kubernetes.azure.com/cluster", "x"),
            "label kubernetes.azure.com/cluster",
        ),
    ];
    for (name, node, sign) in rows {
        let before = daemon_sets(&test).await?;
        test.cluster.add_node(node).await?;
        for (type_, status) in [
            ("Stalled", "True"),
            ("PlatformSupported", "False"),
            ("Ready", "False"),
        ] {
            test.condition_says(type_, status, "PlatformUnsupported", &[name, sign, PAGE])
                .await?;
        }
        if matches!(name, "EKS" | "AKS") {
            let parts = ["set spec.network.type to CloudProvider"];
            test.condition_says("Stalled", "True", "PlatformUnsupported", &parts)
                .await?;
        }
        known_as(&test, name, sign).await?;
        let config = test.config().await?;
        for type_ in ["CalicoConfigured", "NodesReady"] {
            let found = condition(&config, type_).map(|c| c["status"].clone());
            ensure!(found == Some(json!("Unknown")), "{type_} is {found:?} on {name}");
        }

        // What would be repaired elsewhere stays.
        let since = test.quiet().await?;
        let off = json!({"strictAffinity": false});
        test.edit(IPAM, SINGLETON, off, "kubectl-edit").await?;
        test.cluster.add_node(NodeSpec::windows("new")).await?;
        test.quiet().await?;
        let writes = test.writes_since(since)?;
        ensure!(writes.is_empty(), "{name}: {writes:?}");
        ensure!(test.spec(IPAM, SINGLETON).await?["strictAffinity"] == false);
        ensure!(
            daemon_sets(&test).await? == before,
            "{name}: the DaemonSets were touched"
        );

        test.apply(accepting()).await?;
        test.field(IPAM, SINGLETON, "strictAffinity", json!(true)).await?;
        test.condition_says("PlatformSupported", "True", "AsExpected", &[name])
            .await?;
        test.condition("Advisories", "True", "AdvisoriesFound").await?;
        test.ready().await?;

        test.apply(minimal("CalicoVXLAN")).await?;
        test.condition("Stalled", "True", "PlatformUnsupported").await?;
        for node in ["theirs", "new"] {
            test.cluster.remove_node(node).await?;
        }
        let delete = [
            "delete",
            "pods",
            "-A",
            "--field-selector",
            "spec.nodeName=new",
            "--grace-period=0",
            "--force",
        ];
        test.cluster.kubectl(&delete).await?;
        test.ready().await?;
    }
    test.event("PlatformUnsupported", "GKE").await?;
    // Deleting the object restores Calico, refused or not.
    test.cluster
        .add_node(theirs().provider_id("openstack:///x"))
        .await?;
    test.condition("Stalled", "True", "PlatformUnsupported").await?;
    test.delete_and_wait().await?;
    test.field(IPAM, SINGLETON, "strictAffinity", json!(false))
        .await?;
    ensure!(test.daemon_set(node_agent::DAEMON_SET).await?.is_null());
    Ok(())
}

/// In a cluster that is refused from the start nothing of ours ever appears; the cloud's own type is taken.
#[tokio::test(flavor = "multi_thread")]
async fn refused_from_the_start() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let before = test.calico_specs().await?;
    test.cluster
        .add_node(theirs().label("eks.amazonaws.com/nodegroup", "x"))
        .await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.condition("Stalled", "True", "PlatformUnsupported").await?;
    test.quiet().await?;
    ensure!(test.daemon_set(node_agent::DAEMON_SET).await?.is_null());
    ensure!(test.calico_specs().await? == before);
    let config = test.config().await?;
    ensure!(
        config["metadata"]["finalizers"].is_null(),
        "nothing is to be restored"
    );
    ensure!(config["status"]["pendingChanges"].is_null());

    let mut observing = minimal("CloudProvider");
    observing["mode"] = json!("Observe");
    test.apply(observing).await?;
    test.condition_says("PlatformSupported", "True", "AsExpected", &["EKS"])
        .await?;
    test.condition("KubeProxyAvailable", "True", "External").await?;
    Ok(())
}
