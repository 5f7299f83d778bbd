//! The release's life: upgraded under a running operator, removed without a trace, installed again.

use anyhow::{Context as _, Result};
use serde_json::json;
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::operator::{NAME, Operator};
use wn_e2e::stage::{Stage, minimal};

use super::kubectl;

/// Everything a release, a config or the operator could leave, as `kind/name`.
async fn left(stage: &Stage) -> Result<Vec<String>> {
    const IN_NAMESPACE: &str = "daemonsets,deployments,replicasets,pods,configmaps,secrets,serviceaccounts,roles,rolebindings,services";
    let list = format!("get {IN_NAMESPACE} -n {NAME} -o name");
    let mut found = kubectl(stage, &list).await?;
    let cluster = "get clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions -o name";
    found += &kubectl(stage, cluster).await?;
    let ours = |line: &&str| {
        let kubernetes_own = ["configmap/kube-root-ca.crt", "serviceaccount/default"].contains(line);
        !kubernetes_own
            && (line.contains("windows") || !line.contains(".k8s.io/") && !line.contains("customresource"))
    };
    Ok(found.lines().filter(ours).map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_upgraded_removed_and_installed_again() -> Result<()> {
    let mut stage = Stage::play(ClusterOptions::default()).await?;
    let fresh = stage.calico_specs().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    stage.quiet().await?;

    let (config, calico) = (stage.config().await?, stage.calico_specs().await?);
    let chart = format!("charts/{NAME}");
    let values = [
        "logLevel=debug",
        "resources.limits.memory=128Mi",
        "commonLabels.team=windows",
        "hostNetwork=true",
    ];
    let mut upgrade = vec!["upgrade", NAME, &chart, "-n", NAME, "--reuse-values"];
    upgrade.extend(values.iter().flat_map(|value| ["--set", value]));
    stage.cluster.helm(&upgrade).await?;
    let deployment = kubectl(&stage, &format!("get deployment {NAME} -n {NAME} -o yaml")).await?;
    for part in [
        "--log-level=debug",
        "memory: 128Mi",
        "team: windows",
        "hostNetwork: true",
    ] {
        assert!(deployment.contains(part), "{part} is not in {deployment}");
    }
    // The operator that runs now, and the one that comes after it.
    stage.kill();
    stage.start().await?;
    stage.quiet().await?;
    stage.ready().await?;
    let after = stage.config().await?;
    for field in ["/metadata/uid", "/metadata/generation", "/spec", "/status"] {
        assert_eq!(after.pointer(field), config.pointer(field), "{field}");
    }
    assert_eq!(stage.calico_specs().await?, calico);

    stage.delete_and_wait().await?;
    assert_eq!(stage.calico_specs().await?, fresh);
    let operator = stage.operator.take().context("it runs")?;
    assert!(operator.terminate()?.success(), "SIGTERM ends it orderly");
    let said = stage
        .cluster
        .helm(&["uninstall", NAME, "-n", NAME, "--wait"])
        .await?;
    assert!(
        said.contains("windowsnodeconfigs.windowsnode.dev"),
        "the CRD that stays is named: {said}"
    );
    stage
        .until("only the CRD is left", async || {
            let crd = "customresourcedefinition.apiextensions.k8s.io/windowsnodeconfigs.windowsnode.dev";
            Ok((left(&stage).await? == [crd]).then_some(()))
        })
        .await
        .with_context(|| "see what is left")?;

    // The CRD that was kept is taken over, and a config with it.
    stage.apply(json!({"network": {"type": "CalicoVXLAN"}})).await?;
    Operator::install(&stage.cluster, &[]).await?;
    stage.start().await?;
    stage.ready().await?;
    stage.delete_and_wait().await?;
    assert_eq!(stage.calico_specs().await?, fresh);
    Ok(())
}
