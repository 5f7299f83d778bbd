//! The release's life: upgraded under a running operator, removed without a trace, installed again.

use anyhow::{Context as _, Result};
use serde_json::json;
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::operator::{NAME, Operator};
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::kubectl;

/// Everything a release, a config or the operator could leave, as `kind/name`.
async fn left(test: &TestCluster) -> Result<Vec<String>> {
    const IN_NAMESPACE: &str = "daemonsets,deployments,replicasets,pods,configmaps,secrets,serviceaccounts,roles,rolebindings,services";
    let list = format!("get {IN_NAMESPACE} -n {NAME} -o name");
    let mut found = kubectl(test, &list).await?;
    let cluster = "get clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions -o name";
    found += &kubectl(test, cluster).await?;
    let ours = |line: &&str| {
        let kubernetes_own = ["configmap/kube-root-ca.crt", "serviceaccount/default"].contains(line);
        !kubernetes_own
            && (line.contains("windows") || !line.contains(".k8s.io/") && !line.contains("customresource"))
    };
    Ok(found.lines().filter(ours).map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_upgraded_removed_and_installed_again() -> Result<()> {
    let mut test = TestCluster::with_operator(ClusterOptions::default()).await?;
    let fresh = test.calico_specs().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.quiet().await?;

    let (config, calico) = (test.config().await?, test.calico_specs().await?);
    let chart = format!("charts/{NAME}");
    let values = [
        "logLevel=debug",
        "resources.limits.memory=128Mi",
        "commonLabels.team=windows",
        "hostNetwork=true",
    ];
    let mut upgrade = vec!["upgrade", NAME, &chart, "-n", NAME, "--reuse-values"];
    upgrade.extend(values.iter().flat_map(|value| ["--set", value]));
    test.cluster.helm(&upgrade).await?;
    let deployment = kubectl(&test, &format!("get deployment {NAME} -n {NAME} -o yaml")).await?;
    for part in [
        "--log-level=debug",
        "memory: 128Mi",
        "team: windows",
        "hostNetwork: true",
    ] {
        assert!(deployment.contains(part), "{part} is not in {deployment}");
    }
    // The operator that runs now, and the one that comes after it.
    test.kill_operator();
    test.start_operator().await?;
    test.quiet().await?;
    test.ready().await?;
    let after = test.config().await?;
    for field in ["/metadata/uid", "/metadata/generation", "/spec", "/status"] {
        assert_eq!(after.pointer(field), config.pointer(field), "{field}");
    }
    assert_eq!(test.calico_specs().await?, calico);

    test.delete_and_wait().await?;
    assert_eq!(test.calico_specs().await?, fresh);
    let operator = test.operator.take().context("it runs")?;
    assert!(operator.terminate()?.success(), "SIGTERM ends it orderly");
    let output = test
        .cluster
        .helm(&["uninstall", NAME, "-n", NAME, "--wait"])
        .await?;
    assert!(
        output.contains("windowsnodeconfigs.windowsnode.dev"),
        "the CRD that stays is named: {output}"
    );
    test.until("only the CRD is left", async || {
        let crd = "customresourcedefinition.apiextensions.k8s.io/windowsnodeconfigs.windowsnode.dev";
        Ok((left(&test).await? == [crd]).then_some(()))
    })
    .await
    .with_context(|| "see what is left")?;

    // The CRD that was kept is taken over, and a config with it.
    test.apply(json!({"network": {"type": "CalicoVXLAN"}})).await?;
    Operator::install(&test.cluster, &[]).await?;
    test.start_operator().await?;
    test.ready().await?;
    test.delete_and_wait().await?;
    assert_eq!(test.calico_specs().await?, fresh);
    Ok(())
}
