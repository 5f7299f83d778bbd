//! Calico on top of another network: its agent enforces policy, its configuration is nobody's concern.

use anyhow::{Result, ensure};
use wn_api::names::{network_agent, node_agent};
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::objects;
use wn_e2e::operator::NAME;
use wn_e2e::test_cluster::{TestCluster, minimal};

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn from_calicos_network_to_static_routes_and_back() -> Result<()> {
    let mut test = TestCluster::without_operator(ClusterOptions::default()).await?;
    assign_pod_cidr(&test, "linux-0", "10.245.0.0/24").await?;
    assign_pod_cidr(&test, "windows-0", "10.245.1.0/24").await?;
    test.start_operator().await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    let specs = test.calico_specs().await?;

    test.apply(spec("StaticRoutes")).await?;
    test.condition("CalicoConfigured", "True", "NotApplicable")
        .await?;
    test.ready().await?;
    ensure!(
        test.calico_specs().await? == specs,
        "Calico's configuration was touched"
    );
    let agent = test.daemon_set(node_agent::DAEMON_SET).await?;
    ensure!(
        agent.pointer("/spec/template/spec/initContainers").is_none(),
        "{agent}"
    );
    let agent = agent.to_string();
    for part in [
        r#""name":"CALICO_NETWORKING_BACKEND","value":"none""#,
        r#""name":"KUBE_NETWORK","value":"cbr0""#,
    ] {
        ensure!(agent.contains(part), "{part} is not in {agent}");
    }
    let maps = objects::list(&config_maps(&test, NAME)).await?;
    let left = maps
        .iter()
        .any(|m| objects::text(m, "/metadata/name") == node_agent::CONFIG_MAP);
    ensure!(!left, "the CNI configuration of Calico is left");

    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    ensure!(
        test.daemon_set(network_agent::STATIC_ROUTES_DAEMON_SET)
            .await?
            .is_null()
    );
    test.delete_and_wait().await
}
