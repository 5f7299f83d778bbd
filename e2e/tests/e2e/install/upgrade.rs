//! From an earlier chart to this one, and from one release to another: what users have is never a dead end.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use wn_e2e::control_plane::{Cluster, ClusterOptions, paths};
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::{cluster_on, kubectl};

const CRD: &str = "windowsnodeconfigs.windowsnode.dev";

fn earlier_charts() -> Result<Vec<String>> {
    let mut charts = Vec::new();
    for entry in std::fs::read_dir(paths::workspace().join("e2e/fixtures/charts"))? {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            charts.push(path.to_str().context("a path that is not UTF-8")?.to_owned());
        }
    }
    charts.sort();
    Ok(charts)
}

/// Runs helm for a release in a namespace of the same name.
async fn helm(test: &TestCluster, verb: &str, release: &str, rest: &[&str]) -> Result<String> {
    let args = [&[verb, release], rest, &["--namespace", release]].concat();
    test.cluster.helm(&args).await
}

/// Each earlier chart, with each way of dealing with its values. The pod does nothing here: see `Operator::install`.
#[tokio::test(flavor = "multi_thread")]
async fn earlier_charts_are_upgraded() -> Result<()> {
    let mut test = cluster_on(Cluster::start(ClusterOptions::default()).await?).await?;
    let chart = format!("charts/{NAME}");
    let set = ["--set", "replicaCount=0,logLevel=debug"];
    // Whether the value of the earlier release is still there.
    let ways: [(&[&str], bool); 3] = [
        (&["--reuse-values"], true),
        (&["--reset-then-reuse-values"], true),
        (&["--reset-values", "--set", "replicaCount=0"], false),
    ];
    let earlier = earlier_charts()?;
    assert!(earlier.len() >= 2, "{earlier:?}");
    for earlier in &earlier {
        for (way, kept) in ways {
            let install = [&[earlier.as_str(), "--create-namespace"][..], &set].concat();
            helm(&test, "install", NAME, &install).await?;
            let upgrade = [&[chart.as_str()], way].concat();
            helm(&test, "upgrade", NAME, &upgrade)
                .await
                .with_context(|| format!("{earlier} {way:?}"))?;
            let deployment = kubectl(&test, &format!("get deployment {NAME} -n {NAME} -o yaml")).await?;
            let level = if kept { "debug" } else { "info" };
            for part in [
                format!("image: {NAME}:{}", env!("CARGO_PKG_VERSION")),
                format!("--log-level={level}"),
            ] {
                assert!(
                    deployment.contains(&part),
                    "{earlier} {way:?}: no {part} in {deployment}"
                );
            }
            helm(&test, "uninstall", NAME, &["--wait"]).await?;
        }
    }
    // The rights that came with the upgrade are those the operator needs.
    let oldest = earlier.first().context("no chart")?;
    helm(&test, "install", NAME, &[&[oldest.as_str()][..], &set].concat()).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    let new = "networkPolicy.enabled=true,commonAnnotations.team=windows";
    helm(&test, "upgrade", NAME, &[&chart, "--reuse-values", "--set", new]).await?;
    let policies = kubectl(&test, &format!("get networkpolicies -n {NAME} -o name")).await?;
    assert_eq!(policies.lines().count(), 2, "{policies}");
    test.start_operator().await?;
    test.ready().await?;
    test.delete_and_wait().await
}

/// Which release helm takes the CRD for.
async fn owner(test: &TestCluster) -> Result<String> {
    let path = r"jsonpath={.metadata.annotations.meta\.helm\.sh/release-name}";
    test.cluster.kubectl(&["get", "crd", CRD, "-o", path]).await
}

/// The ways that docs/install.md gives for a CRD that a release of another name left.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_crd_is_adopted() -> Result<()> {
    let test = cluster_on(Cluster::start(ClusterOptions::default()).await?).await?;
    let chart = format!("charts/{NAME}");
    let install = [chart.as_str(), "--create-namespace", "--set", "replicaCount=0"];
    helm(&test, "install", NAME, &install).await?;
    helm(&test, "uninstall", NAME, &["--wait"]).await?;
    assert_eq!(owner(&test).await?, NAME);

    let refused = helm(&test, "install", "other", &install).await;
    let message = format!(
        "{:#}",
        refused.err().context("another release took the CRD unasked")?
    );
    for part in [CRD, "invalid ownership metadata"] {
        assert!(message.contains(part), "{message}");
    }
    helm(
        &test,
        "install",
        "other",
        &[&install[..], &["--take-ownership"]].concat(),
    )
    .await?;
    assert_eq!(owner(&test).await?, "other");
    helm(&test, "uninstall", "other", &["--wait"]).await?;

    helm(
        &test,
        "install",
        "without",
        &[&install[..], &["--set", "crds.enabled=false"]].concat(),
    )
    .await?;
    assert_eq!(owner(&test).await?, "other", "it is left alone");
    helm(&test, "uninstall", "without", &["--wait"]).await?;

    // Helm before 3.17.
    let annotations = "meta.helm.sh/release-name=third meta.helm.sh/release-namespace=third";
    kubectl(&test, &format!("annotate crd {CRD} --overwrite {annotations}")).await?;
    helm(&test, "install", "third", &install).await?;
    assert_eq!(owner(&test).await?, "third");
    helm(&test, "upgrade", "third", &[&chart, "--reuse-values"]).await?;
    Ok(())
}
