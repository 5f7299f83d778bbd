//! Static routes.

use anyhow::{Result, ensure};
use wn_api::names::network_agent;
use wn_e2e::control_plane::NodeSpec;
use wn_e2e::objects;
use wn_e2e::operator::NAME;

use super::base::*;

#[tokio::test(flavor = "multi_thread")]
async fn nodes_learn_of_each_other_without_a_restart() -> Result<()> {
    let mut test = test_cluster().await?;
    test.start_operator().await?;
    test.apply(spec("StaticRoutes")).await?;
    test.ready().await?;
    let generation = async || -> Result<String> {
        let set = test.daemon_set(network_agent::STATIC_ROUTES_DAEMON_SET).await?;
        Ok(set["metadata"]["generation"].to_string())
    };
    let before = generation().await?;

    test.cluster.add_node(NodeSpec::linux("linux-1").ready()).await?;
    test.condition_says("NetworkConfigured", "False", "PodCIDRMissing", &["linux-1"])
        .await?;
    assign_pod_cidr(&test, "linux-1", "10.244.1.128/25").await?;
    test.condition_says(
        "NetworkConfigured",
        "False",
        "PodCIDRConflict",
        &["windows-0", "linux-1", "overlap"],
    )
    .await?;
    test.cluster.remove_node("linux-1").await?;
    test.ready().await?;
    test.cluster.add_node(NodeSpec::linux("linux-2").ready()).await?;
    assign_pod_cidr(&test, "linux-2", "10.244.2.0/24").await?;
    test.ready().await?;
    test.until("the new node is in the list", async || {
        let map = config_maps(&test, NAME)
            .get(network_agent::STATIC_ROUTES_NODES)
            .await?;
        let nodes = objects::json(&map)?["data"]["nodes"].to_string();
        Ok(nodes.contains("10.244.2.0/24 172.20.").then_some(()))
    })
    .await?;
    ensure!(generation().await? == before, "the pods were rolled");

    test.delete_and_wait().await?;
    let left = objects::list(&config_maps(&test, NAME)).await?;
    ensure!(
        left.iter()
            .all(|m| !objects::text(m, "/metadata/name").starts_with("static-routes")),
        "{left:?}"
    );
    Ok(())
}
