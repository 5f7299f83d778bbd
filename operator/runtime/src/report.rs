//! Step 5: status and Events.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::reasons::{Reason, conditions, events};
use wn_api::status::WindowsNodeConfigStatus;
use wn_plan::advice;
use wn_plan::applied::Applied;
use wn_plan::decide::Plan;
use wn_plan::finding::Finding;
use wn_plan::node::Entry;
use wn_plan::observed::{Config, Unreadable};
use wn_plan::status::{self, Settled, assemble, describe};
use wn_plan::validate::Violation;

use crate::context::{Context, Next};
use crate::error::Error;
use crate::status_writer::write;

/// Status is written at once when it was not of late, else when this time is over: a storm of changes costs one
/// write a second, and the last state is never lost.
const PACE: Duration = Duration::from_secs(1);

/// Writes the status if it differs. Says when it is to be called again, because it is too early now.
pub async fn report(context: &Context, now: Timestamp) -> Result<Option<Instant>, Error> {
    let Some(Config::Readable(config)) = context.world.read(|o| o.config.clone()) else {
        return Ok(None);
    };
    // What the user asked for is answered at once.
    let said = config.status.as_ref().and_then(|s| s.observed_generation);
    let answered = context.remember(|m| m.outcome.as_ref().is_none_or(|o| o.generation == said));
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
    tell(context, &config, &status).await;
    Ok(None)
}

fn build(context: &Context, config: &WindowsNodeConfig, now: Timestamp) -> Option<WindowsNodeConfigStatus> {
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
            };
            assemble(config, status::Outcome::Settled(settled), now)
        }))
    })
}

/// Events that go with a status.
async fn tell(context: &Context, config: &WindowsNodeConfig, status: &WindowsNodeConfigStatus) {
    if let Some((told, bad)) = context.remember(|m| m.news.take()) {
        if bad {
            context.events.warning(config, events::NODES_CHANGED, told).await;
        } else {
            context.events.normal(config, events::NODES_CHANGED, told).await;
        }
    }
    if let Some((found, grave)) = advisories(config, status) {
        if grave {
            context
                .events
                .warning(config, events::ADVISORIES_FOUND, found)
                .await;
        } else {
            context
                .events
                .normal(config, events::ADVISORIES_FOUND, found)
                .await;
        }
    }
    let was = config.status.as_ref().and_then(ready);
    let Some((was, is)) = was.zip(ready(status)).filter(|(was, is)| was.0 != is.0) else {
        return;
    };
    let (_, reason, message) = is;
    tracing::debug!(was = was.0, "readiness changed");
    if is.0 == "True" {
        context
            .events
            .normal(config, events::READY, message.to_owned())
            .await;
    } else {
        let note = format!("{reason}: {message}");
        context.events.warning(config, events::NOT_READY, note).await;
    }
}

/// Limits the stored status does not speak of: a restart finds there what was told before.
fn advisories(config: &WindowsNodeConfig, status: &WindowsNodeConfigStatus) -> Option<(String, bool)> {
    let stored = config.status.as_ref().and_then(|s| s.advisories.as_ref());
    advice::news(stored, status.advisories.as_ref()?)
}

fn ready(status: &WindowsNodeConfigStatus) -> Option<(&str, &str, &str)> {
    let ready = status.conditions.iter().find(|c| c.type_ == conditions::READY)?;
    Some((&ready.status, &ready.reason, &ready.message))
}

/// Events that go with what was written to the cluster.
pub async fn announce(context: &Context, config: &WindowsNodeConfig, plan: &Plan, applied: &Applied) {
    for write in &applied.calico {
        let (drifted, first): (Vec<_>, Vec<_>) = write.changes.iter().partition(|c| c.drifted_by.is_some());
        let repaired = drifted.iter().map(|c| {
            format!(
                "{}: it was changed by {}",
                describe(c),
                c.drifted_by.as_deref().unwrap_or_default()
            )
        });
        let repaired = repaired.collect::<Vec<_>>().join("; ");
        let patched = first.into_iter().map(describe).collect::<Vec<_>>().join("; ");
        let first = match write.kind {
            ConfigKind::FlannelConfiguration => events::NETWORK_PATCHED,
            _ => events::CALICO_PATCHED,
        };
        for (reason, note) in [(events::DRIFT_REPAIRED, repaired), (first, patched)] {
            if !note.is_empty() {
                context.events.normal(config, reason, note).await;
            }
        }
    }
    for object in plan
        .objects
        .iter()
        .filter(|o| o.drift && applied.objects.contains(&o.object))
    {
        let note = format!(
            "{:?} {}/{} was changed or deleted, and is put right",
            object.object.kind, object.object.namespace, object.object.name
        );
        context.events.normal(config, events::DRIFT_REPAIRED, note).await;
    }
    let findings: Vec<_> = plan
        .calico
        .findings
        .iter()
        .chain(&plan.network)
        .filter_map(|f| Some((finding_event(f.reason)?, &f.message)))
        .collect();
    // A config made anew, and a finding that went and came again, are news.
    let digest = (!findings.is_empty()).then(|| format!("{:?} {findings:?}", config.metadata.uid));
    if plan.write && context.remember(|m| std::mem::replace(&mut m.announced, digest.clone())) != digest {
        for (reason, message) in findings {
            context.events.warning(config, reason, message.clone()).await;
        }
    }
}

/// Findings that begin at a moment a person wants to know of.
const fn finding_event(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::FieldConflict => Some(events::FIELD_CONFLICT),
        Reason::Contested => Some(events::CONTESTED),
        _ => None,
    }
}

pub async fn refused(
    context: &Context,
    config: &WindowsNodeConfig,
    violations: &[Violation],
    now: Timestamp,
) -> Result<Next, Error> {
    let status = assemble(config, status::Outcome::Refused { violations }, now);
    if write(context, config, &status).await? {
        let note = violations
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        context.events.warning(config, events::INVALID_SPEC, note).await;
    }
    Ok(Next::Wait)
}

/// What decisions need cannot be read: nothing is written but that.
pub async fn unread(
    context: &Context,
    config: &WindowsNodeConfig,
    finding: &Finding,
    now: Timestamp,
) -> Result<Next, Error> {
    let status = assemble(config, status::Outcome::Unread { finding }, now);
    if write(context, config, &status).await? {
        let note = format!("{}: {}", finding.reason.as_str(), finding.message);
        context.events.warning(config, events::NOT_READY, note).await;
    }
    Ok(Next::Wait)
}

pub async fn unsupported(
    context: &Context,
    config: &WindowsNodeConfig,
    plan: &Plan,
    now: Timestamp,
) -> Result<Next, Error> {
    let platform = &plan.platform;
    let status = assemble(config, status::Outcome::Unsupported { platform }, now);
    if write(context, config, &status).await? {
        let notes: Vec<_> = plan
            .platform
            .findings
            .iter()
            .map(|f| f.message.as_str())
            .collect();
        context
            .events
            .warning(config, events::PLATFORM_UNSUPPORTED, notes.join("; "))
            .await;
    }
    Ok(Next::Wait)
}

/// An object that does not fit our types: what was said of it stands, and what is to be given back is kept.
pub async fn unreadable(context: &Context, found: &Unreadable, now: Timestamp) -> Result<Next, Error> {
    let (config, message) = (&found.config, found.message.as_str());
    let status = assemble(config, status::Outcome::Unreadable { message }, now);
    if write(context, config, &status).await? {
        context
            .events
            .warning(config, events::INVALID_SPEC, message.to_owned())
            .await;
    }
    Ok(Next::Wait)
}
