//! What may be written to the fields that Windows nodes need, as `ownership` decides it.

use jiff::Timestamp;

use crate::field::{Desired, FieldId};
use crate::finding::Finding;

/// A field that differs and may be written.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub desired: Desired,
    pub differs: bool,
    pub drifted_by: Option<String>,
}

/// The outcome for all fields.
#[derive(Debug, Default)]
pub struct Judged {
    pub wanted: Vec<Wanted>,
    pub findings: Vec<Finding>,
    pub given_up: Vec<FieldId>,
    pub revisit: Option<Timestamp>,
    /// Fields to restore although nothing else is wanted of their object.
    pub released: Vec<FieldId>,
}
