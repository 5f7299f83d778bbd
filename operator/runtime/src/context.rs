//! What every step may use, what is remembered between passes, and how a pass ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use wn_api::spec::TaintMode;
use wn_plan::applied::Applied;
use wn_plan::calico::flap_guard::FlapGuard;
use wn_plan::decide::Plan;
use wn_plan::news::{News, NodeNews};
use wn_plan::node::{ClusterContext, Table};

use crate::apis::Apis;
use crate::events::Events;
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::nodes::writer::Writer;
use crate::world::World;

/// What every step may use.
pub struct Context {
    pub world: Arc<World>,
    pub apis: Apis,
    pub events: Arc<Events>,
    pub metrics: Arc<Metrics>,
    pub nodes: Arc<Writer>,
    pub leadership: Arc<Leadership>,
    pub memory: Mutex<Memory>,
}

/// What is remembered from pass to pass and lost with the process or the lease, which costs a repeated Event at most.
#[derive(Default)]
pub struct Memory {
    pub flaps: FlapGuard,
    /// Uid and generation of the CR that was reconciled last.
    pub version: (Option<String>, Option<i64>),
    /// Uid of the config and the findings that were last published.
    pub announced: Option<(Option<String>, Vec<News>)>,
    /// The last plan and what came of it; `None` while there is nothing to judge nodes by.
    pub outcome: Option<Outcome>,
    pub table: Table,
    /// What changed of nodes since the status was last written.
    pub news: NodeNews,
    /// When the status was last written.
    pub reported: Option<Instant>,
}

pub struct Outcome {
    /// Uid and generation of the CR the plan was made for.
    pub uid: Option<String>,
    pub generation: Option<i64>,
    pub plan: Plan,
    pub applied: Applied,
    pub cluster: ClusterContext,
    /// How Nodes are marked; `None` when nothing may be written, which it may not before finalizer and originals stand.
    pub taint: Option<TaintMode>,
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
