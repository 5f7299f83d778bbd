//! What may be written to the fields that Windows nodes need, as `ownership` decides it.

use jiff::Timestamp;

use crate::field::{Desired, FieldId};
use crate::finding::Finding;

/// A field that differs and may be written.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The field and its value.
    pub desired: Desired,
    /// The stored value is another one.
    pub differs: bool,
    /// Who changed the operator's value; `None` when the field never had it.
    pub drifted_by: Option<String>,
}

/// The outcome for all fields.
#[derive(Debug, Default)]
pub struct Judged {
    /// Fields that may be written, or already have their value.
    pub wanted: Vec<Wanted>,
    /// Fields that differ and may not be written, and why.
    pub findings: Vec<Finding>,
    /// Fields that just became contested.
    pub given_up: Vec<FieldId>,
    /// When the first contested field may be written again.
    pub revisit: Option<Timestamp>,
    /// Fields to restore although nothing else is wanted of their object.
    pub released: Vec<FieldId>,
}
