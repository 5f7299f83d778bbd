//! A cluster of thousands of nodes with the operator in it, and the operator's requests as they come.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::names;

use super::process;
use crate::control_plane::{AuditEvent, AuditTail, Cluster, ClusterOptions};
use crate::objects;
use crate::operator::{MEMORY_LIMIT, NAME, Operator, RunningOperator, USER};
use crate::real_node::{Cgroup, Memory};
use crate::test_cluster::minimal;

/// Requests under way at once: enough to keep an API server on a few cores busy.
const WORKERS: usize = 32;
const POLL: Duration = Duration::from_millis(20);
/// The pool of Calico's defaults has blocks for 1024 nodes; this one, a /12, for 16384.
pub const POOL_BASE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
/// No request for so long means that there is nothing left to do.
const REST: Duration = Duration::from_secs(4);

/// Field order is drop order: the operator ends before its cluster.
pub struct Field {
    operator: Option<RunningOperator>,
    /// With the memory limit of the chart; `None` where no cgroup can be made.
    cgroup: Option<Cgroup>,
    pub client: Client,
    pub cluster: Cluster,
    pub nodes: usize,
    /// The agent's pod of each node.
    agents: BTreeMap<String, String>,
    program: PathBuf,
    kubeconfig: PathBuf,
    tail: AuditTail,
    events: Vec<AuditEvent>,
}

impl Field {
    /// No Windows nodes yet, Calico's pool made large, the chart installed and a config applied.
    pub async fn set(program: &Path) -> Result<Self> {
        let options = ClusterOptions {
            linux_nodes: 2,
            windows_nodes: 0,
            scale: true,
            ..ClusterOptions::default()
        };
        let cluster = Cluster::start(options).await?;
        let client = cluster.client();
        enlarge_pool(&client).await.context("enlarge the IP pool")?;
        Operator::install(&cluster, &[]).await?;
        let config = json!({
            "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
            "kind": names::KIND,
            "metadata": {"name": names::SINGLETON},
            "spec": minimal("CalicoVXLAN"),
        });
        objects::configs(&client)
            .patch(
                names::SINGLETON,
                &PatchParams::apply("kubectl"),
                &Patch::Apply(&config),
            )
            .await?;
        Ok(Self {
            operator: None,
            cgroup: Cgroup::create().ok(),
            client,
            nodes: 0,
            agents: BTreeMap::new(),
            program: program.to_owned(),
            kubeconfig: cluster.token_kubeconfig(NAME, NAME).await?,
            tail: cluster.audit_tail()?,
            cluster,
            events: Vec::new(),
        })
    }

    /// Returns at once, with the moment before.
    pub fn start(&mut self) -> Result<Timestamp> {
        let before = Timestamp::now();
        let operator = Operator::run_program(&self.cluster, &self.kubeconfig, &self.program)?;
        if let Some(cgroup) = &self.cgroup {
            cgroup.confine(operator.pid(), MEMORY_LIMIT)?;
        }
        self.operator = Some(operator);
        Ok(before)
    }

    /// What its cgroup counted in all runs.
    pub fn memory(&self) -> Result<Option<Memory>> {
        self.cgroup.as_ref().map(Cgroup::confined).transpose()
    }

    /// SIGKILL: nothing is written any more from here on.
    pub fn kill(&mut self) {
        if let Some(operator) = self.operator.take() {
            operator.kill();
        }
    }

