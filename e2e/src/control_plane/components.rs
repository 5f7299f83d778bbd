//! The five programs of a cluster: how each is called, and when it counts as started.
//!
//! Everything listens on loopback. Ports are chosen by binding port 0 and letting go, so another
//! process may take one in between: then the program that lost it ends, and [`Components::start`]
//! tries again with others. What a program says in *its own* log, and the cluster's own certificate
//! authority, prove that it is ours that answers.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::binaries::Binaries;
use super::cluster::ClusterOptions;
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
/// A small machine has more memory than processor for the API server: with `800` a start takes a fifth less processor time than with
/// Go's `100`, and 150 MB more.
const GOGC: &str = "800";
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
    setup: Setup,
    pub(super) server: String,
    pub(super) admin: PathBuf,
}

/// What every start of a program needs, the first and each later one.
struct Setup {
    binaries: Binaries,
    /// Logs, credentials and etcd's data are below it.
    dir: PathBuf,
    etcd_client: u16,
    etcd_peer: u16,
    api_port: u16,
    options: ClusterOptions,
    credentials: Credentials,
    /// Kubeconfigs of the programs that are clients of the API server.
    kubeconfigs: Kubeconfigs,
}

struct Kubeconfigs {
    manager: PathBuf,
    scheduler: PathBuf,
    kwok: PathBuf,
}

