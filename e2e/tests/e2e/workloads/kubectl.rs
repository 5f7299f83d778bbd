//! What a person with kubectl sees.

use anyhow::{Result, ensure};
use serde_json::json;
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::test_cluster::{TestCluster, minimal};

fn has(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_waits_and_tells() -> Result<()> {
    let test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let kubectl = async |line: &str| test.cluster.kubectl(&line.split(' ').collect::<Vec<_>>()).await;
    kubectl("apply -f manifests/samples/calico-vxlan.yaml").await?;
    kubectl("wait --for=condition=Ready wnc/default --timeout=60s").await?;

    let table = kubectl("get wnc").await?;
    let rows: Vec<Vec<_>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "READY", "REASON", "NETWORK", "WINDOWS", "AGE"]);
    assert_eq!(
        rows[1][..5],
        ["default", "True", "AsExpected", "CalicoVXLAN", "1/1"]
    );
    let wide = kubectl("get windowsnodeconfigs -o wide").await?;
    has(
        &wide,
        &[
            "CALICO",
            "KUBE-PROXY",
            "MODE",
            "v3.32.1",
            test.cluster.kubernetes_version(),
            "Manage",
        ],
    )?;
    has(&kubectl("get calico").await?, &["default"])?;

    let explained = kubectl("explain wnc.spec.calico").await?;
    has(
        &explained,
        &[
            "Which of Calico's settings the operator may change",
            "strictAffinity",
            "Default: Enforce",
        ],
    )?;
    has(
        &kubectl("explain wnc.spec.kubeProxy.dsr").await?,
        &["Direct server return", "Default: Auto"],
    )?;
    has(
        &kubectl("explain wnc.status.nodes.list").await?,
        &["Nodes not ready first"],
    )?;
    let described = kubectl("describe wnc default").await?;
    has(
        &described,
        &[
            "NodeAgentAvailable",
            "every Windows node is ready",
            "Originals",
            "Events:",
            "CalicoPatched",
            "Ready",
        ],
    )?;

    // As `kubectl apply` of a changed file, and `kubectl edit` of one field.
    kubectl(r#"patch wnc default --type=merge -p {"spec":{"nodeAgent":{"logLevel":"Debug"}}}"#).await?;
    kubectl("rollout status daemonset/calico-node-windows -n windows-node-operator --timeout=60s").await?;
    kubectl("wait --for=condition=Ready wnc/default --timeout=60s").await?;
    kubectl("delete wnc default --timeout=60s").await?;
    kubectl("wait --for=delete wnc/default --timeout=60s").await?;
    Ok(())
}

/// What Flux, Argo CD and Helm wait for. An object that no operator has seen yet is not `Current`.
#[tokio::test(flavor = "multi_thread")]
async fn kstatus_follows_the_object() -> Result<()> {
    let mut test = TestCluster::without_operator(ClusterOptions::default()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let is = async |test: &TestCluster, expected: &str| {
        test.until(&format!("kstatus says {expected}"), async || {
            let status = test.cluster.kstatus(&test.config().await?).await?;
            Ok((status == expected).then_some(()))
        })
        .await
    };
    let fresh = test.config().await?;
    ensure!(test.cluster.kstatus(&fresh).await? == "InProgress", "{fresh}");
    test.start_operator().await?;
    is(&test, "Current").await?;
    let mut refused = minimal("CalicoVXLAN");
    refused["network"]["apiServer"] = json!({"host": "10.96.0.1"});
    test.apply(refused).await?;
    is(&test, "Failed").await?;
    let mut observing = minimal("CalicoVXLAN");
    observing["mode"] = json!("Observe");
    observing["nodeAgent"] = json!({"logLevel": "Debug"});
    test.apply(observing).await?;
    is(&test, "Current").await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    is(&test, "Current").await
}
