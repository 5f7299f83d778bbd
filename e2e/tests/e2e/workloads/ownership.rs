//! Where someone else runs the agent or kube-proxy, we do not: two of either destroy each other's work.

use anyhow::Result;
use jiff::Timestamp;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::{kube_proxy, node_agent, tigera};
use wn_e2e::control_plane::{ClusterOptions, Neighbour, NodeSpec};
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{SINGLETON, TestCluster, at, minimal};

use super::support::{
    AGENT, PROXY, config_maps, daemon_set_until, daemon_sets, edit, foreign, get, gone, namespace,
    node_status, variable,
};

const POOL: &str = "default-ipv4-ippool";

fn managed(agent: &str, proxy: &str) -> Value {
    json!({
        "network": {"type": "CalicoVXLAN"},
        "nodeAgent": {"management": agent}, "kubeProxy": {"management": proxy},
    })
}

async fn ours(test: &TestCluster, name: &str) -> Result<Value> {
    daemon_set_until(test, name, "is ours again", |d| !d.is_null()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_daemon_set_has_the_right_of_way() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    namespace(&test, "theirs").await?;

    foreign(
        &test,
        "theirs",
        "their-agent",
        "mirror.corp/calico/node-windows:v3.32.1",
    )
    .await?;
    gone(&test, AGENT, node_agent::CONFIG_MAP).await?;
    let message = test.condition("NodeAgentAvailable", "True", "External").await?;
    assert!(
        message.contains("DaemonSet theirs/their-agent runs it"),
        "{message}"
    );
    let status = test.config().await?;
    assert_eq!(at(&status, "/status/nodeAgent/management")?, "External");
    assert_eq!(at(&status, "/status/nodeAgent/daemonSet")?, "theirs/their-agent");
    assert!(
        at(&status, "/status/nodeAgent/managedBy")?
            .as_str()
            .is_some_and(|m| m.contains("their-agent"))
    );
    assert_eq!(at(&status, "/status/kubeProxy/management")?, "Managed");
    assert!(
        !test.daemon_set(PROXY).await?.is_null(),
        "the other one is not concerned"
    );

    foreign(
        &test,
        "theirs",
        "their-proxy",
        "sigwindowstools/kube-proxy:v1.36.0-calico-hostprocess",
    )
    .await?;
    gone(&test, PROXY, kube_proxy::CONFIG_MAP).await?;
    test.condition("KubeProxyAvailable", "True", "External").await?;
    test.ready().await?;
    test.quiet().await?;

    // A person may overrule it, and take it back.
    test.apply(managed("Managed", "Managed")).await?;
    ours(&test, AGENT).await?;
    ours(&test, PROXY).await?;
    test.ready().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    gone(&test, AGENT, node_agent::CONFIG_MAP).await?;
    gone(&test, PROXY, kube_proxy::CONFIG_MAP).await?;

    let theirs = daemon_sets(&test, "theirs");
    for (name, ours_again) in [("their-agent", AGENT), ("their-proxy", PROXY)] {
        theirs.delete(name, &DeleteParams::background()).await?;
        ours(&test, ours_again).await?;
    }
    test.ready().await?;

    test.apply(managed("External", "External")).await?;
    gone(&test, AGENT, node_agent::CONFIG_MAP).await?;
    gone(&test, PROXY, kube_proxy::CONFIG_MAP).await?;
    let message = test.condition("NodeAgentAvailable", "True", "External").await?;
    assert!(
        message.contains("spec.nodeAgent.management is External"),
        "{message}"
    );
    Ok(())
}

/// Someone was there first, even under our own name: nothing of theirs is touched.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_first_stays() -> Result<()> {
    let mut test = TestCluster::without_operator(ClusterOptions::default()).await?;
    foreign(
        &test,
        NAME,
        PROXY,
        "sigwindowstools/kube-proxy:v1.30.0-calico-hostprocess",
    )
    .await?;
    let before = test.daemon_set(PROXY).await?["spec"].clone();
    test.start_operator().await?;
    let since = Timestamp::now();
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.condition("KubeProxyAvailable", "True", "External").await?;
    let touched = test.writes_since(since)?.into_iter().find(|w| w.name == PROXY);
    assert!(touched.is_none(), "{touched:?}");
    assert_eq!(test.daemon_set(PROXY).await?["spec"], before);

    // A Linux kube-proxy is nobody's rival, and what only looks alike is none either.
    test.delete_and_wait().await?;
    assert_eq!(test.daemon_set(PROXY).await?["spec"], before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_tigera_operator_with_windows_on() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    // Installed after us: nobody restarts us.
    test.cluster.install_neighbour(Neighbour::Installation).await?;
    namespace(&test, tigera::NAMESPACE).await?;
    let installation = json!({
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation",
        "metadata": {"name": "default"},
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS", "bgp": "Disabled"}, "serviceCIDRs": ["10.96.0.0/12"]},
    });
    test.until("Installation is served", async || {
        Ok(test
            .create("installations", installation.clone())
            .await
            .is_ok()
            .then_some(()))
    })
    .await?;

    // Not without being allowed to: the condition says how.
    let message = test.condition("NodeAgentAvailable", "False", "Forbidden").await?;
    for part in [
        "tigera-operator/kubernetes-services-endpoint",
        "tigeraOperator.enabled=true",
        "forbidden",
    ] {
        assert!(message.contains(part), "{message}");
    }
    gone(&test, AGENT, node_agent::CONFIG_MAP).await?;
    // What Calico needs is set and kept all the same.
    test.edit(
        ConfigKind::IpamConfiguration,
        SINGLETON,
        json!({"strictAffinity": false}),
        "kubectl-edit",
    )
    .await?;
    test.edit(
        ConfigKind::IpPool,
        POOL,
        json!({"vxlanMode": "Never"}),
        "kubectl-edit",
    )
    .await?;
    test.condition("CalicoConfigured", "True", "AsExpected").await?;
    test.field(
        ConfigKind::IpamConfiguration,
        SINGLETON,
        "strictAffinity",
        json!(true),
    )
    .await?;
    test.field(ConfigKind::IpPool, POOL, "vxlanMode", json!("Always"))
        .await?;
    let config = test.config().await?;
    let by = at(&config, "/status/nodeAgent/managedBy")?
        .as_str()
        .unwrap_or_default();
    assert!(
        by.contains("Installation default") && by.contains("windowsDataplane HNS"),
        "{by}"
    );

    let chart = format!("charts/{NAME}");
    let upgrade = [
        "upgrade",
        NAME,
        &chart,
        "-n",
        NAME,
        "--reuse-values",
        "--set",
        "tigeraOperator.enabled=true",
    ];
    test.cluster.helm(&upgrade).await?;
    let maps = config_maps(&test, tigera::NAMESPACE);
    let created = test
        .until("the ConfigMap tigera/operator waits for", async || {
            let map = get(&maps, tigera::SERVICES_ENDPOINT).await?;
            Ok((!map.is_null()).then_some(map))
        })
        .await?;
    let expected = json!({"KUBERNETES_SERVICE_HOST": "api.lab.example", "KUBERNETES_SERVICE_PORT": "6443"});
    assert_eq!(created["data"], expected);
    // tigera/operator's turn: until it has rolled its agent out, nothing is ready.
    test.condition_says(
        "NodeAgentAvailable",
        "False",
        "WaitingForPrecondition",
        &[
            "has not created DaemonSet calico-system/calico-node-windows",
            "no status",
        ],
    )
    .await?;
    namespace(&test, tigera::CALICO_NAMESPACE).await?;
    foreign(
        &test,
        tigera::CALICO_NAMESPACE,
        AGENT,
        "quay.io/calico/node-windows:v3.32.1",
    )
    .await?;
    test.condition("NodeAgentAvailable", "True", "External").await?;
    test.ready().await?;

    // From here on it is its owner's: we follow it, and never write it again.
    let theirs = json!({"KUBERNETES_SERVICE_HOST": "other.lab.example"});
    edit(&maps, tigera::SERVICES_ENDPOINT, json!({"data": theirs})).await?;
    daemon_set_until(&test, PROXY, "follows the ConfigMap", |d| {
        variable(d, "KUBERNETES_SERVICE_HOST") == Some("other.lab.example")
    })
    .await?;
    let since = test.quiet().await?;
    let map = get(&maps, tigera::SERVICES_ENDPOINT).await?;
    assert_eq!(
        map.pointer("/data/KUBERNETES_SERVICE_HOST"),
        Some(&json!("other.lab.example"))
    );
    assert!(test.writes_since(since)?.is_empty());

    test.cluster
        .kubectl(&[
            "patch",
            "installation",
            "default",
            "--type=merge",
            "-p",
            r#"{"spec":{"calicoNetwork":{"windowsDataplane":"Disabled"}}}"#,
        ])
        .await?;
    // What nobody says tigera/operator made is a third party's, and has the right of way.
    test.condition_says(
        "NodeAgentAvailable",
        "True",
        "External",
        &["DaemonSet calico-system/"],
    )
    .await?;
    let theirs = daemon_sets(&test, tigera::CALICO_NAMESPACE);
    theirs.delete(AGENT, &DeleteParams::background()).await?;
    ours(&test, AGENT).await?;
    test.ready().await?;
    test.delete_and_wait().await?;
    assert!(
        !get(&maps, tigera::SERVICES_ENDPOINT).await?.is_null(),
        "it was given away"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn platforms_run_it_themselves() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    // Some of these refuse Calico's own networking: what is asked here is who runs what.
    let mut spec = minimal("CalicoVXLAN");
    spec["platform"] = json!({"acceptUnsupported": true});
    test.apply(spec).await?;
    test.ready().await?;
    for (label, platform) in [
        ("eks.amazonaws.com/nodegroup", "EKS"),
        ("kubernetes.azure.com/agentpool", "AKS"),
        ("cloud.google.com/gke-nodepool", "GKE"),
        ("windowsmachineconfig.openshift.io/version", "OpenShift (WMCO)"),
    ] {
        test.cluster
            .add_node(NodeSpec::windows("theirs").label(label, "x"))
            .await?;
        gone(&test, PROXY, kube_proxy::CONFIG_MAP).await?;
        test.condition_says(
            "KubeProxyAvailable",
            "True",
            "External",
            &[platform, label, "theirs"],
        )
        .await?;
        assert!(
            !test.daemon_set(AGENT).await?.is_null(),
            "{platform} does not bring the agent"
        );
        test.remove_node("theirs").await?;
        ours(&test, PROXY).await?;
        test.ready().await?;
    }

    // RKE2 runs both in its own process.
    test.cluster
        .add_node(NodeSpec::windows("rke2").kubelet_version("v1.34.4+rke2r1"))
        .await?;
    gone(&test, AGENT, node_agent::CONFIG_MAP).await?;
    gone(&test, PROXY, kube_proxy::CONFIG_MAP).await?;
    for condition in ["NodeAgentAvailable", "KubeProxyAvailable"] {
        test.condition_says(condition, "True", "External", &["RKE2", "kubelet v1.34.4+rke2r1"])
            .await?;
    }
    test.field(
        ConfigKind::IpamConfiguration,
        SINGLETON,
        "strictAffinity",
        json!(true),
    )
    .await?;
    test.apply(managed("Managed", "Managed")).await?;
    ours(&test, AGENT).await?;
    ours(&test, PROXY).await?;
    test.ready().await
}

/// Somebody else's kube-proxy is left alone, and what its DaemonSet shows is reported.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_kube_proxy_is_judged_by_its_daemon_set() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    namespace(&test, "theirs").await?;
    foreign(&test, "theirs", "proxy", "example/kube-proxy:v1.29.1").await?;
    let sets = daemon_sets(&test, "theirs");
    let args = |args: Value| {
        let container = json!({"name": "main", "image": "example/kube-proxy:v1.29.1", "args": args});
        json!({"spec": {"template": {"spec": {"containers": [container]}}}})
    };
    edit(&sets, "proxy", args(json!(["--proxy-mode=kernelspace"]))).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let advised = async |off: bool| {
        test.until(&format!("advice on DSR: {off}"), async || {
            let config = test.config().await?;
            let advisories = config
                .pointer("/status/advisories/list")
                .cloned()
                .unwrap_or_default();
            let advice = node_status(&test, "windows-0").await?["advice"].to_string();
            let both = advisories.to_string().contains("WN1091") && advice.contains("KubeProxyVersionSkew");
            let dsr = [
                advisories.to_string().contains("WN1090"),
                advice.contains("ClusterIPPolicyNotEnforced"),
            ];
            Ok((both && dsr == [off; 2]).then_some(()))
        })
        .await
    };
    advised(true).await?;
    edit(
        &sets,
        "proxy",
        args(json!(["--proxy-mode=kernelspace", "--enable-dsr=true"])),
    )
    .await?;
    advised(false).await?;
    assert!(test.daemon_set(PROXY).await?.is_null());
    Ok(())
}
