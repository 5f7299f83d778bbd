//! Two replicas: one writes, the other one takes over, and never both.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wn_e2e::calico_fields::IPAM;
use wn_e2e::campaign::{Proxy, Write};
use wn_e2e::control_plane::CalicoApi;
use wn_e2e::operator::{NAME, Operator, RunningOperator};
use wn_e2e::test_cluster::{LIMIT, TestCluster, minimal};

use super::set;

/// From `kill -9` of the leader to the first repair by another one.
const TAKEOVER: Duration = Duration::from_secs(15);
/// From SIGTERM to another leader. It takes a fraction of a second; the rest is for a machine that is busy with other tests.
const HANDOVER: Duration = Duration::from_secs(4);
/// Longer than a lease.
const STOPPED: Duration = Duration::from_secs(20);

struct Replica {
    name: String,
    operator: Option<RunningOperator>,
    proxy: Proxy,
    kubeconfig: PathBuf,
}

impl Replica {
    async fn start(&mut self, test: &TestCluster) -> Result<()> {
        let mut operator = Operator::run_replica(&test.cluster, &self.kubeconfig, &self.name).await?;
        operator.wait_ready(LIMIT).await?;
        self.operator = Some(operator);
        Ok(())
    }

    fn running(&mut self) -> Result<&mut RunningOperator> {
        self.operator.as_mut().context("it does not run")
    }

    /// What it wrote since the last call, its lease apart.
    fn writes(&self) -> Vec<Write> {
        let mut writes = self.proxy.take_writes();
        writes.retain(|w| !w.path.contains("/leases"));
        writes
    }

    /// Reads that it made, as it counts them.
    async fn reads(&self) -> Result<String> {
        let metrics = self
            .operator
            .as_ref()
            .context("it does not run")?
            .get("/metrics")
            .await?;
        let mut lines: Vec<_> = metrics
            .lines()
            .filter(|l| l.contains("api_requests_total"))
            .collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    }
}

/// The one that leads, first.
async fn pair(test: &TestCluster) -> Result<[Replica; 2]> {
    let mut pair = Vec::new();
    for number in 0..2 {
        let proxy = Proxy::start(&test.cluster.token_kubeconfig(NAME, NAME).await?).await?;
        let name = format!("replica-{number}");
        let kubeconfig = test.state_dir().join(format!("{name}.kubeconfig"));
        proxy.kubeconfig(&kubeconfig)?;
        let mut replica = Replica {
            name,
            operator: None,
            proxy,
            kubeconfig,
        };
        replica.start(test).await?;
        leads(test, "replica-0").await?;
        pair.push(replica);
    }
    pair.try_into().ok().context("two replicas")
}

async fn leads(test: &TestCluster, name: &str) -> Result<()> {
    let what = format!("{name} holds the lease");
    test.until(&what, async || {
        let holder = format!("get leases -n {NAME} -o jsonpath={{.items[*].spec.holderIdentity}}");
        let args: Vec<_> = holder.split(' ').collect();
        Ok((test.cluster.kubectl(&args).await? == name).then_some(()))
    })
    .await
}

/// Somebody changes what the operator set, and it is repaired.
async fn repair(test: &TestCluster) -> Result<()> {
    test.edit(IPAM, "default", json!({"strictAffinity": false}), "kubectl-edit")
        .await?;
    test.field(IPAM, "default", "strictAffinity", json!(true)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_writes_and_another_one_takes_over() -> Result<()> {
    let test = set(CalicoApi::V1).await?;
    let [mut a, mut b] = pair(&test).await?;
    test.apply(minimal("CalicoVXLAN")).await?;
    test.ready().await?;
    test.quiet().await?;
    let before = b.reads().await?;
    repair(&test).await?;
    ensure!(b.writes().is_empty(), "a replica that stands by wrote");

    // At rest, one that stands by asks nothing: it sees renewals by a watch.
    test.quiet().await?;
    tokio::time::sleep(Duration::from_secs(4)).await;
    ensure!(before == b.reads().await?, "{before}\n{}", b.reads().await?);

    a.operator.take().context("it does not run")?.kill();
    let began = Instant::now();
    repair(&test).await?;
    let took = began.elapsed();
    ensure!(took <= TAKEOVER, "the first repair after kill -9 took {took:?}");
    ensure!(!b.writes().is_empty() && leads(&test, "replica-1").await.is_ok());
    a.start(&test).await?;

    let leaving = b.operator.take().context("it does not run")?;
    let began = Instant::now();
    // Its requests go through a proxy on this runtime.
    let ended = tokio::task::spawn_blocking(|| leaving.terminate()).await??;
    leads(&test, "replica-0").await?;
    let took = began.elapsed();
    ensure!(
        ended.success() && took <= HANDOVER,
        "SIGTERM took {took:?}: {ended}"
    );
    b.start(&test).await?;

    stopped_and_continued(&test, &mut a, &mut b).await?;
    test.delete_and_wait().await
}

/// A leader that is stopped goes on as if no time had passed, and must find out before it writes.
async fn stopped_and_continued(test: &TestCluster, a: &mut Replica, b: &mut Replica) -> Result<()> {
    repair(test).await?;
    test.quiet().await?;
    a.running()?.signal("STOP")?;
    drop((a.writes(), b.writes()));
    // What it sees first when it goes on is something to repair.
    let edited = test.edit(IPAM, "default", json!({"strictAffinity": false}), "kubectl-edit");
    edited.await?;
    tokio::time::sleep(STOPPED).await;
    test.field(IPAM, "default", "strictAffinity", json!(true)).await?;
    ensure!(!b.writes().is_empty(), "the other one repaired it");
    a.running()?.signal("CONT")?;
    repair(test).await?;
    test.quiet().await?;
    let written = a.writes();
    ensure!(written.is_empty(), "a leader that was stopped wrote: {written:?}");
    a.running()?.require_running()
}
