//! One pass over the cluster: observe → validate → plan → apply. What came of it is settled, and the report
//! follows in `run`, as it does when only nodes changed.

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_plan::applied::Applied;
use wn_plan::decide::{Plan, decide};
use wn_plan::observed::Config;
use wn_plan::status::Outcome;
use wn_plan::unread;
use wn_plan::validate::{Violation, validate};

use crate::apply;
use crate::context::{Context, Next};
use crate::error::Error;
use crate::observe::{Task, observe};
use crate::{finalize, nodes, report};

/// One pass: observe, validate, plan, apply. Returns when to run again.
pub async fn reconcile(context: &Context) -> Result<Next, Error> {
    let Some(Task { config, now }) = observe(context).await else {
        nodes::forget(context);
        context.metrics.conditions(&[]);
        return Ok(Next::Wait);
    };
    let object = config.object();
    // What was found out about one object says nothing of another one of its name.
    if context.remember(|m| m.outcome.as_ref().is_some_and(|o| o.uid != object.metadata.uid)) {
        nodes::forget(context);
    }
    if object.metadata.deletion_timestamp.is_some() {
        nodes::forget(context);
        return finalize::finalize(context, &config, now).await;
    }
    let config = match config {
        Config::Readable(config) => config,
        Config::Unreadable(unreadable) => {
            nodes::forget(context);
            let (config, message) = (&unreadable.config, unreadable.message.as_str());
            return report::ended(context, config, Outcome::Unreadable { message }, now).await;
        }
    };
    if let Some(finding) = context.world.read(|observed| unread::essential(&observed.unread)) {
        nodes::forget(context);
        return report::ended(context, &config, Outcome::Unread { finding: &finding }, now).await;
    }
    let plan = match plan(context, &config, now) {
        Ok(plan) => plan,
        Err(violations) => {
            nodes::forget(context);
            let violations = &violations;
            return report::ended(context, &config, Outcome::Refused { violations }, now).await;
        }
    };
    if plan.platform.is_refused() {
        nodes::forget(context);
        let platform = &plan.platform;
        return report::ended(context, &config, Outcome::Unsupported { platform }, now).await;
    }
    let applied = if plan.write {
        apply::apply(context, &config, &plan, now).await?
    } else {
        Applied::default()
    };
    report::announce(context, &config, &plan, &applied).await;
    let next = next(&plan, &applied);
    nodes::settle(context, &config, plan, applied);
    Ok(next)
}

fn next(plan: &Plan, applied: &Applied) -> Next {
    if applied.failure.is_some() {
        return Next::Retry;
    }
    plan.revisit.map_or(Next::Wait, Next::At)
}

/// Validates and plans on one and the same picture of the cluster.
fn plan(context: &Context, config: &WindowsNodeConfig, now: Timestamp) -> Result<Plan, Vec<Violation>> {
    context.remember(|memory| {
        // A config that was deleted and made again counts its generations from one again.
        let version = (config.metadata.uid.clone(), config.metadata.generation);
        if memory.version != version {
            memory.version = version;
            memory.flaps.reset();
        }
        context.world.read(|observed| {
            let valid = validate(&config.spec, observed)?;
            Ok(decide(valid, config, observed, &memory.flaps, now))
        })
    })
}
