//! The cluster of a campaign: the control plane, the operator's replicas, each behind a proxy of its own, and
//! the log of the round.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use wn_api::names;

use super::fault::Fault;
use super::link::Link;
use super::proxy::{Proxy, Refused, Write};
use crate::control_plane::{CalicoApi, CalicoEtcd, ClusterOptions};
use crate::etcd_fixture::{Fixture, SECRET};
use crate::flannel;
use crate::operator::{NAME, Operator, RunningOperator};
use crate::simulator::Simulator;
use crate::test_cluster::{LIMIT, TestCluster};

pub const REPLICAS: usize = 2;
/// flannel's configuration before the operator first wrote: its VNI is one that Windows cannot have.
pub const FLANNEL: &str = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}"#;
/// A status may follow the change that it reports by a second.
const QUIET: Duration = Duration::from_millis(1500);

/// Field order is drop order.
pub struct Environment {
    replicas: Vec<Replica>,
    pub test: TestCluster,
    /// Calico's, where it has one.
    pub etcd: Option<Etcd>,
    /// What Calico had before the operator first wrote.
    pub before: Value,
    seed: u64,
    began: Instant,
    log: Vec<String>,
    /// Version of the Lease in the last snapshot.
    saved_lease: Option<String>,
    /// Resident memory after the first round.
    first_rss: Option<u64>,
}

/// Where Calico keeps its configuration.
#[derive(Clone, Copy, Debug)]
pub enum Datastore {
    Api(CalicoApi),
    Etcd,
}

/// Calico's etcd, and the proxy before it.
pub struct Etcd {
    pub server: CalicoEtcd,
    link: Link,
}

impl Etcd {
    /// `spec.calico.datastore` that leads through the proxy.
    pub fn datastore(&self) -> Value {
        json!({"type": "Etcd", "etcd": {"endpoints": [self.link.url()], "secretRef": {"name": SECRET}}})
    }
}

/// Every spec of Calico's, by object; of an etcd every value, by key.
async fn calico(test: &TestCluster, etcd: Option<&Etcd>) -> Result<Value> {
    let Some(etcd) = etcd else {
        return test.calico_specs().await;
    };
    let all = etcd.server.all().await?.into_iter();
    Ok(all
        .map(|e| (e.key, json!(e.value)))
        .collect::<serde_json::Map<_, _>>()
        .into())
}

struct Replica {
    name: String,
    operator: Option<RunningOperator>,
    proxy: Proxy,
    kubeconfig: PathBuf,
    stopped: bool,
}

impl Environment {
    pub async fn start(datastore: Datastore) -> Result<Self> {
        let (test, etcd) = match datastore {
            Datastore::Etcd => {
                let fixture = Fixture::without_operator().await?;
                fixture.own_secret().await?;
                let address = fixture.etcd.url().replace("https://", "");
                let link = Link::start(&address).await?;
                (
                    fixture.test,
                    Some(Etcd {
                        server: fixture.etcd,
                        link,
                    }),
                )
            }
            Datastore::Api(calico_api) => {
                let options = ClusterOptions {
                    calico_api,
                    windows_nodes: 2,
                    ..ClusterOptions::default()
                };
                (TestCluster::without_operator(options).await?, None)
            }
        };
        flannel::assign_pod_cidrs(&test).await?;
        flannel::install(&test, FLANNEL).await?;
        let before = calico(&test, etcd.as_ref()).await?;
        let mut replicas = Vec::new();
        for number in 0..REPLICAS {
            let proxy = Proxy::start(&test.cluster.token_kubeconfig(NAME, NAME).await?).await?;
            let name = format!("replica-{number}");
            let kubeconfig = test.state_dir().join(format!("{name}.kubeconfig"));
            proxy.kubeconfig(&kubeconfig)?;
            replicas.push(Replica {
                name,
                operator: None,
                proxy,
                kubeconfig,
                stopped: false,
            });
        }
        let mut environment = Self {
            replicas,
            test,
            etcd,
            before,
            seed: 0,
            began: Instant::now(),
            log: Vec::new(),
            saved_lease: None,
            first_rss: None,
        };
        environment.heal().await?;
        Ok(environment)
    }

