//! The path without helm.

use anyhow::Result;
use wn_e2e::control_plane::{Cluster, ClusterOptions};
use wn_e2e::operator::{NAME, USER};
use wn_e2e::test_cluster::minimal;

use super::{cluster_on, kubectl};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_apply_is_enough() -> Result<()> {
    let mut test = cluster_on(Cluster::start(ClusterOptions::default()).await?).await?;
    // Twice: the first apply makes the CRD, the second must find nothing to complain about.
    for _ in 0..2 {
        kubectl(&test, "apply -k manifests/base --server-side").await?;
    }
    kubectl(
        &test,
        "wait --for=condition=Established crd/windowsnodeconfigs.windowsnode.dev --timeout=30s",
    )
    .await?;
    kubectl(
        &test,
        &format!("rollout status deployment/{NAME} -n {NAME} --timeout=60s"),
    )
    .await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    assert_eq!(test.simulator.problems("windows-0"), Vec::<String>::new());
    test.quiet().await?;

    for sample in ["calico-vxlan", "observe"] {
        kubectl(
            &test,
            &format!("apply --dry-run=server -f manifests/samples/{sample}.yaml"),
        )
        .await?;
    }
    test.delete_and_wait().await?;
    let log = test.cluster.audit_log()?;
    let refused: Vec<_> = log
        .by(USER)
        .into_iter()
        .filter(|e| e.response_code == 403)
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    test.kill_operator();
    kubectl(&test, "delete -k manifests/base --timeout=60s").await?;
    Ok(())
}
