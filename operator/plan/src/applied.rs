//! What was really done: the only thing, besides what was observed, that a status may speak of.

use wn_api::component::Component;

use crate::calico::Write;
use crate::observed::OwnObject;

/// The outcome of applying a plan.
#[derive(Debug, Default)]
pub struct Applied {
    pub calico: Vec<Write>,
    pub objects: Vec<OwnObject>,
    /// The first write that failed; those after it were not tried.
    pub failure: Option<Failure>,
}

/// Part of the plan a failed write belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// Our own object: the finalizer and the originals, without which nothing is written anywhere.
    Own,
    Calico,
    /// The network's own configuration, where that is not Calico's.
    Network,
    Component(Component),
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub part: Part,
    /// The API server forbids it (403): only a person can allow it.
    pub forbidden: bool,
    /// Object and cause, without anything that changes from try to try.
    pub message: String,
}