    /// Begins a round: faults of this seed from now on.
    pub fn begin(&mut self, seed: u64) {
        self.seed = seed;
        self.began = Instant::now();
        self.log.clear();
        for (number, replica) in (0..).zip(&self.replicas) {
            replica.proxy.take_writes();
            replica.proxy.faults().begin(seed.wrapping_add(number << 32));
        }
        if let Some(etcd) = &self.etcd {
            etcd.link.faults().begin(seed ^ 1);
        }
    }

    pub const fn seed(&self) -> u64 {
        self.seed
    }

    pub fn note(&mut self, line: impl Into<String>) {
        let line = line.into();
        self.log
            .push(format!("{:6.2} s  {line}", self.began.elapsed().as_secs_f64()));
    }

    pub fn log(&self) -> &[String] {
        &self.log
    }

    /// The last lines of every replica's log.
    pub fn operator_log(&self) -> String {
        let running = self
            .replicas
            .iter()
            .filter_map(|r| Some((&r.name, r.operator.as_ref()?)));
        let last = running.map(|(name, operator)| {
            let log = operator.log();
            let lines: Vec<_> = log.lines().collect();
            format!("{name}:\n{}", lines[lines.len().saturating_sub(120)..].join("\n"))
        });
        last.collect::<Vec<_>>().join("\n")
    }

    pub fn refuse(&self, refused: Refused) {
        for replica in &self.replicas {
            replica.proxy.faults().end();
            replica.proxy.refuse(Some(refused));
        }
    }

    /// Faults injected since the last call.
    pub fn injected(&self) -> BTreeMap<Fault, usize> {
        let mut all = BTreeMap::new();
        let requests = self.replicas.iter().map(|r| r.proxy.faults().take());
        let connections = self.etcd.iter().map(|e| e.link.faults().take());
        for (fault, count) in requests.chain(connections).flatten() {
            *all.entry(fault).or_default() += count;
        }
        all
    }

    /// SIGKILL; the replica is started again at once, as the kubelet would.
    pub async fn kill(&mut self, replica: usize) -> Result<()> {
        self.replicas[replica].end();
        self.replicas[replica].start(&self.test).await
    }

    /// SIGSTOP for a while.
    pub async fn pause(&mut self, replica: usize, time: Duration) -> Result<()> {
        self.replicas[replica].signal("STOP")?;
        tokio::time::sleep(time).await;
        self.replicas[replica].signal("CONT")
    }

