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
use crate::workloads::Findings;
use crate::world::World;

/// What every step may use.
pub struct Context {
    /// Everything observed.
    pub world: Arc<World>,
    /// Clients of the resources, as far as they are known at the start of the pass.
    pub apis: Apis,
    /// Publishes Events.
    pub events: Arc<Events>,
    /// Counts what happens.
    pub metrics: Arc<Metrics>,
    /// Writes updates of Nodes beside the passes.
    pub nodes: Arc<Writer>,
    /// Findings about policies, Services and pods.
    pub findings: Arc<Findings>,
    /// Whether this replica may write.
    pub leadership: Arc<Leadership>,
    /// What is remembered between passes.
    pub memory: Mutex<Memory>,
}

/// What is remembered from pass to pass and lost with the process or the lease, which costs a repeated Event at most.
#[derive(Default)]
pub struct Memory {
    /// Fields and objects that are contested.
    pub flaps: FlapGuard,
    /// Uid and generation of the CR that was reconciled last.
    pub version: (Option<String>, Option<i64>),
    /// Uid of the config and the findings that were last published.
    pub announced: Option<(Option<String>, Vec<News>)>,
    /// The last plan and what came of it; `None` while there is nothing to judge nodes by.
    pub outcome: Option<Outcome>,
    /// Verdicts of all nodes.
    pub table: Table,
    /// What changed of nodes since the status was last written.
    pub news: NodeNews,
    /// When the status was last written.
    pub reported: Option<Instant>,
}

/// The last pass that made a plan.
pub struct Outcome {
    /// Uid and generation of the CR the plan was made for.
    pub uid: Option<String>,
    /// `metadata.generation` of that object.
    pub generation: Option<i64>,
    /// The plan.
    pub plan: Plan,
    /// What was done of it.
    pub applied: Applied,
    /// Cluster-wide facts that node checks read.
    pub cluster: ClusterContext,
    /// The taint mode of Nodes; `None` while nothing may be written to them, which is until finalizer and originals are stored.
    pub taint: Option<TaintMode>,
}

impl Context {
    /// Reads or changes the memory. The lock is held while `use_it` runs, so it must not wait.
    pub fn remember<T>(&self, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        use_it(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What to do when nothing wakes us.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Nothing: a change wakes the loop.
    Wait,
    /// Look again then: a contested field rests for an hour, say.
    At(Timestamp),
    /// A write failed and the status reports it: retry with growing pauses.
    Retry,
}
