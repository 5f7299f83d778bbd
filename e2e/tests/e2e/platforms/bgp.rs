//! CalicoBGP: who learns the routes, host-local addresses; and BGP where it does not belong.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::objects::text;
use wn_e2e::test_cluster::{SINGLETON, TestCluster, minimal};

const TYPE: &str = "NetworkConfigured";

fn host_local() -> Value {
    let mut spec = minimal("CalicoBGP");
    spec["network"]["ipam"] = json!("HostLocal");
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn host_local_addresses_of_the_nodes_pod_cidr() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 0,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.cluster.add_node(NodeSpec::windows("bare")).await?;
    test.apply(host_local()).await?;
    let parts = ["Node bare has no IPv4 range", "--allocate-node-cidrs"];
    test.condition_says(TYPE, "False", "PodCIDRMissing", &parts)
        .await?;
    test.condition("Stalled", "True", "PodCIDRMissing").await?;
    test.cluster.remove_node("bare").await?;
    let delete = [
        "delete",
        "pods",
        "-A",
        "--field-selector",
        "spec.nodeName=bare",
        "--grace-period=0",
        "--force",
    ];
    test.cluster.kubectl(&delete).await?;

    let node = NodeSpec::windows("ranged")
        .pod_cidr("10.244.7.0/24")
        .max_pods(100);
    test.cluster.add_node(node).await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    test.ready().await?;
    // Calico's IPAM is not asked, so it is not touched.
    let ipam = test.spec(ConfigKind::IpamConfiguration, SINGLETON).await?;
    ensure!(ipam["strictAffinity"] == false, "{ipam}");
    let blocks = test.cluster.kubectl(&["get", "ipamblocks", "-o", "name"]).await?;
    ensure!(blocks.trim().is_empty(), "{blocks}");
    let config = test.config().await?;
    let originals = config
        .pointer("/status/calico/originals")
        .and_then(Value::as_array);
    ensure!(originals.is_some_and(|all| all.iter().all(|o| text(o, "/kind") != "IPAMConfiguration")));
    let pool = test.spec(ConfigKind::IpPool, "default-ipv4-ippool").await?;
    ensure!(pool["ipipMode"] == "Never", "{pool}");
    test.delete_and_wait().await
}

fn calico(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "crd.projectcalico.org/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_share_no_subnet_need_peers() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.ready().await?;
    let away = "projectcalico.org/IPv4Address=10.99.0.1/24";
    test.cluster
        .kubectl(&["annotate", "node", "linux-0", away])
        .await?;
    let parts = [
        "windows-0 is in 172.20.",
        "linux-0 in 10.99.0.0/24",
        "there is no route to pods on the other node",
    ];
    test.condition_says(TYPE, "False", "NotL2Adjacent", &parts)
        .await?;
    test.condition("Ready", "False", "NotL2Adjacent").await?;

    let peer = calico(
        "BGPPeer",
        "rack",
        json!({"peerIP": "10.99.0.254", "asNumber": 64512}),
    );
    test.create("bgppeers", peer).await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    test.ready().await?;
    let off = json!({"nodeToNodeMeshEnabled": false});
    test.create("bgpconfigurations", calico("BGPConfiguration", "default", off))
        .await?;
    test.condition(TYPE, "True", "AsExpected").await?;
    test.cluster.kubectl(&["delete", "bgppeer", "rack"]).await?;
    let parts = ["nodeToNodeMeshEnabled is false", "no BGPPeer"];
    test.condition_says(TYPE, "False", "BGPDisabled", &parts).await?;
    test.cluster
        .kubectl(&["delete", "bgpconfiguration", "default"])
        .await?;
    // A /32 says nothing about the network.
    let alone = "projectcalico.org/IPv4Address=10.99.0.1/32";
    test.cluster
        .kubectl(&["annotate", "node", "linux-0", "--overwrite", alone])
        .await?;
    test.ready().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backend_of_linux_nodes_must_fit() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "calico-config", "namespace": "kube-system"},
        "data": {"calico_backend": "bird", "typha_service_name": "none"},
    });
    test.create("configmaps", config).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let parts = ["calico_backend is bird", "-bird-ready"];
    test.condition_says(TYPE, "False", "BGPWithVXLAN", &parts).await?;
    let backend = async |name: &str| {
        let patch = format!(r#"{{"data":{{"calico_backend":"{name}"}}}}"#);
        let words = [
            "patch",
            "configmap",
            "calico-config",
            "-n",
            "kube-system",
            "--type=merge",
            "-p",
            &patch,
        ];
        test.cluster.kubectl(&words).await
    };
    backend("vxlan").await?;
    test.ready().await?;
    test.apply(minimal("CalicoBGP")).await?;
    test.condition_says(TYPE, "False", "BGPDisabled", &["calico_backend is vxlan"])
        .await?;
    backend("bird").await?;
    test.condition(TYPE, "True", "AsExpected").await.map(drop)
}
