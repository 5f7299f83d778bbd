//! Something that is not as Windows needs it, and that the operator may not, or not yet, change.

use wn_api::reasons::Reason;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    pub reason: Reason,
    /// What is wrong, on which object and field, and what to do.
    pub message: String,
}
