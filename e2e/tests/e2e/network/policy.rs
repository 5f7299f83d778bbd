//! Calico on top of another network: its agent enforces policy, its configuration is nobody's concern.

use anyhow::{Result, ensure};
use wn_api::names::{network_agent, node_agent};
use wn_e2e::control_plane::ClusterOptions;
use wn_e2e::objects;
use wn_e2e::operator::NAME;
use wn_e2e::stage::{Stage, minimal};

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn from_calicos_network_to_static_routes_and_back() -> Result<()> {
    let mut stage = Stage::set(ClusterOptions::default()).await?;
    pod_cidr(&stage, "linux-0", "10.245.0.0/24").await?;
    pod_cidr(&stage, "windows-0", "10.245.1.0/24").await?;
    stage.start().await?;
    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    let specs = stage.calico_specs().await?;

    stage.apply(spec("StaticRoutes")).await?;
    stage
        .condition("CalicoConfigured", "True", "NotApplicable")
        .await?;
    stage.ready().await?;
    ensure!(
        stage.calico_specs().await? == specs,
        "Calico's configuration was touched"
    );
    let agent = stage.daemon_set(node_agent::DAEMON_SET).await?;
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
    let maps = objects::list(&config_maps(&stage, NAME)).await?;
    let left = maps
        .iter()
        .any(|m| objects::text(m, "/metadata/name") == node_agent::CONFIG_MAP);
    ensure!(!left, "the CNI configuration of Calico is left");

    stage.apply(minimal("CalicoVXLAN")).await?;
    stage.ready().await?;
    ensure!(
        stage
            .daemon_set(network_agent::STATIC_ROUTES_DAEMON_SET)
            .await?
            .is_null()
    );
    stage.delete_and_wait().await
}
