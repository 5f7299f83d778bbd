//! The path without helm.

use anyhow::Result;
use wn_e2e::control_plane::{Cluster, ClusterOptions};
use wn_e2e::operator::{NAME, USER};
use wn_e2e::stage::minimal;

use super::{kubectl, stage_on};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_apply_is_enough() -> Result<()> {
    let mut stage = stage_on(Cluster::start(ClusterOptions::default()).await?).await?;
    // Twice: the first apply makes the CRD, the second must find nothing to complain about.
    for _ in 0..2 {
        kubectl(&stage, "apply -k manifests/base --server-side").await?;
    }
    kubectl(
        &stage,
        "wait --for=condition=Established crd/windowsnodeconfigs.windowsnode.dev --timeout=30s",
    )
    .await?;
    kubectl(
        &stage,
        &format!("rollout status deployment/{NAME} -n {NAME} --timeout=60s"),
    )
    .await?;
    stage.start().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    assert_eq!(stage.simulator.problems("windows-0"), Vec::<String>::new());
    stage.quiet().await?;

    for sample in ["calico-vxlan", "observe"] {
        kubectl(
            &stage,
            &format!("apply --dry-run=server -f manifests/samples/{sample}.yaml"),
        )
        .await?;
    }
    stage.delete_and_wait().await?;
    let log = stage.cluster.audit_log()?;
    let refused: Vec<_> = log
        .by(USER)
        .into_iter()
        .filter(|e| e.response_code == 403)
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    stage.kill();
    kubectl(&stage, "delete -k manifests/base --timeout=60s").await?;
    Ok(())
}
