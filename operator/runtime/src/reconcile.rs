//! One pass: observe → validate → plan → apply → report.

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_plan::applied::Applied;
use wn_plan::decide::{Plan, decide};
use wn_plan::observed::Config;
use wn_plan::validate::validate;

use crate::apply;
use crate::context::{Context, Next};
use crate::error::Error;
use crate::observe::{Task, observe};
use crate::{finalize, report};

pub async fn reconcile(context: &Context) -> Result<Next, Error> {
    let Some(Task { config, now }) = observe(context).await else {
        return Ok(Next::Wait);
    };
    let config = match config {
        Config::Readable(config) => config,
        Config::Unreadable { generation, message } => {
            return report::unreadable(context, generation, &message, now).await;
        }
    };
    if config.metadata.deletion_timestamp.is_some() {
        return finalize::finalize(context, &config, now).await;
    }
    let plan = match plan(context, &config, now) {
        Ok(plan) => plan,
        Err(violations) => return report::refused(context, &config, &violations, now).await,
    };
    let applied = if plan.write {
        apply::apply(context, &config, &plan, now).await?
    } else {
        Applied::default()
    };
    report::report(context, &config, &plan, &applied, now).await
}

/// Validates and plans on one and the same picture of the cluster.
fn plan(
    context: &Context,
    config: &WindowsNodeConfig,
    now: Timestamp,
) -> Result<Plan, Vec<wn_plan::validate::Violation>> {
    context.remember(|memory| {
        // A config that was deleted and made again counts its generations from one again.
        let version = (config.metadata.uid.clone(), config.metadata.generation);
        if memory.version != version {
            memory.version = version;
            memory.contests.reset();
        }
        context.world.read(|observed| {
            let valid = validate(&config.spec, observed)?;
            Ok(decide(valid, config, observed, &memory.contests, now))
        })
    })
}
