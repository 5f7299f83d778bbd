//! The operator at rest: memory, processor time, requests.

use std::time::Duration;

use anyhow::Result;
use wn_release::output::mebibytes;

use super::super::table::Figures;
use super::super::{milliseconds, quantile};
use super::field::{Field, is_node_condition, is_request, is_watch};
use super::population::{self, HEARTBEAT};
use super::process;
use crate::control_plane::AuditEvent;
use crate::operator::USER;

/// Nodes of the first measurement of memory.
pub const FEW: usize = 10;
const MINUTE: Duration = Duration::from_mins(1);
const LIMIT: Duration = Duration::from_mins(1);
const SETTLE: Duration = Duration::from_mins(10);

/// Has the operator make its DaemonSets, for the pods that are to come. It ends.
pub async fn furnish(field: &mut Field) -> Result<()> {
    field.mark()?;
    field.start()?;
    let made = |e: &&AuditEvent| e.user == USER && e.is_write() && e.resource == "daemonsets";
    let both = |all: &[AuditEvent]| (all.iter().filter(made).count() >= 2).then_some(());
    field.until("both DaemonSets", LIMIT, both).await?;
    field.rest(SETTLE).await?;
    field.kill();
    Ok(())
}

/// Resident memory in MB with the nodes there are, so few that they weigh nothing: enough to have every
/// connection and buffer that many nodes make. The operator ends.
pub async fn empty(field: &mut Field) -> Result<f64> {
    field.mark()?;
    field.start()?;
    field.rest(SETTLE).await?;
    let rss = process::rss(field.pid()?)?;
    field.kill();
    Ok(rss)
}

/// A first sight of all nodes, then a minute with nothing to do, then one with heartbeats.
pub async fn full(field: &mut Field, empty: f64, figures: &mut Figures) -> Result<()> {
    field.mark()?;
    let began = field.start()?;
    field.rest(SETTLE).await?;
    let conditions: Vec<_> = field.events()?.iter().filter(|e| is_node_condition(e)).collect();
    let last = conditions.iter().map(|e| e.stage_timestamp).max();
    let took = last.map_or(f64::NAN, |last| milliseconds(began, last) / 1000.0);
    let text = format!("{} in {took:.1} s", conditions.len());
    figures.value("first sight: Node conditions written", "-", text);
    let server: Vec<_> = conditions
        .iter()
        .map(|e| milliseconds(e.request_received, e.stage_timestamp))
        .collect();
    let text = format!("{:.0} ms", quantile(&server, 0.5));
    figures.value("  API server on each, median", "-", text);
    let pid = field.pid()?;
    let peak = process::peak(pid)?;

    let idle = minute(field, false).await?;
    let rss = process::rss(pid)?;
    figures.value("RSS with 10 nodes", "-", format!("{empty:.1} MB"));
    figures.value(
        "RSS, settled",
        "≤ 30 MB at 2000, ≤ 45 MB at 5000",
        format!("{rss:.1} MB"),
    );
    let memory = field
        .memory()?
        .map(|memory| [memory.usage, memory.peak].map(mebibytes));
    figures.value(
        "memory of its cgroup, which the chart limits: settled, most",
        "≤ 64 MB",
        memory.map_or_else(|| "no cgroup can be made".to_owned(), |both| both.join(", ")),
    );
    let each = (rss - empty) * 1024.0 / (field.nodes - FEW) as f64;
    figures.value("RSS of each further node", "≤ 4 KB", format!("{each:.1} KB"));
    figures.value("peak RSS from start to there", "-", format!("{peak:.1} MB"));
    figures.value(
        "idle minute: processor time",
        "≤ 0.05 s",
        format!("{:.2} s", idle.cpu),
    );
    figures.value(
        "idle minute: requests, renewals of lease and watches apart",
        "0",
        idle.requests.to_string(),
    );
    figures.value("idle minute: watches renewed", "-", idle.watches.to_string());
    let beats = minute(field, true).await?;
    figures.value(
        "minute with heartbeats: Node updates",
        "-",
        beats.heartbeats.to_string(),
    );
    figures.value(
        "minute with heartbeats: processor time",
        "-",
        format!("{:.2} s", beats.cpu),
    );
    figures.value(
        "minute with heartbeats: requests",
        "0",
        beats.requests.to_string(),
    );
    Ok(())
}

struct Minute {
    cpu: f64,
    requests: usize,
    watches: usize,
    heartbeats: usize,
}

async fn minute(field: &mut Field, heartbeats: bool) -> Result<Minute> {
    field.mark()?;
    let before = field.cpu()?;
    let beats = if heartbeats {
        beat(field).await?
    } else {
        tokio::time::sleep(MINUTE).await;
        0
    };
    let cpu = field.cpu()? - before;
    let events = field.events()?;
    Ok(Minute {
        cpu,
        requests: events.iter().filter(|e| is_request(e)).count(),
        watches: events.iter().filter(|e| is_watch(e)).count(),
        heartbeats: beats,
    })
}

/// A minute of every node's kubelet reporting at its usual pace.
async fn beat(field: &Field) -> Result<usize> {
    let count = (field.nodes as f64 * MINUTE.as_secs_f64() / HEARTBEAT.as_secs_f64()).ceil() as usize;
    let mut pace = tokio::time::interval(MINUTE / u32::try_from(count)?);
    let mut work = tokio::task::JoinSet::new();
    for number in 0..count {
        pace.tick().await;
        work.spawn(population::heartbeat(
            field.client.clone(),
            population::name(number),
        ));
    }
    pace.tick().await;
    while let Some(done) = work.join_next().await {
        done??;
    }
    Ok(count)
}