    /// Process id of the operator.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.operator.as_ref().context("the operator does not run")?.pid())
    }

    pub fn cpu(&self) -> Result<f64> {
        process::cpu(self.pid()?)
    }

    /// Forgets the requests until now.
    pub fn mark(&mut self) -> Result<()> {
        self.tail.more()?;
        self.events.clear();
        Ok(())
    }

    /// The requests since the mark.
    pub fn events(&mut self) -> Result<&[AuditEvent]> {
        self.events.extend(self.tail.more()?);
        Ok(&self.events)
    }

    /// Waits until the requests since the mark show something.
    pub async fn until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        look: impl Fn(&[AuditEvent]) -> Option<T>,
    ) -> Result<T> {
        let began = Instant::now();
        loop {
            if let Some(found) = look(self.events()?) {
                return Ok(found);
            }
            if began.elapsed() > limit {
                bail!("{what}: not within {} s\n{}", limit.as_secs(), self.state().await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until the operator makes no requests any more.
    pub async fn rest(&mut self, limit: Duration) -> Result<()> {
        let began = Instant::now();
        let (mut seen, mut since) = (0, Instant::now());
        while since.elapsed() < REST {
            let requests = self.events()?.iter().filter(|e| is_request(e)).count();
            if requests != seen {
                (seen, since) = (requests, Instant::now());
            }
            if began.elapsed() > limit {
                let last: Vec<_> = self
                    .events
                    .iter()
                    .rev()
                    .filter(|e| is_request(e))
                    .take(5)
                    .collect();
                bail!("the operator does not come to rest within {limit:?}: {last:#?}");
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    async fn state(&self) -> String {
        let config = objects::config(&self.client).await.unwrap_or_default();
        let status = serde_json::to_string_pretty(&config["status"]).unwrap_or_default();
        let log = self
            .operator
            .as_ref()
            .map_or_else(String::new, RunningOperator::log);
        let tail: Vec<_> = log.lines().rev().take(20).collect();
        let status: String = status.chars().take(6000).collect();
        format!("status: {status}\nlog, newest first:\n{}", tail.join("\n"))
    }

    /// Learns which pod is the agent of which node.
    pub async fn find_agents(&mut self) -> Result<()> {
        let pods = self.pods();
        let label = format!("{}={}", names::labels::K8S_APP, names::node_agent::DAEMON_SET);
        let mut params = ListParams::default().labels(&label).limit(500);
        loop {
            let page = pods.list(&params).await?;
            let more = page.metadata.continue_.clone().filter(|token| !token.is_empty());
            self.agents.extend(page.items.iter().filter_map(|pod| {
                let node = pod.spec.as_ref()?.node_name.clone()?;
                Some((node, pod.name_any()))
            }));
            let Some(token) = more else { return Ok(()) };
            params = params.continue_token(&token);
        }
    }

    /// Those of the operator's namespace.
    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAME)
    }

    /// The agent's pod on a node.
    pub fn agent(&self, node: &str) -> Result<String> {
        let pod = self
            .agents
            .get(node)
            .with_context(|| format!("node {node} has no agent"))?;
        Ok(pod.clone())
    }

    pub fn agents(&self) -> Vec<String> {
        self.agents.values().cloned().collect()
    }

    /// Sets a pod's readiness as its kubelet would.
    pub async fn set_ready(&self, pod: &str, ready: bool) -> Result<()> {
        let status = if ready { "True" } else { "False" };
        let now = now();
        let condition = |type_: &str| json!({"type": type_, "status": status, "lastTransitionTime": now});
        let body = json!({"status": {"conditions": [condition("Ready"), condition("ContainersReady")]}});
        self.pods()
            .patch_status(pod, &PatchParams::default(), &Patch::Strategic(body))
            .await
            .with_context(|| format!("set the readiness of pod {pod}"))?;
        Ok(())
    }

    /// The same for many, side by side.
    pub async fn set_all_ready(&self, pods: &[String], ready: bool) -> Result<()> {
        together(pods.iter().map(|pod| self.set_ready(pod, ready))).await
    }
}

/// A pool keeps its CIDR, so it is deleted and created again, as the owner of Calico's objects would.
async fn enlarge_pool(client: &Client) -> Result<()> {
    const NAME: &str = "default-ipv4-ippool";
    let pools = objects::calico(client, CalicoApi::V1, ConfigKind::IpPool);
    let mut pool = pools.get(NAME).await?;
    pools.delete(NAME, &Default::default()).await?;
    pool.data["spec"]["cidr"] = json!(format!("{POOL_BASE}/12"));
    pool.metadata.resource_version = None;
    pool.metadata.uid = None;
    pool.metadata.managed_fields = None;
    let params = PostParams {
        field_manager: Some("Go-http-client".to_owned()),
        ..PostParams::default()
    };
    pools.create(&params, &pool).await?;
    Ok(())
}

/// Runs work side by side, `WORKERS` at once.
pub async fn together(work: impl Iterator<Item = impl Future<Output = Result<()>>>) -> Result<()> {
    futures::stream::iter(work)
        .buffer_unordered(WORKERS)
        .try_collect()
        .await
}

/// As objects write it.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A request of the operator other than a watch, which lasts.
pub fn is_request(event: &AuditEvent) -> bool {
    event.user == USER && event.verb != "watch" && !event.is_election()
}

/// A watch of the operator that begins; its end is an event of its own.
pub fn is_watch(event: &AuditEvent) -> bool {
    event.user == USER && event.verb == "watch" && event.stage == "ResponseStarted"
}

/// A write of the config's status.
pub fn is_status(event: &AuditEvent) -> bool {
    wrote(event, "windowsnodeconfigs") && event.subresource == "status"
}

/// A write of our condition on a node.
pub fn is_node_condition(event: &AuditEvent) -> bool {
    wrote(event, "nodes") && event.subresource == "status"
}

pub fn is_event(event: &AuditEvent) -> bool {
    wrote(event, "events")
}

fn wrote(event: &AuditEvent, resource: &str) -> bool {
    event.user == USER && event.is_write() && event.resource == resource && event.response_code < 300
}

/// A change of an agent's pod by its kubelet, that is by us.
pub fn is_pod_change(event: &AuditEvent) -> bool {
    event.user != USER && event.verb == "patch" && event.resource == "pods" && event.response_code < 300
}

/// `ready/total` as a written status says it.
pub fn summary(event: &AuditEvent) -> Option<&str> {
    let status = event.request_object.as_ref()?.get("status")?;
    status.pointer("/nodes/summary")?.as_str()
}
