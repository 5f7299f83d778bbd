//! Something that is not as Windows needs it, and that the operator may not, or not yet, change.

use wn_api::reasons::Reason;

/// Why a condition is not True.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Reason of the condition.
    pub reason: Reason,
    /// What is wrong, on which object and field, and what to do.
    pub message: String,
}

/// `a, b, c and others`: enough to start looking, and bounded.
pub fn names_of<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let first: Vec<_> = names.by_ref().take(3).collect();
    let more = if names.next().is_some() { " and others" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// Notes as one, if there are any.
pub fn join<const N: usize>(notes: [Option<String>; N]) -> Option<String> {
    let all: Vec<_> = notes.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}
