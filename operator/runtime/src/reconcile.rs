//! One pass: observe → validate → plan → apply → report.

use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_plan::applied::Applied;
use wn_plan::calico::contest::Contests;
use wn_plan::decide::{Plan, decide};
use wn_plan::observed::Config;
use wn_plan::validate::validate;

use crate::apply::{self, Error};
use crate::events::Events;
use crate::observe::{Task, observe};
use crate::world::{Apis, World};
use crate::{finalize, report};

/// What every step may use.
pub struct Context {
    pub world: Arc<World>,
    pub apis: Apis,
    pub events: Events,
    pub memory: Mutex<Memory>,
}

/// What is remembered from pass to pass and lost with the process, which costs a repeated Event at most.
#[derive(Default)]
pub struct Memory {
    pub contests: Contests,
    /// Generation of the CR the contests belong to.
    pub generation: Option<i64>,
    /// Refusals that were announced.
    pub announced: Option<String>,
}

impl Context {
    pub fn remember<T>(&self, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        use_it(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What to do when nothing wakes us.
#[derive(Debug, PartialEq)]
pub enum Next {
    Wait,
    /// Look again then: a contested field rests for an hour, say.
    At(Timestamp),
    /// A write failed and the status says so: try again, ever more rarely.
    Retry,
}

pub async fn reconcile(context: &Context) -> Result<Next, Error> {
    let Some(Task { config, now }) = observe(context).await else { return Ok(Next::Wait) };
    let config = match config {
        Config::Readable(config) => config,
        Config::Unreadable { generation, message } => return report::unreadable(context, generation, &message, now).await,
    };
    if config.metadata.deletion_timestamp.is_some() {
        return finalize::finalize(context, &config, now).await;
    }
    let plan = match plan(context, &config, now) {
        Ok(plan) => plan,
        Err(violations) => return report::refused(context, &config, &violations, now).await,
    };
    let applied = if plan.write { apply::apply(context, &config, &plan, now).await? } else { Applied::default() };
    report::report(context, &config, &plan, &applied, now).await
}

/// Validates and plans on one and the same picture of the cluster.
fn plan(
    context: &Context,
    config: &WindowsNodeConfig,
    now: Timestamp,
) -> Result<Plan, Vec<wn_plan::validate::Violation>> {
    context.remember(|memory| {
        if memory.generation != config.metadata.generation {
            memory.generation = config.metadata.generation;
            memory.contests.reset();
        }
        context.world.read(|observed| {
            let valid = validate(&config.spec, observed)?;
            Ok(decide(valid, config, observed, &memory.contests, now))
        })
    })
}
