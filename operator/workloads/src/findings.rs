//! Findings, their codes and severities. The findings of policies: where Windows differs from what policies mean, per
//! policy with a packet that shows it, and what else users should know about policies on Windows.

mod cache;
mod cause;
mod object;
mod shapes;
mod table;
mod words;

use std::sync::Arc;

use serde::{Serialize, Serializer};

pub(crate) use cache::Cache;
pub use object::{ObjectName, ObjectReference};
pub use table::{Code, Entry};

use crate::input::Objects;
use crate::release::Release;

/// Severity of a finding, by its effect.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Severity {
    /// Useful to know; nothing is affected.
    Info,
    /// Traffic that should be allowed is denied, or may become denied. Something works partly, or is a risk.
    Warning,
    /// Traffic that should be denied is allowed, or a pod has no traffic in a direction. Something does not work.
    Error,
}

/// A finding about a policy, a Service, a pod or another object on Windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Kind of the finding.
    pub code: Code,
    /// Severity in this cluster.
    pub severity: Severity,
    /// Kind, namespace and name of the object.
    pub object: ObjectName,
    /// Path of the field in the object, if one field is the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The effect on Windows.
    pub message: String,
    /// An example packet, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// What to do.
    pub fix: &'static str,
    /// How we know.
    pub source: &'static str,
    /// Affected pods, as `namespace/name`.
    #[serde(skip_serializing_if = "<[String]>::is_empty", serialize_with = "texts")]
    pub pods: Arc<[String]>,
}

fn texts<S: Serializer>(texts: &Arc<[String]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter())
}

/// All findings about the policies of `objects`, sorted.
pub fn all(objects: &Objects, release: Release) -> Vec<Finding> {
    Cache::default().findings(objects, release)
}

/// Sorts findings by severity, highest first, and then by code, object, field and the rest.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_unstable_by(|a, b| {
        let by_object = || (a.code, &a.object, &a.field).cmp(&(b.code, &b.object, &b.field));
        let by_rest = || (&a.message, &a.flow, &a.pods).cmp(&(&b.message, &b.flow, &b.pods));
        b.severity
            .cmp(&a.severity)
            .then_with(by_object)
            .then_with(by_rest)
    });
}
