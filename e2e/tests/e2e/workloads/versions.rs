//! What versions and flags follow from: kube-proxy's from the Windows nodes there are, the agent's from Calico on Linux nodes.

use anyhow::Result;
use serde_json::{Value, json};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::support::{AGENT, NO_DSR_PROXY, PROXY, arguments, daemon_set_until, image, node_status};

const GATE: &str = "--feature-gates=WinDSR=true";
const DSR: &str = "--enable-dsr=true";

async fn version(test: &TestCluster, version: &str) -> Result<Value> {
    let wanted = format!("docker.io/sigwindowstools/kube-proxy:{version}-calico-hostprocess");
    let what = format!("runs {version}");
    let found = daemon_set_until(test, PROXY, &what, |d| image(d) == wanted).await?;
    test.ready().await?;
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn version_follows_the_oldest_kubelet() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    version(&test, test.cluster.kubernetes_version()).await?;

    test.cluster
        .add_node(NodeSpec::windows("old").kubelet_version("v1.34.4"))
        .await?;
    let found = version(&test, "v1.34.4").await?;
    assert!(!arguments(&found).contains(&GATE));

    // The last minor that needs the gate; later ones do not know it for long.
    test.cluster
        .add_node(NodeSpec::windows("older").kubelet_version("v1.32.13"))
        .await?;
    let found = version(&test, "v1.32.13").await?;
    assert!(
        arguments(&found).contains(&GATE) && arguments(&found).contains(&DSR),
        "{found}"
    );
    for node in ["windows-0", "old", "older"] {
        // The last to come may still wait for its network.
        test.until("every node works", async || {
            Ok(test.simulator.problems(node).is_empty().then_some(()))
        })
        .await?;
    }

    // A distribution's build: a tag cannot hold a plus.
    test.remove_node("older").await?;
    test.cluster
        .add_node(NodeSpec::windows("vendor").kubelet_version("v1.33.4+vendor.1"))
        .await?;
    let found = version(&test, "v1.33.4_vendor.1").await?;
    assert!(!arguments(&found).contains(&GATE));
    test.remove_node("vendor").await?;
    version(&test, "v1.34.4").await?;

    test.apply(json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"version": "v1.35.1"}}))
        .await?;
    version(&test, "v1.35.1").await?;
    test.quiet().await?;
    Ok(())
}

/// Node `old` with that kernel, as the kubelet reports it after an update.
async fn update_windows(test: &TestCluster, kernel: &str) -> Result<()> {
    let status = json!({"status": {"nodeInfo": {"kernelVersion": kernel}}}).to_string();
    let patch = [
        "patch",
        "node",
        "old",
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ];
    test.cluster.kubectl(&patch).await?;
    Ok(())
}

