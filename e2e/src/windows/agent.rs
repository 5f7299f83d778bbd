//! Calico's programs for Windows, and a HostProcess pod's view of the node's drive to run them in.
//!
//! They are no part of this project: somebody takes them out of Calico's images, or builds them from its source.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;

use super::host::WindowsHost;
use super::rendered_agent::RenderedAgent;
use crate::control_plane::process::Process;
use crate::simulator::Env;

const NODE: &str = "calico-node.exe";
const PLUGIN: &str = "calico.exe";
const INSTALLER: &str = "install.exe";
/// `CONTAINER_SANDBOX_MOUNT_POINT`, since containerd 1.7.
const MOUNT_POINT: &str = "C:/hpc";
const ACCOUNT: &str = "var/run/secrets/kubernetes.io/serviceaccount";
/// As in PowerShell's words of the rendered commands.
const MOUNT_VARIABLE: &str = "$env:CONTAINER_SANDBOX_MOUNT_POINT";
/// For a program that has to end, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The three programs of a release.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// As `calico-node.exe -v` prints it.
    pub version: String,
}

impl Programs {
    /// Those in `folder`, where all three are.
    pub async fn open(host: &WindowsHost, folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("--agent {}", folder.display()))?;
        for name in [NODE, PLUGIN, INSTALLER] {
            if !folder.join(name).is_file() {
                bail!(
                    "--agent {}: no {name}; it holds {NODE}, {PLUGIN} and {INSTALLER} of one release",
                    folder.display()
                );
            }
        }
        let output = host.command(&folder.join(NODE)).arg("-v").output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_whitespace().find(|word| word.starts_with('v'));
        Ok(Self {
            version: version.unwrap_or("of an unknown release").to_owned(),
            folder,
        })
    }
}

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Ended {
    /// Exit code 0, or an error with the output.
    pub fn well(self) -> Result<Self> {
        if self.code != Some(0) {
            bail!("exit {:?}:\n{}{}", self.code, self.output, self.errors);
        }
        Ok(self)
    }
}

/// The pod's containers on the node.
#[derive(Clone, Debug)]
pub struct Sandbox {
    host: WindowsHost,
    logs: PathBuf,
}

impl Sandbox {
    /// Programs where Calico's images have them, the pod's mounts, and the token of its ServiceAccount out of
    /// `kubeconfig`.
    pub fn make(
        host: &WindowsHost,
        folder: &Path,
        programs: &Programs,
        rendered: &RenderedAgent,
        kubeconfig: &Path,
    ) -> Result<Self> {
        let sandbox = Self {
            host: host.with_drive(folder)?,
            logs: folder.to_owned(),
        };
        for (place, program) in [
            ("CalicoWindows/calico-node.exe", NODE),
            ("opt/cni/bin/install.exe", INSTALLER),
            ("opt/cni/bin/calico.exe", PLUGIN),
            // The same program, by another name.
            ("opt/cni/bin/calico-ipam.exe", PLUGIN),
        ] {
            link(&programs.folder.join(program), &sandbox.inside(place))?;
        }
        for (inside, node) in rendered.host_mounts() {
            let on_node = sandbox.host.on_drive(&node);
            fs::create_dir_all(&on_node)?;
            let inside = sandbox.inside(&inside);
            if inside != on_node {
                link(&on_node, &inside)?;
            }
        }
        sandbox.mount_account(kubeconfig)?;
        Ok(sandbox)
    }

    fn mount_account(&self, kubeconfig: &Path) -> Result<()> {
        let config: serde_json::Value = serde_json::from_slice(&fs::read(kubeconfig)?)?;
        let text = |pointer| config.pointer(pointer).and_then(serde_json::Value::as_str);
        let authority = text("/clusters/0/cluster/certificate-authority");
        let authority = authority.context("the kubeconfig names no authority")?;
        let token = text("/users/0/user/token").context("the kubeconfig has no token")?;
        let namespace = text("/contexts/0/context/namespace").context("the kubeconfig has no namespace")?;
        let folder = self.inside(ACCOUNT);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("token"), token)?;
        fs::write(folder.join("namespace"), namespace)?;
        fs::copy(authority, folder.join("ca.crt"))?;
        Ok(())
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.host.on_drive(MOUNT_POINT).join(path.trim_start_matches('/'))
    }

    /// A file of the node.
    pub fn read(&self, path: &str) -> Result<String> {
        let path = self.host.on_drive(path);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// A command of a container, as the pod or a script of Calico's has it, run until it ends.
    pub async fn run(&self, command: &[String], env: &Env, hns_port: u16) -> Result<Ended> {
        let (program, arguments) = self.resolved(command)?;
        let mut run = self.host.command(&program);
        run.args(arguments).envs(container(env));
        self.finish(run, hns_port, "").await
    }

    /// One that runs on; its output is in a log.
    pub fn start(&self, name: &str, command: &[String], env: &Env, hns_port: u16) -> Result<Process> {
        let (program, arguments) = self.resolved(command)?;
        let env = container(env);
        let run = self.host.program(name, &program, &self.logs);
        let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
        run.env("HNS_PORT", hns_port.to_string())
            .args(arguments)
            .directory(self.inside("CalicoWindows"))
            .start()
    }

    /// The CNI plugin, as containerd calls it: on the node, with a configuration on its standard input.
    pub async fn plugin(&self, env: &Env, config: &str, hns_port: u16) -> Result<Ended> {
        let mut run = self
            .host
            .command(&self.host.on_drive("C:/opt/cni/bin/calico.exe"));
        run.envs(env);
        self.finish(run, hns_port, config).await
    }

    async fn finish(&self, mut run: tokio::process::Command, hns_port: u16, input: &str) -> Result<Ended> {
        let mut child = run
            .env("HNS_PORT", hns_port.to_string())
            .current_dir(self.inside("CalicoWindows"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await?;
        }
        let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
        let output = output.with_context(|| format!("it does not end within {LIMIT:?}"))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        Ok(Ended {
            code: output.status.code(),
            output: text(&output.stdout),
            errors: text(&output.stderr),
        })
    }

    fn resolved<'a>(&self, command: &'a [String]) -> Result<(PathBuf, &'a [String])> {
        let (program, arguments) = command.split_first().context("an empty command")?;
        let program = program.replace(MOUNT_VARIABLE, MOUNT_POINT);
        Ok((self.host.on_drive(&program), arguments))
    }
}

fn container(env: &Env) -> Env {
    let mut env = env.clone();
    env.insert(
        "CONTAINER_SANDBOX_MOUNT_POINT".to_owned(),
        MOUNT_POINT.replace('/', "\\"),
    );
    env
}

fn link(target: &Path, at: &Path) -> Result<()> {
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent)?;
    }
    symlink(target, at).with_context(|| format!("link {}", at.display()))
}
