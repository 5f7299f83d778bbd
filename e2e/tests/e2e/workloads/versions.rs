//! What versions and flags follow from: kube-proxy's from the Windows nodes there are, the agent's from Calico on Linux nodes.

use anyhow::Result;
use serde_json::{Value, json};
use wn_e2e::control_plane::{ClusterOptions, NodeSpec};
use wn_e2e::operator::NAME;
use wn_e2e::stage::{Stage, minimal};

use super::support::{
    AGENT, NO_DSR_PROXY, PROXY, arguments, daemon_set_until, image, node_status, remove_node,
};

const GATE: &str = "--feature-gates=WinDSR=true";
const DSR: &str = "--enable-dsr=true";

async fn version(stage: &Stage, version: &str) -> Result<Value> {
    let wanted = format!("docker.io/sigwindowstools/kube-proxy:{version}-calico-hostprocess");
    let what = format!("runs {version}");
    let found = daemon_set_until(stage, PROXY, &what, |d| image(d) == wanted).await?;
    stage.ready().await?;
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn version_follows_the_oldest_kubelet() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    version(&stage, stage.cluster.kubernetes_version()).await?;

    stage
        .cluster
        .add_node(NodeSpec::windows("old").kubelet_version("v1.34.4"))
        .await?;
    let found = version(&stage, "v1.34.4").await?;
    assert!(!arguments(&found).contains(&GATE));

    // The last minor that needs the gate; later ones do not know it for long.
    stage
        .cluster
        .add_node(NodeSpec::windows("older").kubelet_version("v1.32.13"))
        .await?;
    let found = version(&stage, "v1.32.13").await?;
    assert!(
        arguments(&found).contains(&GATE) && arguments(&found).contains(&DSR),
        "{found}"
    );
    for node in ["windows-0", "old", "older"] {
        // The last to come may still wait for its network.
        stage
            .until("every node works", async || {
                Ok(stage.simulator.problems(node).is_empty().then_some(()))
            })
            .await?;
    }

    // A distribution's build: a tag cannot hold a plus.
    remove_node(&stage, "older").await?;
    stage
        .cluster
        .add_node(NodeSpec::windows("vendor").kubelet_version("v1.33.4+vendor.1"))
        .await?;
    let found = version(&stage, "v1.33.4_vendor.1").await?;
    assert!(!arguments(&found).contains(&GATE));
    remove_node(&stage, "vendor").await?;
    version(&stage, "v1.34.4").await?;

    stage
        .apply(json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"version": "v1.35.1"}}))
        .await?;
    version(&stage, "v1.35.1").await?;
    stage.quiet().await?;
    Ok(())
}

/// Node `old` with that kernel, as the kubelet reports it after an update.
async fn update_windows(stage: &Stage, kernel: &str) -> Result<()> {
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
    stage.cluster.kubectl(&patch).await?;
    Ok(())
}

