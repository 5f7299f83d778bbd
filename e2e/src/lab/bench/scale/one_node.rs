//! One node breaks, and works again.

use std::time::Duration;

use anyhow::Result;
use tokio::time::timeout;

use super::super::table::Figures;
use super::super::{milliseconds, quantile};
use super::field::{Field, is_node_condition, is_pod_change, is_status, summary};
use super::population;
use crate::control_plane::AuditEvent;

const ROUNDS: usize = 30;
const LIMIT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(300);

/// In milliseconds after the pod's change, or of the API server's own time for our write.
#[derive(Default)]
struct Latencies {
    condition: Vec<f64>,
    server: Vec<f64>,
    status: Vec<f64>,
}

pub async fn one_node(field: &mut Field, figures: &mut Figures) -> Result<()> {
    let (mut breaks, mut repairs) = (Latencies::default(), Latencies::default());
    for round in 0..ROUNDS {
        let node = population::name(round * field.nodes / ROUNDS);
        for (ready, latencies) in [(false, &mut breaks), (true, &mut repairs)] {
            change(field, &node, ready, latencies).await?;
            tokio::time::sleep(PAUSE).await;
        }
    }
    let text = |values: &[f64], share: f64| match values {
        [] => "not written".to_owned(),
        _ => format!("{:.0} ms", quantile(values, share)),
    };
    figures.value(
        "one node breaks → its condition, median",
        "≤ 100 ms",
        text(&breaks.condition, 0.5),
    );
    figures.value("  95th percentile", "-", text(&breaks.condition, 0.95));
    figures.value(
        "  of it the API server on our write, median",
        "-",
        text(&breaks.server, 0.5),
    );
    figures.value("  → the config's status, median", "-", text(&breaks.status, 0.5));
    figures.value(
        "it works again → its condition, median",
        "-",
        text(&repairs.condition, 0.5),
    );
    figures.value("  95th percentile", "-", text(&repairs.condition, 0.95));
    Ok(())
}

async fn change(field: &mut Field, node: &str, ready: bool, latencies: &mut Latencies) -> Result<()> {
    let pod = field.agent(node)?;
    let total = field.nodes;
    let right = format!("{}/{total}", if ready { total } else { total - 1 });
    field.mark()?;
    field.set_ready(&pod, ready).await?;
    let changed = |e: &&AuditEvent| is_pod_change(e) && e.name == pod;
    let limit = LIMIT;
    let cause = field
        .until("the pod's change in the audit log", limit, |all| {
            all.iter().find(changed).cloned()
        })
        .await?;
    let is_reported = |e: &&AuditEvent| is_status(e) && summary(e) == Some(right.as_str());
    let status = field
        .until("the status", limit, |all| all.iter().find(is_reported).cloned())
        .await?;
    latencies
        .status
        .push(milliseconds(cause.stage_timestamp, status.stage_timestamp));
    let marked = |e: &&AuditEvent| is_node_condition(e) && e.name == node;
    let wait = field.until("the condition", limit, |all| all.iter().find(marked).cloned());
    if let Ok(Ok(condition)) = timeout(Duration::from_secs(2), wait).await {
        latencies
            .condition
            .push(milliseconds(cause.stage_timestamp, condition.stage_timestamp));
        latencies.server.push(milliseconds(
            condition.request_received,
            condition.stage_timestamp,
        ));
    }
    Ok(())
}
