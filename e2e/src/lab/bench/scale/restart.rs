//! The operator started on a cluster full of nodes, with one thing changed while it was away.

use std::time::Duration;

use anyhow::Result;

use super::super::table::Figures;
use super::super::{milliseconds, quantile};
use super::field::{Field, is_request, is_status, summary};
use super::{population, process};
use crate::control_plane::AuditEvent;
use crate::operator::USER;

/// An odd one, so that the last leaves the node as broken as the first.
const ROUNDS: usize = 3;
const LIMIT: Duration = Duration::from_mins(2);
/// For the DaemonSet's own count to follow.
const PAUSE: Duration = Duration::from_secs(3);

struct Round {
    status: f64,
    early: usize,
    cpu: f64,
    lists: usize,
    listing: f64,
}

pub async fn restarts(field: &mut Field, figures: &mut Figures) -> Result<()> {
    let agent = field.agent(&population::name(0))?;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let works = round % 2 == 1;
        field.kill();
        field.set_ready(&agent, works).await?;
        tokio::time::sleep(PAUSE).await;
        rounds.push(start(field, works).await?);
        field.rest(LIMIT).await?;
    }
    field.mark()?;
    field.set_ready(&agent, true).await?;
    field.rest(LIMIT).await?;

    let of = |what: fn(&Round) -> f64| rounds.iter().map(what).collect::<Vec<_>>();
    let times = of(|r| r.status);
    let longest = quantile(&times, 1.0) / 1000.0;
    let text = format!("{:.2} s (longest {longest:.2})", quantile(&times, 0.5) / 1000.0);
    figures.value("process start → right status", "≤ 3 s at 5000", text);
    let early: usize = rounds.iter().map(|r| r.early).sum();
    figures.value("  statuses written before it", "0", early.to_string());
    let cpu = quantile(&of(|r| r.cpu), 0.5);
    figures.value("  operator's processor time until it", "-", format!("{cpu:.2} s"));
    let listing = quantile(&of(|r| r.listing), 0.5) / 1000.0;
    let lists = rounds.iter().map(|r| r.lists).max().unwrap_or_default();
    figures.value(
        "  lists in it, API server's time for all",
        "-",
        format!("{lists}, {listing:.2} s"),
    );
    Ok(())
}

async fn start(field: &mut Field, works: bool) -> Result<Round> {
    let total = field.nodes;
    let right = format!("{}/{total}", if works { total } else { total - 1 });
    field.mark()?;
    let began = field.start()?;
    let is_right = |e: &&AuditEvent| is_status(e) && summary(e) == Some(right.as_str());
    let what = format!("a status that says {right}");
    let found = field
        .until(&what, LIMIT, |events| events.iter().find(is_right).cloned())
        .await?;
    let cpu = process::cpu(field.pid()?)?;
    let before: Vec<_> = field
        .events()?
        .iter()
        .filter(|e| e.stage_timestamp < found.stage_timestamp)
        .collect();
    let lists: Vec<_> = before
        .iter()
        .filter(|e| e.user == USER && e.verb == "list")
        .collect();
    Ok(Round {
        status: milliseconds(began, found.stage_timestamp),
        early: before.iter().filter(|e| is_request(e) && is_status(e)).count(),
        cpu,
        lists: lists.len(),
        listing: lists
            .iter()
            .map(|e| milliseconds(e.request_received, e.stage_timestamp))
            .sum(),
    })
}