/// Pods of kube-proxy that are scheduled on node `old`, as `pod/<name>`.
async fn proxies_of_old(test: &TestCluster) -> Result<Vec<String>> {
    let get = [
        "get",
        "pods",
        "-n",
        NAME,
        "-l",
        "app.kubernetes.io/component=kube-proxy",
        "--field-selector",
        "spec.nodeName=old",
        "-o",
        "name",
    ];
    let listed = test.cluster.kubectl(&get).await?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// The one pod of kube-proxy on node `old` once it is of that DaemonSet.
async fn runs_on_old(test: &TestCluster, daemon_set: &str) -> Result<String> {
    test.until(&format!("node old runs {daemon_set} alone"), async || {
        let pods = proxies_of_old(test).await?;
        let suffix = |pod: &str| {
            let rest = pod.strip_prefix(&format!("pod/{daemon_set}-"));
            rest.is_some_and(|rest| !rest.contains('-'))
        };
        Ok(match pods.as_slice() {
            [pod] if suffix(pod) => Some(pod.clone()),
            _ => None,
        })
    })
    .await
}

async fn hold(test: &TestCluster, pod: &str, finalizers: Value) -> Result<()> {
    let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
    let patch = ["patch", "-n", NAME, pod, "--type=merge", "-p", &patch];
    test.cluster.kubectl(&patch).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_do_dsr_is_in_a_group_of_its_own() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let before = test.daemon_set(PROXY).await?;
    assert!(arguments(&before).contains(&DSR));

    let old = NodeSpec::windows("old").kernel_version("10.0.17763.1000");
    test.cluster.add_node(old).await?;
    let off = |d: &Value| !d.is_null() && !arguments(d).contains(&DSR);
    daemon_set_until(&test, NO_DSR_PROXY, "without DSR", off).await?;
    test.ready().await?;
    let pod = runs_on_old(&test, NO_DSR_PROXY).await?;
    let after = test.daemon_set(PROXY).await?;
    assert_eq!(before["metadata"]["generation"], after["metadata"]["generation"]);
    test.condition_says(
        "KubeProxyAvailable",
        "True",
        "AsExpected",
        &["DSR is off on old", "17763.1432", "not enforced there"],
    )
    .await?;
    let node = node_status(&test, "old").await?;
    assert!(
        node["advice"].to_string().contains("ClusterIPPolicyNotEnforced"),
        "{node}"
    );
    let other = node_status(&test, "windows-0").await?;
    assert!(
        !other.to_string().contains("ClusterIPPolicyNotEnforced"),
        "{other}"
    );

    // Windows is updated. While the old pod is there, none of the other group runs on the node.
    hold(&test, &pod, json!(["example.com/slow"])).await?;
    update_windows(&test, "10.0.17763.6000").await?;
    test.until("the pod of the former group is being deleted", async || {
        let get = [
            "get",
            "-n",
            NAME,
            &pod,
            "-o",
            "jsonpath={.metadata.deletionTimestamp}",
        ];
        Ok((!test.cluster.kubectl(&get).await?.is_empty()).then_some(()))
    })
    .await?;
    test.quiet().await?;
    assert_eq!(proxies_of_old(&test).await?, std::slice::from_ref(&pod));
    hold(&test, &pod, Value::Null).await?;
    runs_on_old(&test, PROXY).await?;
    daemon_set_until(&test, NO_DSR_PROXY, "is gone with its last node", Value::is_null).await?;
    test.ready().await?;

    let dsr = |dsr: &str| json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"dsr": dsr}});
    update_windows(&test, "10.0.17763.1000").await?;
    runs_on_old(&test, NO_DSR_PROXY).await?;
    test.apply(dsr("Enabled")).await?;
    let why = test
        .condition("KubeProxyAvailable", "False", "DSRUnsupported")
        .await?;
    assert!(why.contains("old") && why.contains("set dsr to Auto"), "{why}");
    test.condition("Stalled", "True", "DSRUnsupported").await?;
    assert!(
        off(&test.daemon_set(NO_DSR_PROXY).await?),
        "a DaemonSet that works is left alone"
    );

    test.apply(dsr("Disabled")).await?;
    daemon_set_until(&test, PROXY, "without DSR", off).await?;
    runs_on_old(&test, PROXY).await?;
    test.condition_says(
        "KubeProxyAvailable",
        "True",
        "AsExpected",
        &["spec.kubeProxy.dsr is Disabled", "not enforced"],
    )
    .await?;

    // Nothing of ours stays on the Node.
    test.apply(dsr("Auto")).await?;
    runs_on_old(&test, NO_DSR_PROXY).await?;
    test.delete_and_wait().await?;
    let labels = test
        .cluster
        .kubectl(&["get", "node", "old", "--show-labels"])
        .await?;
    assert!(!labels.contains("windowsnode.dev/kube-proxy"), "{labels}");
    Ok(())
}

/// Every agent writes its version into ClusterInformation, those on Windows nodes too.
#[tokio::test(flavor = "multi_thread")]
async fn the_agent_follows_linux_nodes_and_not_itself() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let agent = |version: &'static str| {
        let wanted = format!("quay.io/calico/node-windows:{version}");
        let test = &test;
        async move {
            let what = format!("the agent is {version}");
            daemon_set_until(test, AGENT, &what, |d| image(d) == wanted).await?;
            test.ready().await
        }
    };
    let written = async |version: &str| {
        let patch = json!({"spec": {"calicoVersion": version}}).to_string();
        let resource = "clusterinformations.crd.projectcalico.org";
        test.cluster
            .kubectl(&["patch", resource, "default", "--type=merge", "-p", &patch])
            .await
    };
    test.apply(minimal("CalicoVXLAN")).await?;
    agent("v3.32.1").await?;

    // Linux nodes are upgraded; one that starts again on a Windows node that waits for its turn writes the old version.
    let labels = json!({"k8s-app": "calico-node"});
    let linux = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "calico-node", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "containers": [{"name": "calico-node", "image": "quay.io/calico/node:v3.32.2"}],
        }}},
    });
    test.create("daemonsets", linux).await?;
    agent("v3.32.2").await?;
    written("v3.32.1").await?;
    test.quiet().await?;
    agent("v3.32.2").await?;

    // Where no image tells, what agents write never takes the agent back, but forward.
    test.cluster
        .kubectl(&["delete", "daemonset", "calico-node", "-n", "kube-system"])
        .await?;
    written("v3.32.1").await?;
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "AsExpected",
        &["the agent stays at v3.32.2"],
    )
    .await?;
    agent("v3.32.2").await?;
    written("v3.32.3").await?;
    agent("v3.32.3").await
}
