//! A running `kube-proxy.exe`.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::host::WindowsHost;
use crate::control_plane::process::Process;
use crate::simulator::Env;

/// A port of the whole machine: of those that get as far as serving it, one runs at a time.
const HEALTH_PORT: u16 = 10256;
const POLL: Duration = Duration::from_millis(50);

pub struct Start<'a> {
    pub host: &'a WindowsHost,
    pub program: &'a Path,
    pub arguments: &'a [String],
    pub env: &'a Env,
    pub hns_port: u16,
    /// Folder of its log.
    pub logs: &'a Path,
}

/// Killed when it is dropped.
pub struct KubeProxy {
    process: Process,
    _turn: Option<File>,
}

impl KubeProxy {
    /// Waits for its turn to serve the health port.
    pub async fn start(start: Start<'_>) -> Result<Self> {
        let turn = Self::turn().await?;
        Self::spawn(&start, Some(turn))
    }

    /// The right to serve the health port, until it is dropped.
    pub async fn turn() -> Result<File> {
        tokio::task::spawn_blocking(take_turn).await?
    }

    /// One whose health nobody asks: kube-proxy goes on where it cannot listen.
    pub fn start_beside(start: &Start<'_>) -> Result<Self> {
        Self::spawn(start, None)
    }

    fn spawn(start: &Start<'_>, turn: Option<File>) -> Result<Self> {
        let mut program = start.host.program("kube-proxy", start.program, start.logs);
        for (name, value) in start.env {
            program = program.env(name, value);
        }
        let process = program
            .env("HNS_PORT", start.hns_port.to_string())
            .args(start.arguments)
            .start()?;
        Ok(Self { process, _turn: turn })
    }

    /// What the kubelet would show of it.
    pub fn log(&self) -> String {
        self.process.log().replace("\r\n", "\n")
    }

    /// Whether it exited with success, once it has ended; `None` at the limit.
    pub async fn ended_within(&mut self, limit: Duration) -> Result<Option<bool>> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if let Some(status) = self.process.ended()? {
                return Ok(Some(status.success()));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(None)
    }

    /// Polls until `look` finds something; an end of kube-proxy is an error.
    pub async fn until(
        &mut self,
        what: &str,
        limit: Duration,
        look: impl AsyncFn() -> Option<()>,
    ) -> Result<()> {
        if !self
            .found_within(limit, look)
            .await
            .with_context(|| what.to_owned())?
        {
            bail!(
                "{what}: not within {limit:?}; kube-proxy:\n{}",
                self.process.last_words()
            );
        }
        Ok(())
    }

    /// Whether `look` finds something in that time; an end of kube-proxy is an error.
    pub async fn found_within(
        &mut self,
        limit: Duration,
        look: impl AsyncFn() -> Option<()>,
    ) -> Result<bool> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if look().await.is_some() {
                return Ok(true);
            }
            self.process.require_running()?;
            tokio::time::sleep(POLL).await;
        }
        Ok(false)
    }

    /// Status of a health endpoint; `None` while nothing listens.
    pub async fn health(path: &str) -> Option<u16> {
        let mut stream = TcpStream::connect(("127.0.0.1", HEALTH_PORT)).await.ok()?;
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        answer.split_whitespace().nth(1)?.parse().ok()
    }
}

fn take_turn() -> Result<File> {
    let path = std::env::temp_dir().join(format!("windows-node-{HEALTH_PORT}.lock"));
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock().context("wait for another kube-proxy")?;
    Ok(file)
}
