//! Every agent's pod ceases to be ready, and is ready again.

use std::time::Duration;

use anyhow::{Context as _, Result};
use jiff::Timestamp;

use super::super::table::Figures;
use super::super::{milliseconds, quantile};
use super::field::{Field, is_event, is_node_condition, is_pod_change, is_request, is_status, summary};
use super::process;
use crate::control_plane::AuditEvent;
use crate::operator::USER;

const LIMIT: Duration = Duration::from_mins(5);
const SECOND: f64 = 1000.0;

/// One way of the storm.
struct Leg {
    took: f64,
    pods: Vec<f64>,
    statuses: usize,
    /// Status writes a second, from the first pod to the last status.
    pace: f64,
    busiest: usize,
    status: f64,
    conditions: usize,
    condition: Option<f64>,
    server: Vec<f64>,
    events: usize,
    others: usize,
    refused: usize,
}

pub async fn storm(field: &mut Field, figures: &mut Figures) -> Result<()> {
    let pid = field.pid()?;
    let [api, etcd, controllers] = field.cluster.pids();
    let pids = [pid, api, etcd, controllers];
    let before = cpu(&pids)?;
    process::forget_peak(pid)?;
    let legs = [leg(field, false).await?, leg(field, true).await?];
    let after = cpu(&pids)?;
    tell(&legs, figures);
    let spent: Vec<_> = after
        .iter()
        .zip(&before)
        .map(|(after, before)| after - before)
        .collect();
    let [ours, others @ ..] = spent.as_slice() else {
        return Ok(());
    };
    figures.value("storm: operator's processor time", "-", format!("{ours:.1} s"));
    let others = others
        .iter()
        .map(|s| format!("{s:.0} s"))
        .collect::<Vec<_>>()
        .join(", ");
    figures.value("  that of API server, etcd, controllers", "-", others);
    figures.value("storm: peak RSS", "-", format!("{:.1} MB", process::peak(pid)?));
    figures.value("RSS after it", "-", format!("{:.1} MB", process::rss(pid)?));
    Ok(())
}

fn cpu(pids: &[u32]) -> Result<Vec<f64>> {
    pids.iter().map(|pid| process::cpu(*pid)).collect()
}

fn tell(legs: &[Leg; 2], figures: &mut Figures) {
    let both = |text: &dyn Fn(&Leg) -> String| legs.iter().map(text).collect::<Vec<_>>().join(" / ");
    let seconds = |ms: f64| format!("{:.1} s", ms / SECOND);
    figures.value(
        "storm: all agents not ready / ready, took",
        "5 s",
        both(&|l| seconds(l.took)),
    );
    let pods = both(&|l| format!("{:.0} ms", quantile(&l.pods, 0.5)));
    figures.value("  API server on such a change, median", "-", pods);
    figures.value("  status writes", "-", both(&|l| l.statuses.to_string()));
    figures.value(
        "  status writes a second",
        "≤ 1",
        both(&|l| format!("{:.2}", l.pace)),
    );
    figures.value(
        "  status writes in the busiest second",
        "-",
        both(&|l| l.busiest.to_string()),
    );
    figures.value("  last pod → final status", "-", both(&|l| seconds(l.status)));
    figures.value(
        "  Node conditions written",
        "-",
        both(&|l| l.conditions.to_string()),
    );
    let condition = both(&|l| l.condition.map_or_else(|| "none".to_owned(), seconds));
    figures.value("  last pod → last Node condition", "-", condition);
    let server = both(&|l| format!("{:.0} ms", quantile(&l.server, 0.5)));
    figures.value("  API server on a Node condition, median", "-", server);
    figures.value("  Events written", "-", both(&|l| l.events.to_string()));
    figures.value(
        "  other requests, watches apart",
        "-",
        both(&|l| l.others.to_string()),
    );
    figures.value("  requests refused", "0", both(&|l| l.refused.to_string()));
}

async fn leg(field: &mut Field, ready: bool) -> Result<Leg> {
    let total = field.nodes;
    let right = format!("{}/{total}", if ready { total } else { 0 });
    let pods = field.agents();
    field.mark()?;
    field.set_all_ready(&pods, ready).await?;
    let is_reported = |e: &AuditEvent| is_status(e) && summary(e) == Some(right.as_str());
    field
        .until(&format!("a status that says {right}"), LIMIT, |all| {
            all.iter().any(is_reported).then_some(())
        })
        .await?;
    field.rest(LIMIT).await?;
    judge(field.events()?, &right)
}

fn judge(events: &[AuditEvent], right: &str) -> Result<Leg> {
    let changes: Vec<_> = events.iter().filter(|e| is_pod_change(e)).collect();
    let first = changes
        .iter()
        .map(|e| e.request_received)
        .min()
        .context("no pod was changed")?;
    let last = changes
        .iter()
        .map(|e| e.stage_timestamp)
        .max()
        .context("no pod was changed")?;
    let after = |at: Timestamp| milliseconds(last, at).max(0.0);
    let statuses: Vec<_> = events.iter().filter(|e| is_status(e)).collect();
    // Later ones may report the DaemonSets' own counts, which follow in their own time.
    let settled = statuses
        .iter()
        .rev()
        .take_while(|e| summary(e).is_none_or(|s| s == right))
        .last();
    let latest = statuses.iter().map(|e| e.stage_timestamp).max().unwrap_or(last);
    let conditions: Vec<_> = events.iter().filter(|e| is_node_condition(e)).collect();
    let written = events.iter().filter(|e| is_event(e)).count();
    let requests = events.iter().filter(|e| is_request(e)).count();
    Ok(Leg {
        took: milliseconds(first, last),
        pods: changes
            .iter()
            .map(|e| milliseconds(e.request_received, e.stage_timestamp))
            .collect(),
        statuses: statuses.len(),
        pace: statuses.len() as f64 * SECOND / milliseconds(first, latest).max(SECOND),
        busiest: busiest(&statuses.iter().map(|e| e.request_received).collect::<Vec<_>>()),
        status: after(settled.context("no status was written")?.stage_timestamp),
        conditions: conditions.len(),
        server: conditions
            .iter()
            .map(|e| milliseconds(e.request_received, e.stage_timestamp))
            .collect(),
        condition: conditions.iter().map(|e| e.stage_timestamp).max().map(after),
        events: written,
        others: requests.saturating_sub(statuses.len() + conditions.len() + written),
        refused: events
            .iter()
            .filter(|e| e.user == USER && e.response_code >= 400)
            .count(),
    })
}

/// The most moments that lie within less than a second. The moments are in order of time.
fn busiest(moments: &[Timestamp]) -> usize {
    let within = |n: usize| {
        moments[n..]
            .iter()
            .take_while(|at| milliseconds(moments[n], **at) < SECOND)
            .count()
    };
    (0..moments.len()).map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_begins_with_a_write() {
        let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
        assert_eq!(busiest(&[]), 0);
        assert_eq!(busiest(&[at(0), at(1000), at(2000)]), 1);
        assert_eq!(busiest(&[at(0), at(900), at(1500), at(1800), at(5000)]), 3);
    }
}
