//! An OCI registry on this machine, without TLS and users. It keeps everything in memory and ends with the value.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::{Client, Config};

use crate::control_plane::process::{Process, Program};
use crate::control_plane::{free_ports, release_tools};

const START_LIMIT: Duration = Duration::from_secs(30);

pub struct Registry {
    process: Process,
    address: String,
}

impl Registry {
    /// Starts it, with its configuration and log in `folder`. Returns when it answers.
    pub async fn start(folder: &Path) -> Result<Self> {
        let program = tokio::task::spawn_blocking(release_tools::registry).await??;
        let [port] = free_ports()?;
        let address = format!("127.0.0.1:{port}");
        let config = folder.join("registry.yaml");
        let text = format!("version: 0.1\nstorage: {{inmemory: {{}}}}\nhttp: {{addr: '{address}'}}\n");
        fs::write(&config, text).with_context(|| format!("write {}", config.display()))?;
        let process = Program::new("registry", &program, folder)
            .arg("serve")
            .arg(config)
            .start()?;
        let mut registry = Self { process, address };
        registry.wait().await?;
        Ok(registry)
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    async fn wait(&mut self) -> Result<()> {
        let client = Client::try_from(Config::new(format!("http://{}", self.address).parse()?))?;
        let deadline = Instant::now() + START_LIMIT;
        loop {
            self.process.require_running()?;
            let request = http::Request::get("/v2/").body(Vec::new())?;
            match client.request_text(request).await {
                Ok(_) => return Ok(()),
                Err(e) if Instant::now() > deadline => bail!("the registry does not answer: {e}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}
