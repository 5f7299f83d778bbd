//! Which Windows nodes work, which do not and why.

use anyhow::Result;
use serde_json::{Value, json};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::operator::NAME;
use wn_e2e::simulator::Fault;
use wn_e2e::test_cluster::{TestCluster, at, minimal};

use super::support::{AGENT, PROXY, daemon_sets, edit, node_reason, node_status};

async fn summary(test: &TestCluster, wanted: &str) -> Result<Value> {
    test.until(&format!("{wanted} nodes are ready"), async || {
        let config = test.config().await?;
        let nodes = config.pointer("/status/nodes").cloned().unwrap_or_default();
        Ok((nodes["summary"] == wanted).then_some(nodes))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_named_and_forgotten_when_it_is_gone() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 3,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.simulator.inject("windows-1", Fault::AgentImagePull);
    test.simulator.inject("windows-2", Fault::KubeProxyImagePull);
    test.apply(minimal("CalicoVXLAN")).await?;

    let why = node_reason(&test, "windows-1", "AgentImagePullFailed").await?;
    test.until("the kubelet's message is reported", async || {
        let node = node_status(&test, "windows-1").await?;
        Ok(node["message"]
            .as_str()
            .is_some_and(|m| m.contains("ImagePullBackOff"))
            .then_some(()))
    })
    .await?;
    assert!(why.contains("node agent"), "{why}");
    node_reason(&test, "windows-2", "KubeProxyImagePullFailed").await?;
    let nodes = summary(&test, "1/3").await?;
    let listed: Vec<_> = at(&nodes, "/list")?.as_array().into_iter().flatten().collect();
    let order: Vec<_> = listed.iter().filter_map(|n| n["name"].as_str()).collect();
    assert_eq!(
        order,
        ["windows-1", "windows-2", "windows-0"],
        "those that do not work come first"
    );
    assert_eq!(listed[2].get("reason"), None);
    assert_eq!(listed[2]["osBuild"], "10.0.20348.3207");
    assert_eq!(listed[2]["kubelet"], test.cluster.kubernetes_version());

    test.condition_says(
        "NodesReady",
        "False",
        "NodesNotReady",
        &[
            "1 node: AgentImagePullFailed (windows-1)",
            "1 node: KubeProxyImagePullFailed (windows-2)",
        ],
    )
    .await?;
    test.condition("NodeAgentAvailable", "False", "RolloutIncomplete")
        .await?;
    test.condition("KubeProxyAvailable", "False", "RolloutIncomplete")
        .await?;
    test.condition("Ready", "False", "RolloutIncomplete").await?;
    // Nothing changes before a person repairs the nodes, and the operator has done its part.
    test.condition("Stalled", "True", "NodesNotReady").await?;
    test.condition("Reconciling", "False", "AsExpected").await?;
    test.condition("Configured", "True", "AsExpected").await?;
    // A back-off counts up in the kubelet's words, and must not wake us for ever.
    test.quiet().await?;

    // The user may be content with fewer nodes.
    let mut content = minimal("CalicoVXLAN");
    content["readiness"] = json!({"minReadyNodes": "33%"});
    test.apply(content).await?;
    test.condition_says(
        "Ready",
        "True",
        "MinimumNodesReady",
        &["1 node: AgentImagePullFailed (windows-1)"],
    )
    .await?;
    test.condition("NodeAgentAvailable", "True", "MinimumNodesReady")
        .await?;
    test.condition("Stalled", "False", "AsExpected").await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.condition("Stalled", "True", "NodesNotReady").await?;

    test.simulator.clear("windows-1");
    test.simulator.clear("windows-2");
    summary(&test, "3/3").await?;
    test.ready().await?;
    test.event("Ready", "every Windows node is ready").await?;

    test.simulator.inject("windows-0", Fault::AgentNotReady);
    let why = node_reason(&test, "windows-0", "AgentNotReady").await?;
    assert!(why.contains("read the log"), "{why}");
    test.event("NotReady", "").await?;
    test.simulator.clear("windows-0");
    test.ready().await?;

    // Pods that were taken away: the DaemonSet says where they run, and it is not ours to overrule.
    let elsewhere = |host: Value| json!({"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": host}}}}});
    let sets = daemon_sets(&test, NAME);
    edit(&sets, PROXY, elsewhere(json!("windows-0"))).await?;
    let why = node_reason(&test, "windows-1", "KubeProxyNotScheduled").await?;
    assert!(why.contains("no pod of kube-proxy"), "{why}");
    edit(&sets, AGENT, elsewhere(json!("windows-0"))).await?;
    node_reason(&test, "windows-1", "AgentNotScheduled").await?;
    test.condition_says(
        "NodesReady",
        "False",
        "NodesNotReady",
        &["2 nodes: AgentNotScheduled (windows-1, windows-2)"],
    )
    .await?;
    for name in [AGENT, PROXY] {
        edit(&sets, name, elsewhere(Value::Null)).await?;
    }
    summary(&test, "3/3").await?;
    test.ready().await
}

/// Everything is in place before the first node; the node then needs nobody.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_node_finds_everything_in_place() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 0,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let message = test.condition("Ready", "True", "NoWindowsNodes").await?;
    assert!(message.contains("first Windows node"), "{message}");
    test.condition("NodesReady", "True", "NoWindowsNodes").await?;
    summary(&test, "0/0").await?;
    assert!(!test.daemon_set(AGENT).await?.is_null());
    assert!(!test.daemon_set(PROXY).await?.is_null());
    test.quiet().await?;

    test.cluster.add_node(NodeSpec::windows("first")).await?;
    summary(&test, "1/1").await?;
    test.ready().await?;
    assert_eq!(test.simulator.problems("first"), Vec::<String>::new());
    test.remove_node("first").await?;
    test.condition("Ready", "True", "NoWindowsNodes").await?;
    Ok(())
}

/// The status is bounded; nodes that do not work are not the ones that are left out.
#[tokio::test(flavor = "multi_thread")]
async fn at_most_fifty_nodes_are_listed() -> Result<()> {
    let options = ClusterOptions {
        windows_nodes: 53,
        ..ClusterOptions::default()
    };
    let test = TestCluster::with_operator(options).await?;
    test.simulator.inject("windows-52", Fault::AgentImagePull);
    test.apply(minimal("CalicoVXLAN")).await?;
    let nodes = summary(&test, "52/53").await?;
    assert_eq!(at(&nodes, "/list")?.as_array().map(Vec::len), Some(50));
    assert_eq!(at(&nodes, "/list/0/name")?, "windows-52");
    assert_eq!([&nodes["total"], &nodes["ready"], &nodes["omitted"]], [53, 52, 3]);
    Ok(())
}
