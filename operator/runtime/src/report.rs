//! Step 5: status and Events.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_api::status::WindowsNodeConfigStatus;
use wn_plan::applied::Applied;
use wn_plan::decide::Plan;
use wn_plan::news;
use wn_plan::node::Entry;
use wn_plan::observed::Config;
use wn_plan::status::{self, Settled, assemble};

use crate::context::{Context, Next};
use crate::error::Error;
use crate::status_writer::write;

/// The status is written at once if the last write is longer ago than this, else when this time is over: a storm of changes costs one
/// write a second, and the last state is never lost.
const PACE: Duration = Duration::from_secs(1);

/// Writes the status if it differs. Says when it is to be called again, because it is too early now.
pub async fn report(context: &Context, now: Timestamp) -> Result<Option<Instant>, Error> {
    let Some(Config::Readable(config)) = context.world.read(|o| o.config.clone()) else {
        return Ok(None);
    };
    // What the user asked for is answered at once.
    let observed_generation = config.status.as_ref().and_then(|s| s.observed_generation);
    let answered = context.remember(|m| {
        m.outcome
            .as_ref()
            .is_none_or(|o| o.generation == observed_generation)
    });
    let moment = Instant::now();
    let early = context.remember(|m| {
        m.reported
            .map(|at| at + PACE)
            .filter(|at| answered && *at > moment)
    });
    if early.is_some() {
        return Ok(early);
    }
    let Some(status) = build(context, &config, now) else {
        return Ok(None);
    };
    if write(context, &config, &status).await? {
        context.remember(|m| m.reported = Some(moment));
    }
    publish_status_events(context, &config, &status).await;
    Ok(None)
}

fn build(context: &Context, config: &WindowsNodeConfig, now: Timestamp) -> Option<WindowsNodeConfigStatus> {
    let lint = context.findings.latest();
    context.remember(|memory| {
        let outcome = memory.outcome.as_ref().filter(|o| o.uid == config.metadata.uid)?;
        let nodes = status::Nodes {
            table: &memory.table,
            cluster: &outcome.cluster,
        };
        let found = |e: &Entry| {
            (
                e.state,
                e.reason
                    .into_iter()
                    .chain(e.others.iter().copied())
                    .collect::<Vec<_>>(),
            )
        };
        context
            .metrics
            .nodes(memory.table.iter().map(|(_, entry)| found(entry)));
        let (plan, applied) = (&outcome.plan, &outcome.applied);
        context
            .metrics
            .advisories(plan.advisories.iter().map(|a| (a.code, a.severity)));
        Some(context.world.read(|observed| {
            let settled = Settled {
                generation: outcome.generation,
                observed,
                plan,
                applied,
                nodes,
                lint: &lint,
            };
            assemble(config, status::Outcome::Settled(settled), now)
        }))
    })
}

/// Publishes the Events that go with a status.
async fn publish_status_events(
    context: &Context,
    config: &WindowsNodeConfig,
    status: &WindowsNodeConfigStatus,
) {
    let nodes = context.remember(|m| m.news.take());
    for news in nodes
        .into_iter()
        .chain(news::of_status(config.status.as_ref(), status))
    {
        context.events.publish(config, news).await;
    }
}

/// Publishes the Events that go with what was written to the cluster.
pub async fn announce(context: &Context, config: &WindowsNodeConfig, plan: &Plan, applied: &Applied) {
    for news in news::of_writes(plan, applied) {
        context.events.publish(config, news).await;
    }
    let findings = news::of_findings(plan);
    // An object that was created again, and a finding that reappears, are news.
    let announced = (!findings.is_empty()).then(|| (config.metadata.uid.clone(), findings.clone()));
    if plan.write && context.remember(|m| std::mem::replace(&mut m.announced, announced.clone())) != announced
    {
        for news in findings {
            context.events.publish(config, news).await;
        }
    }
}

/// Reports a pass that ended before there was a plan to apply. An Event goes with a status that changed.
pub async fn ended(
    context: &Context,
    config: &WindowsNodeConfig,
    outcome: status::Outcome<'_>,
    now: Timestamp,
) -> Result<Next, Error> {
    let status = assemble(config, outcome, now);
    if write(context, config, &status).await?
        && let Some(news) = news::of_outcome(outcome)
    {
        context.events.publish(config, news).await;
    }
    Ok(Next::Wait)
}
