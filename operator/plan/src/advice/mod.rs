//! What limits Windows nodes in this cluster, whatever the spec says. Never a reason not to be ready.

mod platform;

use wn_api::spec::WindowsNodeConfigSpec;
use wn_api::status::{AdvisoriesStatus, Severity};

use crate::observed::Observed;

/// A limit this cluster runs into.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advisory {
    pub code: &'static str,
    pub severity: Severity,
    /// Kind and name, as people know them.
    pub object: String,
    pub field: Option<&'static str>,
    /// What is limited and what to do.
    pub message: String,
    pub source: &'static str,
}

/// Every advisory, the gravest first.
pub fn advise(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Advisory> {
    let mut all = Vec::new();
    all.extend(platform::advise(spec, observed));
    all.sort_by_key(|a| a.severity);
    all
}

/// How many there are by severity, e.g. `1 Error, 2 Warning`; `none` without any.
pub fn summary(advisories: &[Advisory]) -> String {
    let count = |severity| advisories.iter().filter(|a| a.severity == severity).count();
    let counts = [Severity::Error, Severity::Warning, Severity::Info].map(|s| (s, count(s)));
    let text: Vec<_> = counts
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(s, n)| format!("{n} {s:?}"))
        .collect();
    if text.is_empty() {
        "none".to_owned()
    } else {
        text.join(", ")
    }
}

pub fn status(advisories: &[Advisory]) -> AdvisoriesStatus {
    AdvisoriesStatus {
        summary: summary(advisories),
        ..AdvisoriesStatus::default()
    }
}
