//! A cluster with the operator, a Windows node on which Calico's programs are run, and one that is simulated.

use std::fs::File;
use std::net::IpAddr;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::node_agent as names;

use super::network::{AgentNetwork, Kind};
use crate::control_plane::process::Process;
use crate::control_plane::{ClusterOptions, NodeSpec};
use crate::hns::{Hns, WindowsBuild};
use crate::objects::{self, text};
use crate::operator::NAME;
use crate::simulator::{Env, Fault};
use crate::test_cluster::TestCluster;
use crate::windows::{Ended, Programs, RenderedAgent, Sandbox, WindowsHost};

/// The node the programs run on.
pub const NODE: &str = "windows-0";
/// A node whose agent is simulated.
pub const NEIGHBOUR: &str = "windows-1";
/// Of the node where the network is not Calico's.
const POD_CIDR: &str = "10.245.0.0/26";
/// Felix' health is asked at a port of the whole machine.
const HEALTH_LOCK: &str = "windows-node-9099.lock";

/// Field order is drop order: programs end before their cluster.
pub struct AgentFixture {
    /// Felix and the token refresher, once they were started.
    pub running: Vec<Process>,
    pub hns: Hns,
    pub sandbox: Sandbox,
    pub rendered: RenderedAgent,
    pub test: TestCluster,
    pub network: AgentNetwork,
    pub node_ip: IpAddr,
    _health: File,
}

impl AgentFixture {
    pub async fn start(host: &WindowsHost, network: AgentNetwork, programs: &Programs) -> Result<Self> {
        let health = tokio::task::spawn_blocking(take_health).await??;
        let mut test = TestCluster::without_operator(ClusterOptions {
            windows_nodes: 0,
            calico_api: network.calico_api,
            ..ClusterOptions::default()
        })
        .await?;
        test.cluster.install_calico_policy(network.calico_api).await?;
        // Both are this node's agent; only the real one may write.
        test.simulator.inject(NODE, Fault::AgentImagePull);
        let node_ip = WindowsHost::address()?;
        let nodes = [
            NodeSpec::windows(NODE).internal_ip(node_ip.to_string()),
            NodeSpec::windows(NEIGHBOUR),
        ];
        for (number, node) in nodes.into_iter().enumerate() {
            let cidr = POD_CIDR.replace(".0/", &format!(".{}/", number * 64));
            test.cluster.add_node(node.pod_cidr(cidr)).await?;
        }
        if let Some(cidr) = network.pool() {
            replace_pool(&test, cidr).await?;
        }
        test.start_operator().await?;
        let (_, port) = test.cluster.server_url().rsplit_once(':').context("no port")?;
        test.apply(network.spec(port.parse()?)).await?;
        let rendered = RenderedAgent::of(&test, NODE).await?;
        let kubeconfig = test
            .cluster
            .token_kubeconfig(NAME, names::SERVICE_ACCOUNT)
            .await?;
        let folder = test.state_dir().join("windows-node");
        let sandbox = Sandbox::make(host, &folder, programs, &rendered, &kubeconfig)?;
        let hns = Hns::on_adapter(WindowsBuild::Server2022, node_ip).await?;
        let fixture = Self {
            running: Vec::new(),
            hns,
            sandbox,
            rendered,
            test,
            network,
            node_ip,
            _health: health,
        };
        fixture.prepare().await?;
        Ok(fixture)
    }

    /// What is there before the agent: Calico's configuration and another node, or another's HNS network.
    async fn prepare(&self) -> Result<()> {
        if self.network.kind == Kind::PolicyOnly {
            return self.hns.add_bridge(self.network.hns_network(), POD_CIDR);
        }
        self.test
            .until("the neighbour has joined", async || {
                Ok(self.block_of(NEIGHBOUR).await?.map(drop))
            })
            .await?;
        self.test
            .field(
                ConfigKind::IpamConfiguration,
                "default",
                "strictAffinity",
                json!(true),
            )
            .await
    }