    /// SIGTERM to one replica after the other, as a rolling update does.
    pub async fn roll(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            replica.terminate().await?;
            replica.start(&self.test).await?;
        }
        Ok(())
    }

    /// Takes a snapshot of the cluster's etcd.
    pub async fn save(&mut self) -> Result<()> {
        self.test.cluster.save()?;
        self.saved_lease = self.lease().await?;
        Ok(())
    }

    /// Puts the cluster back to its last snapshot. The Lease must have been renewed since: by that the replicas notice (ADR 4), and no
    /// cluster is restored within the three seconds between two renewals.
    pub async fn restore(&mut self) -> Result<()> {
        let renewed = async || Ok((self.lease().await? != self.saved_lease).then_some(()));
        self.test
            .until("the Lease is renewed after the snapshot", renewed)
            .await?;
        self.test.cluster.restore().await?;
        // Its watches know resource versions that do not exist any more.
        self.test.simulator = Simulator::start(self.test.client.clone());
        Ok(())
    }

    /// The stored version of the operator's Lease.
    async fn lease(&self) -> Result<Option<String>> {
        let leases: Api<Lease> = Api::namespaced(self.test.client.clone(), NAME);
        Ok(leases
            .get_opt(names::LEASE)
            .await?
            .and_then(|lease| lease.resource_version()))
    }

    /// What Calico has now, as in `before`.
    pub async fn calico(&self) -> Result<Value> {
        calico(&self.test, self.etcd.as_ref()).await
    }

    /// Waits until the operator has done what the config asks for. Without Calico's objects in the API the simulator starts no agent.
    pub async fn done(&self) -> Result<()> {
        match self.etcd {
            Some(_) => {
                let configured = self.test.condition("CalicoConfigured", "True", "AsExpected");
                configured.await.map(drop)
            }
            None => self.test.ready().await,
        }
    }

    /// Ends every fault and starts what does not run.
    pub async fn heal(&mut self) -> Result<()> {
        if let Some(etcd) = &self.etcd {
            etcd.link.heal();
        }
        for replica in &mut self.replicas {
            replica.proxy.heal();
            if replica.stopped {
                replica.signal("CONT")?;
            }
            replica.start(&self.test).await?;
        }
        Ok(())
    }

    /// Fails when a replica ended by itself or panicked.
    pub fn require_running(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            if let Some(operator) = &mut replica.operator {
                operator.require_running()?;
                ensure!(!operator.log().contains("panicked at"), "the operator panicked");
            }
        }
        Ok(())
    }

    /// Waits until every replica serves.
    pub async fn serving(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            let operator = replica.operator.as_mut().context("a replica does not run")?;
            operator.wait_ready(LIMIT).await?;
        }
        Ok(())
    }

    /// The writes of each replica since the last call, Leases and Events apart.
    pub fn take_writes(&self) -> Vec<Vec<Write>> {
        let apart = |w: &Write| !w.path.contains("/leases") && !w.path.contains("/events");
        self.replicas
            .iter()
            .map(|r| r.proxy.take_writes().into_iter().filter(apart).collect())
            .collect()
    }

    /// Waits until nothing is written for a while; returns every write until then, by replica.
    pub async fn quiet(&self) -> Result<Vec<Vec<Write>>> {
        let began = Instant::now();
        let mut all = vec![Vec::new(); self.replicas.len()];
        loop {
            tokio::time::sleep(QUIET).await;
            let more = self.take_writes();
            if more.iter().all(Vec::is_empty) {
                return Ok(all);
            }
            for (all, more) in all.iter_mut().zip(more) {
                all.extend(more);
            }
            ensure!(
                began.elapsed() < LIMIT,
                "the operator does not come to rest: {all:?}"
            );
        }
    }

    /// Keeps the first measurement of resident memory, in KiB.
    pub fn measure(&mut self) -> Result<()> {
        let now = self.rss()?;
        self.first_rss.get_or_insert(now);
        Ok(())
    }

    /// Resident memory in KiB after the first round and now.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let now = self.rss()?;
        Ok((self.first_rss.unwrap_or(now), now))
    }

    fn rss(&self) -> Result<u64> {
        let operators = self.replicas.iter().filter_map(|r| r.operator.as_ref());
        let all = operators
            .map(RunningOperator::rss_kib)
            .collect::<Result<Vec<_>>>()?;
        all.into_iter().max().context("no replica runs")
    }
}

impl Replica {
    async fn start(&mut self, test: &TestCluster) -> Result<()> {
        if self.operator.is_none() {
            let operator = Operator::run_replica(&test.cluster, &self.kubeconfig, &self.name);
            self.operator = Some(operator.await?);
        }
        Ok(())
    }

    fn end(&mut self) {
        self.stopped = false;
        if let Some(operator) = self.operator.take() {
            operator.kill();
        }
    }

    async fn terminate(&mut self) -> Result<()> {
        if let Some(operator) = self.operator.take() {
            // Blocks until it is gone, and a proxy on this runtime may have to answer it first.
            tokio::task::spawn_blocking(|| operator.terminate()).await??;
        }
        Ok(())
    }

    fn signal(&mut self, signal: &str) -> Result<()> {
        self.stopped = signal == "STOP";
        self.operator
            .as_mut()
            .context("a replica does not run")?
            .signal(signal)
    }
}
