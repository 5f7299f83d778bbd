//! The five programs of a cluster: how each is called, and when it counts as started.
//!
//! Everything listens on loopback. Ports are chosen by binding port 0 and letting go, so another
//! process may take one in between: then the program that lost it ends, and [`Components::start`]
//! tries again with others. What a program says in *its own* log, and the cluster's own certificate
//! authority, prove that it is ours that answers.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::binaries::Binaries;
use super::credentials::Credentials;
use super::kwok;
use super::paths;
use super::process::{Process, Program};

/// What kube-apiserver writes into the `kubernetes` EndpointSlice. It refuses loopback there, and
/// nothing ever connects to it: TEST-NET-1 of RFC 5737.
const ADVERTISED: &str = "192.0.2.10";
pub const SERVICE_RANGE: &str = "10.96.0.0/12";
/// Nothing is evicted: on a loaded machine a late heartbeat must not fail a test. Nodes are
/// still tainted and untainted, which DaemonSets have to live with.
const CONTROLLERS: &str = "*,-taint-eviction-controller";
/// What DaemonSets and `helm install` need. The others would look at every pod and node, too.
const AT_SCALE_CONTROLLERS: &str = "daemonset-controller,deployment-controller,namespace-controller,\
    replicaset-controller,root-ca-certificate-publisher-controller,serviceaccount-controller";
/// The API server has more memory than processor on a small machine.
const AT_SCALE_GOGC: &str = "200";
const ATTEMPTS: u32 = 5;
const START_LIMIT: Duration = Duration::from_secs(90);
pub(super) const POLL: Duration = Duration::from_millis(25);

/// The running programs. Fields are dropped in this order: clients before what they talk to.
pub(super) struct Components {
    kwok: Process,
    scheduler: Process,
    controller_manager: Process,
    api: Process,
    etcd: Process,
    pub(super) credentials: Credentials,
    pub(super) server: String,
    pub(super) admin: PathBuf,
}

impl Components {
    pub(super) async fn start(binaries: &Binaries, state: &Path, scale: bool) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(binaries, &state.join(format!("start-{attempt}")), scale).await {
                Err(e) if attempt < ATTEMPTS && format!("{e:#}").contains("address already in use") => {
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    async fn try_start(binaries: &Binaries, dir: &Path, scale: bool) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let [etcd_client, etcd_peer, api_port] = free_ports()?;
        let server = format!("https://127.0.0.1:{api_port}");
        let credentials = Credentials::create(&dir.join("credentials"))?;
        let client = |name, user, group| credentials.client(name, user, group, &server);
        let admin = client("admin", "kubernetes-admin", Some("system:masters"))?;
        let manager = client("controller-manager", "system:kube-controller-manager", None)?;
        let scheduler = client("scheduler", "system:kube-scheduler", None)?;
        let kwok = client("kwok", "kwok", Some("system:masters"))?;

        let mut etcd = start_etcd(binaries, dir, etcd_client, etcd_peer)?;
        serves_clients(&mut etcd).await?;
        let mut api = start_api(binaries, dir, &credentials, [api_port, etcd_client], scale)?;
        answers(&mut api, &admin).await?;
        Ok(Self {
            kwok: kwok::start(binaries, dir, &kwok, scale)?,
            scheduler: start_scheduler(binaries, dir, &scheduler)?,
            controller_manager: start_controller_manager(binaries, dir, &credentials, &manager, scale)?,
            api,
            etcd,
            credentials,
            server,
            admin,
        })
    }

    /// What is not scheduled and not played by now never will be.
    pub(super) fn end_players(&mut self) {
        self.scheduler.kill();
        self.kwok.kill();
    }

    pub(super) fn pids(&self) -> [u32; 3] {
        [&self.api, &self.etcd, &self.controller_manager].map(Process::pid)
    }
}

/// Ports nobody listened on a moment ago, all different.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("find a free port")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn start_etcd(binaries: &Binaries, dir: &Path, client: u16, peer: u16) -> Result<Process> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    Program::new("etcd", &binaries.etcd, dir)
        .flag("data-dir", dir.join("etcd"))
        .flag("listen-client-urls", &client)
        .flag("advertise-client-urls", &client)
        .flag("listen-peer-urls", &peer)
        .flag("initial-advertise-peer-urls", &peer)
        .flag("initial-cluster", format!("default={peer}"))
        // Nothing here outlives a crash of the machine, so nothing need wait for its disk.
        .arg("--unsafe-no-fsync")
        // It is alone, so it need not wait a second for another to claim leadership.
        .args(["--heartbeat-interval=10", "--election-timeout=100"])
        .start()
}

