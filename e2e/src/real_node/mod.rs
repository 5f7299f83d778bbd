//! A real node: kubelet, containerd, runc, kube-proxy and CNI's bridge plugin on this machine, beside the simulated nodes.
//!
//! The node has a network, mounts and processes of its own (`e2e/control-plane/node/node.sh`), and no way out of them but to the API server
//! and to the registry of the test. Invariant: when the value is dropped, or its process killed, nothing of the node is left but the empty
//! folders of its cgroup, which the next node removes.

mod cgroup;
mod container;
mod images;
mod namespace;
mod requirements;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};

use crate::control_plane::process::{Process, Program};
use crate::control_plane::{Cluster, find_program, node_programs, paths};
pub use cgroup::{Cgroup, Memory};
pub use container::Container;
pub use images::Images;
use namespace::Namespace;
pub use namespace::Relay;
pub use requirements::missing;

/// Name of the Node.
pub const NAME: &str = "real-0";
/// Where the registry is for containerd. It speaks HTTP to a registry on loopback without being asked to.
pub const REGISTRY: &str = "localhost:5000";
const REGISTRY_PORT: u16 = 5000;
/// Arguments of unshare. Whoever kills it kills every process of the node.
const NAMESPACES: [&str; 6] = [
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
/// What node.sh prints when it has started everything.
const RUNS: &str = "the node's programs run";

/// Field order is drop order: the processes end before their cgroup goes.
pub struct RealNode {
    _relays: Vec<Relay>,
    namespace: Namespace,
    process: Process,
    cgroup: Cgroup,
    program: NodeProgram,
    client: Client,
}

/// What every start of the node needs.
struct NodeProgram {
    unshare: PathBuf,
    /// Kubeconfigs and logs.
    folder: PathBuf,
    programs: PathBuf,
    api_server: SocketAddr,
    registry: SocketAddr,
}

impl RealNode {
    /// Returns when the Node is Ready. Call it only where nothing is [`missing`].
    pub async fn start(cluster: &Cluster, images: &Images) -> Result<Self> {
        let program = NodeProgram::prepare(cluster, images).await?;
        let cgroup = Cgroup::create()?;
        let (process, namespace, relays) = program.start(&cgroup).await?;
        let node = Self {
            _relays: relays,
            namespace,
            process,
            cgroup,
            program,
            client: cluster.client(),
        };
        node.wait_ready().await?;
        Ok(node)
    }

    /// Ends every process of the node at once and starts it again, without images and containers.
    pub async fn reboot(&mut self) -> Result<()> {
        self.process.kill();
        self.cgroup.empty()?;
        (self.process, self.namespace, self._relays) = self.program.start(&self.cgroup).await?;
        Ok(())
    }

    /// SIGKILL for `containerd`, `kubelet` or `kube-proxy`. The node starts it again a second later.
    pub fn kill(&self, service: &str) -> Result<()> {
        let namespaces = format!("/proc/{}/ns", self.process.pid());
        let status = std::process::Command::new("nsenter")
            .arg(format!("--mount={namespaces}/mnt"))
            .arg(format!("--pid={namespaces}/pid_for_children"))
            .args(["sh", "-c", "kill -9 \"$(cat \"/run/$1.pid\")\"", "kill", service])
            .status()
            .context("run nsenter")?;
        if !status.success() {
            bail!("cannot kill {service}: {status}");
        }
        Ok(())
    }

    /// An address on loopback that leads to an address of the node's network, as of a pod or a Service.
    pub async fn reach(&self, address: SocketAddr) -> Result<(SocketAddr, Relay)> {
        Relay::out_of(self.namespace.clone(), address).await
    }

    /// The only container of a pod.
    pub fn container(&self, pod: &serde_json::Value) -> Result<Container> {
        Container::of(pod, &self.cgroup)
    }

    /// The last lines of each program's log.
    pub fn logs(&self) -> String {
        let mut logs = self.process.last_words();
        for service in ["containerd", "kube-proxy", "kubelet"] {
            let path = self.program.folder.join(format!("{service}.log"));
            let log = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines[lines.len().saturating_sub(15)..].join("\n");
            logs.push_str(&format!("\n--- {service}\n{end}"));
        }
        logs
    }

    async fn wait_ready(&self) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let node = nodes.get_opt(NAME).await?;
            let conditions = node.and_then(|node| node.status?.conditions).unwrap_or_default();
            if conditions
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == "True")
            {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!(
                    "{NAME} is not Ready within {START_LIMIT:?}: {conditions:?}\n{}",
                    self.logs()
                );
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl NodeProgram {
    /// Builds what is missing, and gives the node its identities and rights.
    async fn prepare(cluster: &Cluster, images: &Images) -> Result<Self> {
        let folder = cluster.state_dir().join(NAME);
        std::fs::create_dir_all(&folder)?;
        let kubelet = format!("system:node:{NAME}");
        for (name, user, group) in [
            ("kubelet", &*kubelet, Some("system:nodes")),
            ("kube-proxy", "system:kube-proxy", None),
        ] {
            let kubeconfig = cluster.client_kubeconfig(name, user, group)?;
            std::fs::copy(kubeconfig, folder.join(format!("{name}.kubeconfig")))?;
        }
        // The API server has no Node authorizer, which would bind the role to each node's own objects.
        let grant = "create clusterrolebinding real-nodes --clusterrole=system:node --group=system:nodes";
        cluster.kubectl(&grant.split(' ').collect::<Vec<_>>()).await?;
        let server: http::Uri = cluster.server_url().parse()?;
        let port = server
            .port_u16()
            .context("the API server's address has no port")?;
        Ok(Self {
            unshare: find_program("unshare").context("unshare is not installed")?,
            folder,
            programs: tokio::task::spawn_blocking(node_programs).await??,
            api_server: (Ipv4Addr::LOCALHOST, port).into(),
            registry: images.address()?,
        })
    }

    async fn start(&self, cgroup: &Cgroup) -> Result<(Process, Namespace, Vec<Relay>)> {
        // A node that is started again must not be taken for running because it ran before.
        let _ = std::fs::remove_file(self.folder.join("node.log"));
        let mut process = Program::new("node", &self.unshare, &self.folder)
            .args(NAMESPACES)
            .arg("sh")
            .arg(paths::modules().join("node").join("node.sh"))
            .args([NAME, &format!("/{}", cgroup.name())])
            .arg(&self.folder)
            .arg(&self.programs)
            .start()?;
        let namespace = network(&mut process).await?;
        let everywhere = (Ipv4Addr::UNSPECIFIED, self.api_server.port()).into();
        let registry = (Ipv4Addr::LOCALHOST, REGISTRY_PORT).into();
        let relays = vec![
            Relay::into(&namespace, everywhere, self.api_server)?,
            Relay::into(&namespace, registry, self.registry)?,
        ];
        Ok((process, namespace, relays))
    }
}

/// Waits until the node has its network.
async fn network(process: &mut Process) -> Result<Namespace> {
    let deadline = Instant::now() + START_LIMIT;
    while !process.log().contains(RUNS) {
        process.require_running()?;
        if Instant::now() > deadline {
            bail!("the node does not start:\n{}", process.last_words());
        }
        tokio::time::sleep(POLL).await;
    }
    Namespace::of(process.pid())
}
