//! `cargo bench-operator`: how fast the operator repairs, and what it costs, with a few simulated nodes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::json;
use wn_api::calico::ConfigKind;
use wn_api::names;
use wn_release::image::layout::compressed_sizes;
use wn_release::output::mebibytes;

use super::table::{self, Figures};
use super::{milliseconds, quantile};
use crate::control_plane::{AuditEvent, AuditLog, ClusterOptions, paths};
use crate::objects;
use crate::operator::USER;
use crate::test_cluster::{SINGLETON, TestCluster, minimal};

const WINDOWS_NODES: usize = 20;
const ROUNDS: usize = 50;
const FRESH_ROUNDS: usize = 10;
const IDLE: Duration = Duration::from_secs(60);

pub async fn bench(say: &dyn Fn(&str)) -> Result<()> {
    let mut figures = Figures::default();
    let options = ClusterOptions {
        windows_nodes: WINDOWS_NODES,
        ..ClusterOptions::default()
    };
    let mut test = TestCluster::with_operator(options).await?;
    say(&format!(
        "{WINDOWS_NODES} Windows nodes; {ROUNDS} rounds of each repair, {FRESH_ROUNDS} of a fresh config"
    ));
    latency(
        &mut figures,
        "CR applied → both DaemonSets exist",
        "≤ 150 ms median",
        fresh(&test).await?,
    );
    test.ready().await?;
    latency(
        &mut figures,
        "strictAffinity edited → repaired",
        "≤ 50 ms median",
        strict_affinity(&test).await?,
    );
    latency(
        &mut figures,
        "DaemonSet image edited → repaired",
        "≤ 50 ms median",
        image(&test).await?,
    );
    idle(&mut test, &mut figures).await?;
    table::print(&[("MEASURED".to_owned(), figures)], say);
    Ok(())
}

/// Median and 95th percentile of latencies in milliseconds.
fn latency(figures: &mut Figures, what: &'static str, goal: &'static str, rounds: Vec<f64>) {
    let (median, p95) = (quantile(&rounds, 0.5), quantile(&rounds, 0.95));
    let found = format!("median {median:.1} ms, p95 {p95:.1} ms ({} rounds)", rounds.len());
    figures.value(what, goal, found);
}

/// Between the end of a request of somebody's and the end of the operator's answer to it.
fn between(from: &AuditEvent, to: &AuditEvent) -> f64 {
    milliseconds(from.stage_timestamp, to.stage_timestamp)
}

/// First successful write since `since` to a resource and name, by the operator or by anybody else.
fn first<'a>(
    log: &'a AuditLog,
    since: Timestamp,
    ours: bool,
    resource: &str,
    name: &str,
) -> Result<&'a AuditEvent> {
    let mut events = log.events.iter().filter(|e| e.request_received >= since);
    events
        .find(|e| {
            e.is_write()
                && e.subresource.is_empty()
                && (e.user == USER) == ours
                && e.resource == resource
                && e.name == name
                && e.response_code < 300
        })
        .with_context(|| format!("no write to {resource} {name} since {since} in the audit log"))
}

/// For each round, the time from the edit to the operator's answer. Read once, after all rounds: the log
/// is large, and reading it would slow down what is measured.
fn answers(test: &TestCluster, rounds: &[Timestamp], resource: &str, name: &str) -> Result<Vec<f64>> {
    let log = test.cluster.audit_log()?;
    let answer = |since: &Timestamp| {
        let edit = first(&log, *since, false, resource, name)?;
        Ok(between(
            edit,
            first(&log, edit.request_received, true, resource, name)?,
        ))
    };
    rounds.iter().map(answer).collect()
}