async fn serves_clients(etcd: &mut Process) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while !etcd.log().contains("serving client traffic") {
        etcd.require_running()?;
        if Instant::now() > deadline {
            bail!("etcd does not start; its last words:\n{}", etcd.last_words());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

fn start_api(
    binaries: &Binaries,
    dir: &Path,
    keys: &Credentials,
    [port, etcd]: [u16; 2],
    scale: bool,
) -> Result<Process> {
    let mut program = Program::new("kube-apiserver", &binaries.kube_apiserver, dir);
    if scale {
        // Nobody takes the taint of a new node away, for nobody judges nodes by their leases.
        program = program
            .env("GOGC", AT_SCALE_GOGC)
            .arg("--disable-admission-plugins=TaintNodesByCondition");
    }
    let policy = if scale {
        "audit-policy-scale.yaml"
    } else {
        "audit-policy.yaml"
    };
    program
        .args([
            "--bind-address=127.0.0.1",
            "--allow-privileged=true",
            "--authorization-mode=RBAC",
        ])
        .flag("advertise-address", ADVERTISED)
        .flag("secure-port", port.to_string())
        .flag("etcd-servers", format!("http://127.0.0.1:{etcd}"))
        .flag("service-cluster-ip-range", SERVICE_RANGE)
        .flag("client-ca-file", keys.authority())
        .flag("tls-cert-file", keys.certificate("kube-apiserver"))
        .flag("tls-private-key-file", keys.key("kube-apiserver"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .flag("service-account-key-file", keys.token_public_key())
        .flag("service-account-signing-key-file", keys.key("service-accounts"))
        .flag("audit-policy-file", paths::modules().join(policy))
        .flag("audit-log-path", dir.join("audit.log"))
        // In megabytes: a rotated log would lose the witness.
        .arg("--audit-log-maxsize=10000")
        .start()
}

async fn answers(api: &mut Process, admin: &Path) -> Result<()> {
    let client = super::commands::client(admin).await?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        api.require_running()?;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let answer = client.request_text(request).await;
        match answer {
            Ok(_) => return Ok(()),
            Err(e) if Instant::now() > deadline => {
                bail!(
                    "kube-apiserver does not become ready ({e}); its last words:\n{}",
                    api.last_words()
                )
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

fn start_controller_manager(
    binaries: &Binaries,
    dir: &Path,
    keys: &Credentials,
    kubeconfig: &Path,
    scale: bool,
) -> Result<Process> {
    let controllers = if scale { AT_SCALE_CONTROLLERS } else { CONTROLLERS };
    // A look at a DaemonSet is one at each of its nodes: two at once would take both of two cores.
    let daemon_sets = if scale { "1" } else { "2" };
    Program::new("kube-controller-manager", &binaries.kube_controller_manager, dir)
        .flag("concurrent-daemonset-syncs", daemon_sets)
        .flag("kubeconfig", kubeconfig)
        .args([
            "--leader-elect=false",
            "--secure-port=0",
            "--use-service-account-credentials=true",
        ])
        // Meant to spare a shared API server; here they only cost seconds of every start.
        .args(["--kube-api-qps=1000", "--kube-api-burst=1000"])
        .flag("controllers", controllers)
        .arg("--node-monitor-grace-period=5m")
        .flag("root-ca-file", keys.authority())
        .flag("service-account-private-key-file", keys.key("service-accounts"))
        .start()
}

fn start_scheduler(binaries: &Binaries, dir: &Path, kubeconfig: &Path) -> Result<Process> {
    Program::new("kube-scheduler", &binaries.kube_scheduler, dir)
        .flag("kubeconfig", kubeconfig)
        .args(["--leader-elect=false", "--secure-port=0"])
        .start()
}
