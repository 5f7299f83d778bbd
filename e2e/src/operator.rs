//! The operator under test: the chart installed by the real helm, and the built binary as a local
//! process.
//!
//! The process has a token of the chart's ServiceAccount and nothing else, so a right that the chart
//! does not grant is a right it does not have.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::{Client, Config};
use tokio::sync::OnceCell;
use wn_release::binary;
use wn_release::platform::Platform;

use crate::control_plane::process::{Process, Program};
use crate::control_plane::{Cluster, free_ports, paths};

/// Chart, release, namespace, ServiceAccount and program are all called this.
pub const NAME: &str = "windows-node-operator";
/// The user the API server sees.
pub const USER: &str = "system:serviceaccount:windows-node-operator:windows-node-operator";

/// The chart's `resources.limits.memory`, in bytes.
pub const MEMORY_LIMIT: u64 = 64 << 20;

/// How to get an operator into a cluster.
pub struct Operator;

impl Operator {
    /// `helm install` of the chart. No pod: a simulated node would report it Running, and it would
    /// do nothing. [`Operator::run`] takes its place.
    pub async fn install(cluster: &Cluster, values: &[(&str, &str)]) -> Result<()> {
        let chart = paths::workspace().join("charts").join(NAME);
        let chart = chart.to_str().context("the path of the checkout is not UTF-8")?;
        let settings: Vec<String> = values
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let mut args = vec!["install", NAME, chart, "--namespace", NAME, "--create-namespace"];
        args.extend(["--set", "replicaCount=0"]);
        for setting in &settings {
            args.extend(["--set", setting]);
        }
        cluster.helm(&args).await?;
        Ok(())
    }

    /// `helm install` with pods, for a cluster with a real node. Returns when every replica is ready by its own probes.
    pub async fn install_pods(cluster: &Cluster, values: &[&str]) -> Result<()> {
        let chart = format!("charts/{NAME}");
        let mut args = vec!["install", NAME, &chart, "--namespace", NAME, "--create-namespace"];
        args.extend(values.iter().flat_map(|value| ["--set", value]));
        cluster.helm(&args).await?;
        Self::rolled_out(cluster).await
    }

    /// Waits until every pod of the Deployment is of its newest revision and ready.
    pub async fn rolled_out(cluster: &Cluster) -> Result<()> {
        let status = format!("rollout status deployment/{NAME} -n {NAME} --timeout=90s");
        cluster.kubectl(&status.split(' ').collect::<Vec<_>>()).await?;
        Ok(())
    }

    /// Starts the built program with the rights of the installed chart.
    pub async fn run(cluster: &Cluster) -> Result<RunningOperator> {
        let kubeconfig = cluster.token_kubeconfig(NAME, NAME).await?;
        Self::run_with(cluster, &kubeconfig).await
    }

    /// The same with a kubeconfig of the caller's, as of one who listens in.
    pub async fn run_with(cluster: &Cluster, kubeconfig: &Path) -> Result<RunningOperator> {
        Self::run_program(cluster, kubeconfig, Self::built().await?)
    }

    /// One of several, each with a name of its own.
    pub async fn run_replica(cluster: &Cluster, kubeconfig: &Path, replica: &str) -> Result<RunningOperator> {
        Self::start(cluster, kubeconfig, Self::built().await?, replica)
    }

    /// The program of these sources, built when it is asked for first.
    pub async fn built() -> Result<&'static Path> {
        static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
        Ok(BUILT.get_or_try_init(build).await?)
    }

    /// The same with any program, as one built earlier.
    pub fn run_program(cluster: &Cluster, kubeconfig: &Path, program: &Path) -> Result<RunningOperator> {
        Self::start(cluster, kubeconfig, program, NAME)
    }

    /// One that is started again under its name goes on at once, as the container of a pod does.
    fn start(cluster: &Cluster, kubeconfig: &Path, program: &Path, name: &str) -> Result<RunningOperator> {
        let [port] = free_ports()?;
        let listen = format!("127.0.0.1:{port}");
        let process = Program::new(name, program, cluster.state_dir())
            .env("KUBECONFIG", kubeconfig)
            .args([
                "run",
                "--namespace",
                NAME,
                "--listen",
                &listen,
                "--pod-name",
                name,
            ])
            .start()?;
        Ok(RunningOperator {
            process,
            url: format!("http://{listen}"),
        })
    }
}

/// Builds the operator. A release build, as benchmarks use it, builds the program of the image; any other one uses the profile of
/// tests.
async fn build() -> Result<PathBuf> {
    if cfg!(debug_assertions) {
        return build_for_tests().await;
    }
    tokio::task::spawn_blocking(|| {
        let built = binary::build(&[Platform::native()])?;
        let built = built.first().context("cargo built nothing")?;
        let path = paths::target().join("lab").join(NAME);
        binary::write(&built.program, &path)?;
        Ok(path)
    })
    .await?
}

/// The arguments that make cargo build the operator. A test asks for a build that `cargo test --workspace` has done already: the
/// features of all packages and tests together. The lab asks for the operator's package alone.
fn selection() -> Result<&'static [&'static str]> {
    let this = std::env::current_exe().context("find the running program")?;
    // Where cargo puts test programs.
    let is_test = this.parent().is_some_and(|folder| folder.ends_with("deps"));
    Ok(if is_test {
        &["test", "--no-run", "--workspace", "--test", "architecture"]
    } else {
        &["build", "--package", NAME]
    })
}

/// Builds with the cargo that built us, and asks it where the program is.
async fn build_for_tests() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = tokio::process::Command::new(cargo);
    command
        .args(selection()?)
        .arg("--message-format=json-render-diagnostics");
    for name in binary::package_variables() {
        command.env_remove(name);
    }
    let output = command
        .current_dir(paths::workspace())
        .output()
        .await
        .context("run cargo build")?;
    if !output.status.success() {
        bail!(
            "cargo build of {NAME} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == NAME)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo built no program {NAME}"))
}

/// A running operator. Dropping it kills it.
pub struct RunningOperator {
    process: Process,
    url: String,
}

impl RunningOperator {
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where it serves health and metrics, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything it wrote, that of earlier runs in this cluster first.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Resident memory in KiB.
    pub fn rss_kib(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.pid());
        let status = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("no VmRSS")?;
        let number = line.split_whitespace().next().context("no number in VmRSS")?;
        Ok(number.parse()?)
    }

    /// The body of a successful `GET`, as of `/metrics`.
    pub async fn get(&self, path: &str) -> Result<String> {
        let client = Client::try_from(Config::new(self.url.parse()?))?;
        Ok(client
            .request_text(http::Request::get(path).body(Vec::new())?)
            .await?)
    }

    /// Waits until `GET /readyz` succeeds; fails early when the operator has ended.
    pub async fn wait_ready(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            self.process.require_running()?;
            match self.get("/readyz").await {
                Ok(_) => return Ok(()),
                Err(e) if Instant::now() > deadline => {
                    bail!(
                        "not ready within {limit:?} ({e:#}):\n{}",
                        self.process.last_words()
                    )
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Fails with the end of its log when it has ended.
    pub fn require_running(&mut self) -> Result<()> {
        self.process.require_running()
    }

    /// Sends a signal by its name without `SIG`, as `STOP`.
    pub fn signal(&mut self, signal: &str) -> Result<()> {
        self.process.signal(signal)
    }

    /// SIGKILL; returns when it is gone.
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// SIGTERM; returns its exit.
    pub fn terminate(mut self) -> Result<ExitStatus> {
        self.process.terminate()
    }
}
