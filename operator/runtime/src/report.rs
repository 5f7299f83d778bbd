//! Step 5: status and Events.

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_api::names;
use wn_api::reasons::{Reason, conditions, events};
use wn_api::status::WindowsNodeConfigStatus;
use wn_plan::applied::Applied;
use wn_plan::decide::Plan;
use wn_plan::status::{self, describe};
use wn_plan::validate::Violation;

use crate::context::{Context, Next};
use crate::error::Error;
use crate::status_writer::{self, write};

pub async fn report(
    context: &Context,
    config: &WindowsNodeConfig,
    plan: &Plan,
    applied: &Applied,
    now: Timestamp,
) -> Result<Next, Error> {
    let status = context
        .world
        .read(|observed| status::build(config, observed, plan, applied, now));
    let ready = ready(&status);
    write(context, config, &status).await?;
    announce(context, config, plan, applied).await;
    if let Some((was, is)) = config
        .status
        .as_ref()
        .and_then(self::ready)
        .zip(ready)
        .filter(|(was, is)| was.0 != is.0)
    {
        let (_, reason, message) = is;
        tracing::debug!(was = was.0, "readiness changed");
        if is.0 == "True" {
            context
                .events
                .normal(config, events::READY, message.to_owned())
                .await;
        } else {
            context
                .events
                .warning(config, events::NOT_READY, format!("{reason}: {message}"))
                .await;
        }
    }
    if applied.failure.is_some() {
        return Ok(Next::Retry);
    }
    Ok(plan.calico.revisit.map_or(Next::Wait, Next::At))
}

fn ready(status: &WindowsNodeConfigStatus) -> Option<(&str, &str, &str)> {
    let ready = status.conditions.iter().find(|c| c.type_ == conditions::READY)?;
    Some((&ready.status, &ready.reason, &ready.message))
}

async fn announce(context: &Context, config: &WindowsNodeConfig, plan: &Plan, applied: &Applied) {
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
        for (reason, note) in [
            (events::DRIFT_REPAIRED, repaired),
            (events::CALICO_PATCHED, patched),
        ] {
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
    let status = status::refused(config, violations, now);
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

/// An object that does not fit our types: only its conditions can be written.
pub async fn unreadable(
    context: &Context,
    generation: i64,
    message: &str,
    now: Timestamp,
) -> Result<Next, Error> {
    tracing::warn!(message, "WindowsNodeConfig default cannot be read");
    let mut config = WindowsNodeConfig::new(names::SINGLETON, placeholder());
    config.metadata.generation = Some(generation);
    let violation = Violation {
        path: "spec".to_owned(),
        message: message.to_owned(),
    };
    let status = status::refused(&config, &[violation], now);
    status_writer::patch(context, &status).await?;
    Ok(Next::Wait)
}

fn placeholder() -> wn_api::WindowsNodeConfigSpec {
    wn_api::WindowsNodeConfigSpec::minimal(wn_api::spec::NetworkType::CalicoVxlan)
}