    /// A command of Calico's scripts, with the environment of a container.
    pub async fn run(&self, container: &str, command: &[String]) -> Result<Ended> {
        let env = self.rendered.scripted_env(container)?;
        self.sandbox.run(command, &env, self.hns.port()).await
    }

    pub fn launch(&mut self, name: &str, container: &str, command: &[String]) -> Result<()> {
        let env = self.rendered.scripted_env(container)?;
        let process = self.sandbox.start(name, command, &env, self.hns.port())?;
        self.running.push(process);
        Ok(())
    }

    /// The block of a node, as `10.244.0.0/26`.
    pub async fn block_of(&self, node: &str) -> Result<Option<String>> {
        let (group, version) = (self.test.calico_api.group(), self.test.calico_api.version());
        let kind = objects::resource(group, version, "IPAMBlock", "ipamblocks");
        let blocks = kube::Api::all_with(self.test.client.clone(), &kind);
        let owner = format!("host:{node}");
        let all = objects::list(&blocks).await?;
        let block = all.iter().find(|block| text(block, "/spec/affinity") == owner);
        Ok(block.map(|block| text(block, "/spec/cidr").to_owned()))
    }

    /// `reason` of the node's condition NetworkUnavailable.
    pub async fn network_reason(&self) -> Result<String> {
        let node = self.test.node(NODE).await?;
        let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
        let ours = conditions
            .into_iter()
            .flatten()
            .find(|one| one["type"] == "NetworkUnavailable");
        Ok(ours.map_or("", |one| text(one, "/reason")).to_owned())
    }

    /// The CNI plugin of the configuration that the installer wrote, as containerd calls it for pod `default/<pod>`.
    pub async fn plugin(&self, command: &str, pod: &str, namespace: &str) -> Result<Ended> {
        let list: Value = serde_json::from_str(&self.sandbox.read("C:/etc/cni/net.d/10-calico.conflist")?)?;
        let mut config = list["plugins"][0].clone();
        config["name"] = list["name"].clone();
        config["cniVersion"] = list["cniVersion"].clone();
        let env = [
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", "0123456789abcdef"),
            ("CNI_NETNS", namespace),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", "C:\\opt\\cni\\bin"),
            (
                "CNI_ARGS",
                &format!(
                    "K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod};K8S_POD_INFRA_CONTAINER_ID=0123456789abcdef"
                ),
            ),
        ];
        let env: Env = env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        self.sandbox
            .plugin(&env, &config.to_string(), self.hns.port())
            .await
    }

    /// Requests of the agent's ServiceAccounts that the API server refused: `<verb> <resource>.<group>`.
    pub fn refused(&self) -> Result<Vec<String>> {
        let log = self.test.cluster.audit_log()?;
        let mut all = Vec::new();
        for account in [names::SERVICE_ACCOUNT, names::CNI_SERVICE_ACCOUNT] {
            let user = format!("system:serviceaccount:{NAME}:{account}");
            for event in log
                .by(&user)
                .into_iter()
                .filter(|event| event.response_code == 403)
            {
                all.push(format!("{} {}.{}", event.verb, event.resource, event.group));
            }
        }
        all.sort();
        all.dedup();
        Ok(all)
    }
}

/// A pool keeps its CIDR, so another takes its place.
async fn replace_pool(test: &TestCluster, cidr: &str) -> Result<()> {
    let mut spec = test.spec(ConfigKind::IpPool, "default-ipv4-ippool").await?;
    spec["cidr"] = json!(cidr);
    let plural = format!("ippools.{}", test.calico_api.group());
    test.cluster
        .kubectl(&["delete", &plural, "default-ipv4-ippool"])
        .await?;
    let api_version = format!("{}/{}", test.calico_api.group(), test.calico_api.version());
    let pool =
        json!({"apiVersion": api_version, "kind": "IPPool", "metadata": {"name": "windows"}, "spec": spec});
    test.create("ippools", pool).await
}

fn take_health() -> Result<File> {
    let path = std::env::temp_dir().join(HEALTH_LOCK);
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock().context("wait for another Felix")?;
    Ok(file)
}
