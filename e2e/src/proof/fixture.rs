//! A cluster with the operator and one Windows node, whose address is this machine's, and HNS on that node.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use wn_api::names::kube_proxy as names;

use super::api_version::ApiVersion;
use super::services::{LOCAL_PODS, REMOTE_BLOCK, Services};
use crate::control_plane::{ClusterOptions, NodeSpec};
use crate::hns::{Hns, RemoteNode, WindowsBuild};
use crate::operator::{NAME, Operator};
use crate::test_cluster::{LIMIT, TestCluster};
use crate::windows::{Release, Rendered, StartScript, WindowsHost};

pub const NODE: &str = "windows-0";
/// A node whose address is not this machine's.
pub const ELSEWHERE: &str = "windows-1";
/// The node's block, the tunnel's address in it, and the first node of the cluster, which is a Linux node.
const BLOCK: &str = "10.244.1.0/26";
pub(super) const TUNNEL: &str = "10.244.1.2";
const LINUX_NODE: &str = "172.20.0.1";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    Vxlan,
    Bgp,
}

impl Network {
    fn spec_type(self) -> &'static str {
        match self {
            Self::Vxlan => "CalicoVXLAN",
            Self::Bgp => "CalicoBGP",
        }
    }
}

/// `spec.kubeProxy.dsr`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dsr {
    Auto,
    Disabled,
}

/// Field order is drop order: the operator ends before the way to its API server.
pub struct Fixture {
    pub test: TestCluster,
    api_version: ApiVersion,
    /// Kubeconfig through that.
    operators_way: PathBuf,
    pub host: WindowsHost,
    pub network: Network,
    pub node_ip: IpAddr,
    pub services: Services,
    kubeconfig: PathBuf,
    runs: AtomicU32,
}

impl Fixture {
    pub async fn start(host: &WindowsHost, network: Network) -> Result<Self> {
        let options = ClusterOptions {
            windows_nodes: 0,
            ..ClusterOptions::default()
        };
        let node_ip = WindowsHost::address()?;
        let test = TestCluster::without_operator(options).await?;
        let direct = test.cluster.token_kubeconfig(NAME, NAME).await?;
        let (api_version, operators_way) =
            ApiVersion::start(&direct, test.cluster.kubernetes_version()).await?;
        let node = NodeSpec::windows(NODE).internal_ip(node_ip.to_string());
        test.cluster.add_node(node).await?;
        test.cluster.add_node(NodeSpec::windows(ELSEWHERE)).await?;
        // With the rights of the chart's ServiceAccount, as on the node.
        let kubeconfig = test
            .cluster
            .token_kubeconfig(NAME, names::SERVICE_ACCOUNT)
            .await?;
        with_windows_paths(&kubeconfig)?;
        let services = Services::create(&test).await?;
        Ok(Self {
            test,
            api_version,
            operators_way,
            services,
            host: host.clone(),
            network,
            node_ip,
            kubeconfig,
            runs: AtomicU32::new(0),
        })
    }

    /// Makes it a cluster of that release. The operator asks for the version once, so it is restarted.
    pub async fn enter(&mut self, release: &Release) -> Result<()> {
        self.test.kill_operator();
        self.api_version.set(&format!("v{}", release.version));
        let mut operator = Operator::run_with(&self.test.cluster, &self.operators_way).await?;
        operator.wait_ready(LIMIT).await?;
        self.test.operator = Some(operator);
        Ok(())
    }

    /// What the operator renders for a release.
    pub async fn rendered(&self, release: &Release, dsr: Dsr) -> Result<Rendered> {
        let dsr = match dsr {
            Dsr::Auto => "Auto",
            Dsr::Disabled => "Disabled",
        };
        self.apply(json!({"version": format!("v{}", release.version), "dsr": dsr}))
            .await?;
        self.test
            .until("the DaemonSet has the wanted DSR", async || {
                let rendered = Rendered::of(&self.test, NODE, &release.version).await?;
                let on = rendered.args.iter().any(|word| word == "--enable-dsr=true");
                Ok((on == (dsr == "Auto")).then_some(rendered))
            })
            .await
    }

    async fn apply(&self, kube_proxy: Value) -> Result<()> {
        let network = json!({"type": self.network.spec_type()});
        // Nothing else uses the pool, so nothing speaks against migrating it.
        self.test
            .apply(json!({"network": network, "kubeProxy": kube_proxy}))
            .await
    }

    /// HNS as Calico's agent leaves it, with the pods of this node.
    pub async fn hns(&self, build: WindowsBuild) -> Result<Hns> {
        let hns = Hns::start(build).await?;
        self.make_network(&hns)?;
        Ok(hns)
    }

    pub fn make_network(&self, hns: &Hns) -> Result<()> {
        match self.network {
            Network::Vxlan => {
                let remote = RemoteNode {
                    block: REMOTE_BLOCK,
                    address: LINUX_NODE,
                };
                hns.add_overlay("Calico", BLOCK, TUNNEL, &[remote])?;
            }
            Network::Bgp => hns.add_bridge("Calico", BLOCK)?,
        }
        LOCAL_PODS
            .iter()
            .try_for_each(|address| hns.add_pod("Calico", address))
    }

    /// What the start script would find on the node.
    pub fn start_script(&self, rendered: &Rendered, hns: &Hns) -> StartScript {
        let endpoint = rendered.env.get("SOURCE_VIP_ENDPOINT");
        let found = endpoint.and_then(|name| hns.endpoint_named(name));
        StartScript {
            source_vip: found.map(|endpoint| endpoint.address().to_owned()),
            kubeconfig: WindowsHost::path(&self.kubeconfig),
        }
    }

    /// A folder of its own for the log of each run.
    pub(super) fn logs(&self) -> Result<PathBuf> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = self.test.state_dir().join(format!("kube-proxy-{number}"));
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// Without a drive a path is a relative one on Windows.
fn with_windows_paths(kubeconfig: &Path) -> Result<()> {
    let mut config: Value = serde_json::from_slice(&fs::read(kubeconfig)?)?;
    let authority = &mut config["clusters"][0]["cluster"]["certificate-authority"];
    let path = authority.as_str().context("the kubeconfig names no authority")?;
    *authority = json!(WindowsHost::path(Path::new(path)));
    fs::write(kubeconfig, config.to_string())?;
    Ok(())
}
