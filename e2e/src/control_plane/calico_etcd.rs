//! An etcd for Calico beside that of the cluster: TLS with an authority of its own, clients need a certificate. It is
//! spoken to through its JSON gateway, which nothing of the operator uses.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::ByteString;
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::components::free_ports;
use super::credentials::Credentials;
use super::process::{Process, Program};
use super::{Cluster, commands, paths};

const LIMIT: Duration = Duration::from_secs(60);

pub struct CalicoEtcd {
    process: Process,
    program: PathBuf,
    dir: PathBuf,
    ports: [u16; 2],
    credentials: Credentials,
    client: Client,
}

/// A key and its value, byte for byte.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub key: String,
    pub value: String,
    /// Revision of the last write.
    pub revision: i64,
}

impl CalicoEtcd {
    /// Starts it empty.
    pub async fn start(cluster: &Cluster) -> Result<Self> {
        let dir = cluster.state_dir().join("calico-etcd");
        std::fs::create_dir_all(&dir)?;
        let ports = free_ports()?;
        let credentials = Credentials::create(&dir.join("credentials"))?;
        credentials.peer("etcd")?;
        let url = format!("https://127.0.0.1:{}", ports[0]);
        let client = commands::client(&credentials.client("calico", "calico", None, &url)?).await?;
        let program = cluster.binaries().etcd.clone();
        let process = launch(&program, &dir, ports, &credentials)?;
        let mut etcd = Self {
            process,
            program,
            dir,
            ports,
            credentials,
            client,
        };
        etcd.answers().await?;
        Ok(etcd)
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports[0])
    }

    /// `data` of a Secret with what a client needs: authority, certificate, key. Each client has its own.
    pub fn secret(&self, client: &str) -> Result<[ByteString; 3]> {
        if !self.credentials.key(client).exists() {
            self.credentials.client(client, client, None, &self.url())?;
        }
        let files = [
            self.credentials.authority(),
            self.credentials.certificate(client),
            self.credentials.key(client),
        ];
        let read = |path: &Path| Ok::<_, std::io::Error>(ByteString(std::fs::read(path)?));
        Ok([read(&files[0])?, read(&files[1])?, read(&files[2])?])
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again on what it had.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = launch(&self.program, &self.dir, self.ports, &self.credentials)?;
        self.answers().await
    }

    async fn answers(&mut self) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while let Err(error) = self.all().await {
            self.process.require_running()?;
            if Instant::now() > deadline {
                bail!("etcd does not answer ({error:#}): {}", self.process.last_words());
            }
            tokio::time::sleep(super::components::POLL).await;
        }
        Ok(())
    }

    async fn call(&self, path: &str, body: Value) -> Result<Value> {
        let request = http::Request::post(path).body(serde_json::to_vec(&body)?)?;
        Ok(self.client.request(request).await?)
    }

    async fn range(&self, key: &str, range_end: &str) -> Result<Vec<Entry>> {
        let body = json!({ "key": base64(key), "range_end": base64(range_end) });
        let answer = self.call("/v3/kv/range", body).await?;
        let entries = answer["kvs"].as_array().into_iter().flatten();
        entries
            .map(|kv| {
                let number = kv["mod_revision"].as_str().unwrap_or_default();
                Ok(Entry {
                    key: text(&kv["key"])?,
                    value: text(&kv["value"])?,
                    revision: number.parse()?,
                })
            })
            .collect()
    }

    /// Every key of Calico's.
    pub async fn all(&self) -> Result<Vec<Entry>> {
        self.range("/calico/", "/calico0").await
    }

    pub async fn get(&self, key: &str) -> Result<Option<Entry>> {
        Ok(self.range(key, "").await?.pop())
    }

    /// The value of a key that must exist.
    pub async fn value(&self, key: &str) -> Result<String> {
        let entry = self.get(key).await?;
        Ok(entry.with_context(|| format!("{key} does not exist"))?.value)
    }

    pub async fn put(&self, key: &str, value: &str) -> Result<()> {
        let body = json!({ "key": base64(key), "value": base64(value) });
        self.call("/v3/kv/put", body).await.map(drop)
    }

    /// Puts if nobody wrote since that revision; says whether it did.
    pub async fn swap(&self, entry: &Entry, value: &str) -> Result<bool> {
        let key = base64(&entry.key);
        let body = json!({
            "compare": [{"target": "MOD", "key": key, "mod_revision": entry.revision.to_string()}],
            "success": [{"request_put": {"key": key, "value": base64(value)}}],
        });
        Ok(self.call("/v3/kv/txn", body).await?["succeeded"] == true)
    }

    /// Puts what real Calico left there, with IPAM not strict yet and the names of this cluster's nodes.
    pub async fn seed(&self) -> Result<()> {
        for (key, value) in seeds()? {
            self.put(&key, &value).await?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Line {
    key: String,
    value: Box<RawValue>,
}

fn seeds() -> Result<Vec<(String, String)>> {
    let path = paths::modules().join("calico/etcd/keys.jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let here = |text: &str| {
        text.replace("win-0", "windows-0")
            .replace("lin-0", "linux-0")
            .replace(r#""strict_affinity":true,"#, "")
    };
    text.lines()
        .map(|line| {
            let line: Line = serde_json::from_str(line)?;
            Ok((here(&line.key), here(line.value.get())))
        })
        .collect()
}

fn launch(program: &Path, dir: &Path, [client, peer]: [u16; 2], keys: &Credentials) -> Result<Process> {
    let client = format!("https://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    Program::new("calico-etcd", program, dir)
        .flag("data-dir", dir.join("data"))
        .flag("listen-client-urls", &client)
        .flag("advertise-client-urls", &client)
        .flag("listen-peer-urls", &peer)
        .flag("initial-advertise-peer-urls", &peer)
        .flag("initial-cluster", format!("default={peer}"))
        .flag("cert-file", keys.certificate("etcd"))
        .flag("key-file", keys.key("etcd"))
        .flag("trusted-ca-file", keys.authority())
        .arg("--client-cert-auth")
        .args(["--heartbeat-interval=10", "--election-timeout=100"])
        .start()
}

/// The gateway has bytes as Kubernetes has them.
fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

fn text(base64: &Value) -> Result<String> {
    let bytes: ByteString = serde_json::from_value(base64.clone())?;
    Ok(String::from_utf8(bytes.0)?)
}
