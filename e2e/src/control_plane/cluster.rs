//! A cluster: a real control plane with simulated nodes, alive as long as the value is.
//!
//! Any number of them run side by side, in one process or in many. RBAC is on; the admin's client is
//! for the test's own hands, never for what is tested.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use super::audit::{AuditLog, AuditTail};
use super::binaries::Binaries;
use super::calico::{CalicoApi, CalicoCrds};
use super::commands;
use super::components::{Components, POLL};
use super::nodes::NodeSpec;
use super::state::State;

/// Longer than any lab lives; the API server may shorten it.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;
const BASICS_LIMIT: Duration = Duration::from_secs(60);

/// What a fresh cluster holds.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Named `linux-0`, `linux-1`, …
    pub linux_nodes: usize,
    /// Named `windows-0`, `windows-1`, …
    pub windows_nodes: usize,
    /// Which API of Calico is installed; `None` is a cluster without Calico.
    pub calico_api: CalicoApi,
    pub calico_crds: CalicoCrds,
    /// Whether Calico's default objects exist, as `calico.yaml` leaves them.
    pub calico_objects: bool,
    /// Whether the cluster has what kubeadm leaves in it.
    pub kubeadm: bool,
    /// For thousands of nodes on a small machine: kwok makes the Windows agents' pods Ready, too, nobody
    /// renews leases, the controller manager runs little more than DaemonSets, and the audit log leaves
    /// out the control plane and all bodies but those of the operator's writes.
    pub scale: bool,
    /// Whether a real node may join: kwok plays none but the simulated nodes then.
    pub real_node: bool,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            linux_nodes: 1,
            windows_nodes: 1,
            calico_api: CalicoApi::V1,
            calico_crds: CalicoCrds::Builtin,
            calico_objects: true,
            kubeadm: true,
            scale: false,
            real_node: false,
        }
    }
}

/// Field order is drop order: programs end before their state folder goes.
pub struct Cluster {
    client: Client,
    components: Components,
    binaries: Binaries,
    next_node: AtomicU16,
    state: State,
}

