//! Installed as people install it: with helm, with kustomize, and with no right more than is used.

mod helm;
mod kustomize;
mod rights;
mod upgrade;

use anyhow::Result;
use wn_api::calico::CalicoApi;
use wn_e2e::control_plane::Cluster;
use wn_e2e::objects;
use wn_e2e::simulator::Simulator;
use wn_e2e::test_cluster::TestCluster;

/// A cluster that was set up by hand; the operator is not started.
async fn cluster_on(cluster: Cluster) -> Result<TestCluster> {
    let client = cluster.client();
    let calico_api = objects::calico_api(&client).await?.unwrap_or(CalicoApi::V1);
    let simulator = Simulator::start(client.clone());
    Ok(TestCluster {
        operator: None,
        simulator,
        client,
        calico_api,
        cluster,
    })
}

async fn kubectl(test: &TestCluster, line: &str) -> Result<String> {
    test.cluster.kubectl(&line.split(' ').collect::<Vec<_>>()).await
}