async fn fresh(test: &TestCluster) -> Result<Vec<f64>> {
    let names = [names::node_agent::DAEMON_SET, names::kube_proxy::DAEMON_SET];
    let mut rounds = Vec::new();
    for _ in 0..FRESH_ROUNDS {
        rounds.push(Timestamp::now());
        test.apply(minimal("CalicoVXLAN")).await?;
        test.ready().await?;
        test.delete_and_wait().await?;
        test.pods_gone().await?;
    }
    test.apply(minimal("CalicoVXLAN")).await?;
    let log = test.cluster.audit_log()?;
    let took = |since: &Timestamp| {
        let config = first(&log, *since, false, "windowsnodeconfigs", names::SINGLETON)?;
        let made =
            names.map(|name| first(&log, *since, true, "daemonsets", name).map(|made| between(config, made)));
        let [agent, proxy] = made;
        Ok(agent?.max(proxy?))
    };
    rounds.iter().map(took).collect()
}

/// A changed CR starts the count of contests again; this field changes nothing else.
async fn count_contests_anew(test: &TestCluster, round: usize) -> Result<()> {
    let policy = if round.is_multiple_of(2) {
        "Retain"
    } else {
        "Restore"
    };
    test.apply(json!({"network": {"type": "CalicoVXLAN"}, "deletionPolicy": policy}))
        .await?;
    test.ready().await
}

async fn strict_affinity(test: &TestCluster) -> Result<Vec<f64>> {
    const FIELD: &str = "strictAffinity";
    let kind = ConfigKind::IpamConfiguration;
    let (_, plural) = objects::served(test.calico_api, kind);
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        count_contests_anew(test, round).await?;
        rounds.push(Timestamp::now());
        test.edit(kind, SINGLETON, json!({ FIELD: false }), "kubectl-edit")
            .await?;
        test.field(kind, SINGLETON, FIELD, json!(true)).await?;
    }
    answers(test, &rounds, plural, SINGLETON)
}

async fn image(test: &TestCluster) -> Result<Vec<f64>> {
    let name = names::kube_proxy::DAEMON_SET;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        count_contests_anew(test, round).await?;
        rounds.push(Timestamp::now());
        let image = format!("example.com/other:{round}");
        test.set_image(name, names::kube_proxy::CONTAINER, &image).await?;
        test.until("the image is restored", async || {
            Ok((test.image(name).await? != image).then_some(()))
        })
        .await?;
    }
    test.ready().await?;
    answers(test, &rounds, "daemonsets", name)
}

async fn idle(test: &mut TestCluster, figures: &mut Figures) -> Result<()> {
    let since = test.quiet().await?;
    tokio::time::sleep(IDLE).await;
    let until = since + IDLE;
    let log = test.cluster.audit_log()?.since(since);
    let requests: Vec<_> = log
        .by(USER)
        .into_iter()
        .filter(|e| e.request_received < until)
        .collect();
    let watches = requests.iter().filter(|e| e.verb == "watch").count();
    let renewals = requests
        .iter()
        .filter(|e| e.is_election() && e.is_write())
        .count();
    let operator = test.operator.as_ref().context("the operator does not run")?;
    figures.value(
        "RSS, idle",
        "≤ 15 MB",
        format!("{:.1} MB", operator.rss_kib()? as f64 / 1024.0),
    );
    figures.value(
        "API requests in 60 idle s, renewals apart",
        "0",
        (requests.len() - watches - renewals).to_string(),
    );
    figures.value("lease renewals in 60 idle s", "≤ 20", renewals.to_string());
    figures.value("watch renewals in 60 idle s", "-", watches.to_string());
    let program = format!("/proc/{}/exe", operator.pid());
    let size = std::fs::metadata(program)?.len() as f64 / (1024.0 * 1024.0);
    figures.value("binary, stripped", "≤ 15 MB", format!("{size:.1} MB"));
    image_sizes(figures)
}

/// Of what `cargo image` built last, if anything.
fn image_sizes(figures: &mut Figures) -> Result<()> {
    let layout = paths::target().join("image").join("layout");
    if !layout.is_dir() {
        figures.value("image, compressed", "≤ 8 MB", "not built (cargo image)");
        return Ok(());
    }
    for (platform, size) in compressed_sizes(&layout)? {
        let what = format!("image {platform}, compressed");
        figures.value(what, "≤ 8 MB", mebibytes(size));
    }
    Ok(())
}