impl Cluster {
    /// Builds the programs if need be (saying so on stderr) and starts them.
    pub async fn start(options: ClusterOptions) -> Result<Self> {
        let binaries = tokio::task::spawn_blocking(|| Binaries::ensure(&|line| eprintln!("{line}")))
            .await
            .context("build the control plane")??;
        let state = State::create()?;
        let components = Components::start(&binaries, state.path(), &options).await?;
        let client = commands::client(&components.admin).await?;
        let cluster = Self {
            client,
            components,
            binaries,
            next_node: AtomicU16::new(1),
            state,
        };
        // Together, because both mostly wait: for the controller manager, and for CRDs to be served.
        tokio::try_join!(cluster.furnish(&options), cluster.furnish_calico(&options))?;
        Ok(cluster)
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of that client.
    pub fn kubeconfig(&self) -> &Path {
        &self.components.admin
    }

    pub fn server_url(&self) -> &str {
        &self.components.server
    }

    /// Logs and credentials are below it. Removed with the cluster, unless `WN_KEEP_CLUSTER` is set.
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// With the `v`.
    pub fn kubernetes_version(&self) -> &str {
        &self.binaries.kubernetes_version
    }

    /// Who asked what of this API server until now.
    pub fn audit_log(&self) -> Result<AuditLog> {
        AuditLog::read(&self.audit_path()?)
    }

    /// The same for what is asked from now on, and for a log too large to be read again and again.
    pub fn audit_tail(&self) -> Result<AuditTail> {
        AuditTail::of(self.audit_path()?)
    }

    fn audit_path(&self) -> Result<PathBuf> {
        let run = self
            .components
            .admin
            .ancestors()
            .nth(2)
            .context("credentials are in the run's folder")?;
        Ok(run.join("audit.log"))
    }

    /// Ends scheduler and kwok: at scale they would take from the API server what processor there is
    /// whenever many pods change.
    pub fn end_players(&mut self) {
        self.components.end_players();
    }

    pub(super) fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Process ids of API server, etcd and controller manager.
    pub fn pids(&self) -> [u32; 3] {
        self.components.pids()
    }

    /// Kills the API server and starts it again.
    pub async fn restart_api_server(&mut self) -> Result<()> {
        self.components.restart_api().await
    }

    /// Kills etcd and starts it again on its data.
    pub async fn restart_etcd(&mut self) -> Result<()> {
        self.components.restart_etcd().await
    }

    /// Takes the snapshot that [`Self::restore`] goes back to. Replaces an earlier one.
    pub fn save(&mut self) -> Result<()> {
        self.components.save_etcd()
    }

    /// Puts the cluster back to the last snapshot: objects and resource versions go backwards.
    pub async fn restore(&mut self) -> Result<()> {
        self.components.restore_etcd().await
    }

    pub async fn kubectl(&self, args: &[&str]) -> Result<String> {
        commands::run(&self.binaries.kubectl, self.kubeconfig(), self.state.path(), args).await
    }

    pub async fn helm(&self, args: &[&str]) -> Result<String> {
        commands::run(&self.binaries.helm, self.kubeconfig(), self.state.path(), args).await
    }

    /// The status that kstatus computes for an object: `InProgress`, `Current`, `Failed` or `Terminating`.
    pub async fn kstatus(&self, object: &Value) -> Result<String> {
        let object = object.to_string();
        let output = commands::run(
            &self.binaries.kstatus,
            self.kubeconfig(),
            self.state.path(),
            &[&object],
        )
        .await?;
        Ok(output.trim().to_owned())
    }

    /// A kubeconfig with a certificate of a user of the control plane or of a node.
    pub fn client_kubeconfig(&self, name: &str, user: &str, group: Option<&str>) -> Result<PathBuf> {
        self.components
            .credentials()
            .client(name, user, group, self.server_url())
    }

    /// A kubeconfig with a token of that ServiceAccount, and so with its rights and no others.
    pub async fn token_kubeconfig(&self, namespace: &str, service_account: &str) -> Result<PathBuf> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client(), namespace);
        let spec = TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest {
            spec,
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(service_account, &PostParams::default(), &request)
            .await
            .with_context(|| format!("request a token of {namespace}/{service_account}"))?;
        let token = answer.status.context("the API server gave no token")?.token;
        let name = format!("{namespace}-{service_account}");
        self.components
            .credentials()
            .bearer(&name, &token, namespace, self.server_url())
    }

    /// A number no other node of this cluster has.
    pub(super) fn next_node(&self) -> u16 {
        self.next_node.fetch_add(1, Ordering::Relaxed)
    }

    async fn furnish(&self, options: &ClusterOptions) -> Result<()> {
        for number in 0..options.linux_nodes {
            self.add_node(NodeSpec::linux(format!("linux-{number}"))).await?;
        }
        for number in 0..options.windows_nodes {
            self.add_node(NodeSpec::windows(format!("windows-{number}")))
                .await?;
        }
        self.wait_for_basics().await?;
        if options.kubeadm {
            self.seed_kubeadm().await?;
        }
        Ok(())
    }

    async fn furnish_calico(&self, options: &ClusterOptions) -> Result<()> {
        self.install_calico(options.calico_api, &options.calico_crds)
            .await?;
        if options.calico_objects && options.calico_api != CalicoApi::None {
            self.seed_calico().await?;
        }
        Ok(())
    }

    /// Pods can be created once the controller manager has made the default ServiceAccount.
    async fn wait_for_basics(&self) -> Result<()> {
        let namespaces = Api::<Namespace>::all(self.client());
        let accounts = Api::<ServiceAccount>::namespaced(self.client(), "default");
        let deadline = Instant::now() + BASICS_LIMIT;
        loop {
            let public = namespaces.get_opt("kube-public").await?;
            let account = accounts.get_opt("default").await?;
            if public.is_some() && account.is_some() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the controller manager made no default ServiceAccount within {BASICS_LIMIT:?}");
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