impl Components {
    pub(super) async fn start(binaries: &Binaries, state: &Path, options: &ClusterOptions) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(binaries, &state.join(format!("start-{attempt}")), options).await {
                Err(e) if attempt < ATTEMPTS && format!("{e:#}").contains("address already in use") => {
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    async fn try_start(binaries: &Binaries, dir: &Path, options: &ClusterOptions) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let [etcd_client, etcd_peer, api_port] = free_ports()?;
        let server = format!("https://127.0.0.1:{api_port}");
        let credentials = Credentials::create(&dir.join("credentials"))?;
        let client = |name, user, group| credentials.client(name, user, group, &server);
        let admin = client("admin", "kubernetes-admin", Some("system:masters"))?;
        let kubeconfigs = Kubeconfigs {
            manager: client("controller-manager", "system:kube-controller-manager", None)?,
            scheduler: client("scheduler", "system:kube-scheduler", None)?,
            kwok: client("kwok", "kwok", Some("system:masters"))?,
        };
        let setup = Setup {
            binaries: binaries.clone(),
            dir: dir.to_owned(),
            etcd_client,
            etcd_peer,
            api_port,
            options: options.clone(),
            credentials,
            kubeconfigs,
        };
        let mut etcd = setup.start_etcd()?;
        serves_clients(&mut etcd, etcd_client).await?;
        let mut api = setup.start_api()?;
        answers(&mut api, &admin).await?;
        Ok(Self {
            kwok: setup.start_kwok()?,
            scheduler: setup.start_scheduler()?,
            controller_manager: setup.start_controller_manager()?,
            api,
            etcd,
            setup,
            server,
            admin,
        })
    }

    pub(super) fn credentials(&self) -> &Credentials {
        &self.setup.credentials
    }

    /// Kills the API server and starts it again; returns when it answers.
    pub(super) async fn restart_api(&mut self) -> Result<()> {
        self.api.kill();
        self.api = self.setup.start_api()?;
        answers(&mut self.api, &self.admin).await
    }

    /// Kills etcd and starts it again on its data; returns when the API server answers.
    pub(super) async fn restart_etcd(&mut self) -> Result<()> {
        self.etcd.kill();
        self.etcd = self.setup.start_etcd()?;
        answers(&mut self.api, &self.admin).await
    }

    /// Copies etcd's data as a crash at this moment would leave it.
    pub(super) fn save_etcd(&mut self) -> Result<()> {
        self.etcd.signal("STOP")?;
        let copied = replace(&self.setup.etcd_data(), &self.setup.etcd_copy());
        self.etcd.signal("CONT")?;
        copied
    }

    /// Puts etcd back to what [`Self::save_etcd`] copied, and restarts every program, as Kubernetes asks
    /// after a restore: resource versions go backwards.
    pub(super) async fn restore_etcd(&mut self) -> Result<()> {
        let Self {
            kwok,
            scheduler,
            controller_manager,
            api,
            etcd,
            ..
        } = self;
        for process in [kwok, scheduler, controller_manager, api, etcd] {
            process.kill();
        }
        replace(&self.setup.etcd_copy(), &self.setup.etcd_data())?;
        self.etcd = self.setup.start_etcd()?;
        serves_clients(&mut self.etcd, self.setup.etcd_client).await?;
        self.api = self.setup.start_api()?;
        answers(&mut self.api, &self.admin).await?;
        self.controller_manager = self.setup.start_controller_manager()?;
        self.scheduler = self.setup.start_scheduler()?;
        self.kwok = self.setup.start_kwok()?;
        Ok(())
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

/// Nobody else can have the port, or etcd would have ended.
async fn serves_clients(etcd: &mut Process, port: u16) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while !etcd.log().contains("serving client traffic") || TcpStream::connect(("127.0.0.1", port)).is_err() {
        etcd.require_running()?;
        if Instant::now() > deadline {
            bail!("etcd does not start; its last words:\n{}", etcd.last_words());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
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

/// A copy of a folder in place of another.
fn replace(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("remove {}", to.display()))?;
    }
    copy(from, to).with_context(|| format!("copy {} to {}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl Setup {
    fn etcd_data(&self) -> PathBuf {
        self.dir.join("etcd")
    }

    fn etcd_copy(&self) -> PathBuf {
        self.dir.join("etcd-copy")
    }

    fn start_etcd(&self) -> Result<Process> {
        let client = format!("http://127.0.0.1:{}", self.etcd_client);
        let peer = format!("http://127.0.0.1:{}", self.etcd_peer);
        Program::new("etcd", &self.binaries.etcd, &self.dir)
            .flag("data-dir", self.etcd_data())
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

    fn start_api(&self) -> Result<Process> {
        let keys = &self.credentials;
        let gogc = if self.options.scale { AT_SCALE_GOGC } else { GOGC };
        let mut program =
            Program::new("kube-apiserver", &self.binaries.kube_apiserver, &self.dir).env("GOGC", gogc);
        if self.options.scale {
            // Nobody takes the taint of a new node away, for nobody judges nodes by their leases.
            program = program.arg("--disable-admission-plugins=TaintNodesByCondition");
        }
        let policy = if self.options.scale {
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
            .flag("secure-port", self.api_port.to_string())
            .flag("etcd-servers", format!("http://127.0.0.1:{}", self.etcd_client))
            .flag("service-cluster-ip-range", SERVICE_RANGE)
            .flag("client-ca-file", keys.authority())
            .flag("tls-cert-file", keys.certificate("kube-apiserver"))
            .flag("tls-private-key-file", keys.key("kube-apiserver"))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .flag("service-account-key-file", keys.token_public_key())
            .flag("service-account-signing-key-file", keys.key("service-accounts"))
            .flag("audit-policy-file", paths::modules().join(policy))
            .flag("audit-log-path", self.dir.join("audit.log"))
            // In megabytes: a rotated log would lose the witness.
            .arg("--audit-log-maxsize=10000")
            .start()
    }

    fn start_controller_manager(&self) -> Result<Process> {
        let controllers = if self.options.scale {
            AT_SCALE_CONTROLLERS
        } else {
            CONTROLLERS
        };
        // A look at a DaemonSet is one at each of its nodes: two at once would take both of two cores.
        let daemon_sets = if self.options.scale { "1" } else { "2" };
        let program = &self.binaries.kube_controller_manager;
        Program::new("kube-controller-manager", program, &self.dir)
            .flag("concurrent-daemonset-syncs", daemon_sets)
            .flag("kubeconfig", &self.kubeconfigs.manager)
            .args([
                "--leader-elect=false",
                "--secure-port=0",
                "--use-service-account-credentials=true",
            ])
            // Meant to spare a shared API server; here they only cost seconds of every start.
            .args(["--kube-api-qps=1000", "--kube-api-burst=1000"])
            .flag("controllers", controllers)
            .arg("--node-monitor-grace-period=5m")
            .flag("root-ca-file", self.credentials.authority())
            .flag(
                "service-account-private-key-file",
                self.credentials.key("service-accounts"),
            )
            .start()
    }

    fn start_scheduler(&self) -> Result<Process> {
        Program::new("kube-scheduler", &self.binaries.kube_scheduler, &self.dir)
            .flag("kubeconfig", &self.kubeconfigs.scheduler)
            .args(["--leader-elect=false", "--secure-port=0"])
            .start()
    }

    fn start_kwok(&self) -> Result<Process> {
        kwok::start(&self.binaries, &self.dir, &self.kubeconfigs.kwok, &self.options)
    }
}
