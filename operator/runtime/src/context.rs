//! What every step may use, what is remembered between passes, and how a pass ends.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use wn_plan::calico::contest::Contests;

use crate::events::Events;
use crate::world::{Apis, World};

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
    /// Uid and generation of the CR the contests belong to.
    pub version: (Option<String>, Option<i64>),
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