/// Pods of kube-proxy that are placed on node `old`, as `pod/<name>`.
async fn proxies_of_old(stage: &Stage) -> Result<Vec<String>> {
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
    let listed = stage.cluster.kubectl(&get).await?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// The one pod of kube-proxy on node `old` once it is of that DaemonSet.
async fn runs_on_old(stage: &Stage, daemon_set: &str) -> Result<String> {
    stage
        .until(&format!("node old runs {daemon_set} alone"), async || {
            let pods = proxies_of_old(stage).await?;
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

async fn hold(stage: &Stage, pod: &str, finalizers: Value) -> Result<()> {
    let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
    let patch = ["patch", "-n", NAME, pod, "--type=merge", "-p", &patch];
    stage.cluster.kubectl(&patch).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_do_dsr_is_in_a_group_of_its_own() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let before = stage.daemon_set(PROXY).await?;
    assert!(arguments(&before).contains(&DSR));

    let old = NodeSpec::windows("old").kernel_version("10.0.17763.1000");
    stage.cluster.add_node(old).await?;
    let off = |d: &Value| !d.is_null() && !arguments(d).contains(&DSR);
    daemon_set_until(&stage, NO_DSR_PROXY, "without DSR", off).await?;
    stage.ready().await?;
    let pod = runs_on_old(&stage, NO_DSR_PROXY).await?;
    let after = stage.daemon_set(PROXY).await?;
    assert_eq!(before["metadata"]["generation"], after["metadata"]["generation"]);
    stage
        .condition_says(
            "KubeProxyAvailable",
            "True",
            "AsExpected",
            &["DSR is off on old", "17763.1432", "not enforced there"],
        )
        .await?;
    let node = node_status(&stage, "old").await?;
    assert!(
        node["advice"].to_string().contains("ClusterIPPolicyNotEnforced"),
        "{node}"
    );
    let other = node_status(&stage, "windows-0").await?;
    assert!(
        !other.to_string().contains("ClusterIPPolicyNotEnforced"),
        "{other}"
    );

    // Windows is updated. While the old pod is there, none of the other group runs on the node.
    hold(&stage, &pod, json!(["example.com/slow"])).await?;
    update_windows(&stage, "10.0.17763.6000").await?;
    stage
        .until("the pod of the former group is being deleted", async || {
            let get = [
                "get",
                "-n",
                NAME,
                &pod,
                "-o",
                "jsonpath={.metadata.deletionTimestamp}",
            ];
            Ok((!stage.cluster.kubectl(&get).await?.is_empty()).then_some(()))
        })
        .await?;
    stage.quiet().await?;
    assert_eq!(proxies_of_old(&stage).await?, std::slice::from_ref(&pod));
    hold(&stage, &pod, Value::Null).await?;
    runs_on_old(&stage, PROXY).await?;
    daemon_set_until(&stage, NO_DSR_PROXY, "is gone with its last node", Value::is_null).await?;
    stage.ready().await?;

    let dsr = |dsr: &str| json!({"network": {"type": "CalicoVXLAN"}, "kubeProxy": {"dsr": dsr}});
    update_windows(&stage, "10.0.17763.1000").await?;
    runs_on_old(&stage, NO_DSR_PROXY).await?;
    stage.apply(dsr("Enabled")).await?;
    let why = stage
        .condition("KubeProxyAvailable", "False", "DSRUnsupported")
        .await?;
    assert!(why.contains("old") && why.contains("set dsr to Auto"), "{why}");
    stage.condition("Stalled", "True", "DSRUnsupported").await?;
    assert!(
        off(&stage.daemon_set(NO_DSR_PROXY).await?),
        "a DaemonSet that works is left alone"
    );

    stage.apply(dsr("Disabled")).await?;
    daemon_set_until(&stage, PROXY, "without DSR", off).await?;
    runs_on_old(&stage, PROXY).await?;
    stage
        .condition_says(
            "KubeProxyAvailable",
            "True",
            "AsExpected",
            &["spec.kubeProxy.dsr is Disabled", "not enforced"],
        )
        .await?;

    // Nothing of ours stays on the Node.
    stage.apply(dsr("Auto")).await?;
    runs_on_old(&stage, NO_DSR_PROXY).await?;
    stage.delete_and_wait().await?;
    let labels = stage
        .cluster
        .kubectl(&["get", "node", "old", "--show-labels"])
        .await?;
    assert!(!labels.contains("windowsnode.dev/kube-proxy"), "{labels}");
    Ok(())
}

/// Every agent writes its version into ClusterInformation, those on Windows nodes too.
#[tokio::test(flavor = "multi_thread")]
async fn the_agent_follows_linux_nodes_and_not_itself() -> Result<()> {
    let stage = Stage::play(ClusterOptions::default()).await?;
    let agent = |version: &'static str| {
        let wanted = format!("quay.io/calico/node-windows:{version}");
        let stage = &stage;
        async move {
            let what = format!("the agent is {version}");
            daemon_set_until(stage, AGENT, &what, |d| image(d) == wanted).await?;
            stage.ready().await
        }
    };
    let written = async |version: &str| {
        let patch = json!({"spec": {"calicoVersion": version}}).to_string();
        let resource = "clusterinformations.crd.projectcalico.org";
        stage
            .cluster
            .kubectl(&["patch", resource, "default", "--type=merge", "-p", &patch])
            .await
    };
    stage.apply(minimal("CalicoVXLAN")).await?;
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
    stage.create("daemonsets", linux).await?;
    agent("v3.32.2").await?;
    written("v3.32.1").await?;
    stage.quiet().await?;
    agent("v3.32.2").await?;

    // Where no image tells, what agents write never takes the agent back, but forward.
    stage
        .cluster
        .kubectl(&["delete", "daemonset", "calico-node", "-n", "kube-system"])
        .await?;
    written("v3.32.1").await?;
    stage
        .condition_says(
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
