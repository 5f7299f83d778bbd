//! The image that `cargo image` built, installed by the chart on a real node: kubelet, containerd, runc, kube-proxy.

mod pod;
mod upgrade;

use anyhow::{Context as _, Result};
use serde_json::Value;
use wn_api::calico::CalicoApi;
use wn_e2e::control_plane::{Cluster, ClusterOptions};
use wn_e2e::objects::{self, text};
use wn_e2e::operator::{NAME, Operator};
use wn_e2e::real_node::{Images, RealNode};
use wn_e2e::simulator::Simulator;
use wn_e2e::skip;
use wn_e2e::test_cluster::TestCluster;

const WINDOWS_NODES: usize = 20;

/// Field order is drop order: the node ends before its cluster.
struct Real {
    node: RealNode,
    images: Images,
    test: TestCluster,
}

impl Real {
    /// The chart with no value but the image's registry, on a node that runs it; `None` where the machine cannot run a real node.
    async fn start(name: &str) -> Result<Option<Self>> {
        if !skip::unless_real_node(name)? {
            return Ok(None);
        }
        let options = ClusterOptions {
            // A simulated one would only pretend to run the operator's pods.
            linux_nodes: 0,
            windows_nodes: WINDOWS_NODES,
            real_node: true,
            ..ClusterOptions::default()
        };
        let cluster = Cluster::start(options).await?;
        let client = cluster.client();
        let images = Images::publish(cluster.state_dir()).await?;
        let node = RealNode::start(&cluster, &images).await?;
        let test = TestCluster {
            operator: None,
            simulator: Simulator::start(client.clone()),
            calico_api: objects::calico_api(&client).await?.unwrap_or(CalicoApi::V1),
            client,
            cluster,
        };
        let real = Self { node, images, test };
        let installed = Operator::install_pods(&real.test.cluster, &[&Images::value()]).await;
        real.explain(installed).await?;
        Ok(Some(real))
    }

    /// `helm upgrade` that changes one value.
    async fn upgrade(&self, value: &str) -> Result<String> {
        let chart = format!("charts/{NAME}");
        let args = [
            "upgrade",
            NAME,
            &chart,
            "--namespace",
            NAME,
            "--reuse-values",
            "--set",
            value,
        ];
        self.test.cluster.helm(&args).await
    }

    async fn kubectl(&self, line: &str) -> Result<String> {
        self.test
            .cluster
            .kubectl(&line.split(' ').collect::<Vec<_>>())
            .await
    }

    /// Waits until every replica is ready by its own probes.
    async fn rolled_out(&self) -> Result<()> {
        let rolled_out = Operator::rolled_out(&self.test.cluster).await;
        self.explain(rolled_out).await
    }

    /// Adds to an error what became of the pods and what the node's programs logged.
    async fn explain(&self, result: Result<()>) -> Result<()> {
        if result.is_ok() {
            return result;
        }
        let pods = self
            .kubectl(&format!("describe pods -n {NAME} -l {LABEL}"))
            .await?;
        result.with_context(|| format!("{pods}\n{}", self.node.logs()))
    }

    /// Pods of the operator that are not being deleted.
    async fn pods(&self) -> Result<Vec<Value>> {
        let list = self
            .kubectl(&format!("get pods -n {NAME} -l {LABEL} -o json"))
            .await?;
        let list: Value = serde_json::from_str(&list)?;
        let items = list["items"].as_array().context("a list of pods")?;
        let mut pods = items.clone();
        pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        Ok(pods)
    }

    async fn pod(&self, name: &str) -> Result<Value> {
        let pods = self.pods().await?;
        let found = pods.into_iter().find(|pod| text(pod, "/metadata/name") == name);
        found.with_context(|| format!("no pod {name}"))
    }

    /// The pod that holds the lease.
    async fn leader(&self) -> Result<Value> {
        let holder = format!("get leases -n {NAME} -o jsonpath={{.items[*].spec.holderIdentity}}");
        self.pod(&self.kubectl(&holder).await?).await
    }
}

/// Labels of the operator's pods, and of no other pod.
const LABEL: &str = "app.kubernetes.io/name=windows-node-operator";
