//! What a pass did. The status is built from this and from the observation only.

use wn_api::component::Component;

use crate::calico::Write;
use crate::observed::OwnObject;

/// The outcome of applying a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// Writes to Calico that were made, in order.
    pub calico: Vec<Write>,
    /// DaemonSets and ConfigMaps that were applied or deleted.
    pub objects: Vec<OwnObject>,
    /// The first write that failed; those after it were not tried.
    pub failure: Option<Failure>,
}

/// Part of the plan a failed write belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// Our own object: the finalizer and the originals, without which nothing is written anywhere.
    Own,
    /// Calico's configuration.
    Calico,
    /// The network's own configuration, where that is not Calico's.
    Network,
    /// The DaemonSets and ConfigMaps of a component.
    Component(Component),
}

/// A write that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The part of the plan that it belongs to.
    pub part: Part,
    /// The API server forbids it (403): only a person can allow it.
    pub forbidden: bool,
    /// Object and cause, without anything that changes from try to try.
    pub message: String,
}
