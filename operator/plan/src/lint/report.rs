//! `status.workloads` and the metric of findings, from the findings.

use std::collections::BTreeMap;

use wn_api::names::{FINDING_LIMIT, FINDING_SERIES};
use wn_api::status::{FindingCount, FindingStatus, Severity, WorkloadsStatus};
use wn_workloads::findings::{Code, Finding, Severity as Effect};

use super::events;
use crate::summary;
use crate::unread::Unread;

/// Longest message of a finding in the status, in characters.
const LONGEST: usize = 400;
/// Longest field of a finding in the status, in characters; a path can have a label of a user in it.
const LONGEST_FIELD: usize = 200;

/// Everything that is reported about the findings, in a size that does not depend on their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// `status.workloads`.
    pub status: WorkloadsStatus,
    /// Values of the metric.
    pub series: Vec<Series>,
    /// Kinds that cannot be listed.
    pub unread: Vec<Unread>,
}

/// A value of the metric.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Series {
    /// Code of the findings.
    pub code: &'static str,
    /// Severity of the findings.
    pub severity: Severity,
    /// Namespace of the objects; empty for cluster-scoped objects, `(other)` for all namespaces beyond the limit.
    pub namespace: String,
    /// Number of findings.
    pub count: i64,
}

/// Stands for namespaces that have no series of their own; no namespace can have this name.
const OTHER: &str = "(other)";

impl Report {
    /// Of findings in the order of `findings::sort`. `own`: namespace of the operator, whose DaemonSets are HostProcess pods on purpose:
    /// findings of severity Info about them are left out. `unreadable`: number of objects with an invalid field.
    pub fn new<'a>(
        own: &str,
        findings: impl Iterator<Item = &'a Finding>,
        unreadable: usize,
        unread: Vec<Unread>,
    ) -> Self {
        let mut counts: BTreeMap<(Severity, Code), i32> = BTreeMap::new();
        let mut by_namespace: BTreeMap<(Severity, Code, &str), i64> = BTreeMap::new();
        let (mut list, mut omitted) = (Vec::new(), 0);
        let is_known = |f: &&Finding| f.severity == Effect::Info && events::namespace(f) == own;
        for finding in findings.filter(|finding| !is_known(finding)) {
            let severity = severity(finding.severity);
            *counts.entry((severity, finding.code)).or_default() += 1;
            *by_namespace
                .entry((severity, finding.code, events::namespace(finding)))
                .or_default() += 1;
            if list.len() < FINDING_LIMIT {
                list.push(line(finding));
            } else {
                omitted += 1;
            }
        }
        Self {
            series: series(by_namespace),
            status: WorkloadsStatus {
                summary: summary::of(counts.iter().map(|((severity, _), number)| (*severity, *number))),
                counts: counts.into_iter().map(count).collect(),
                list,
                omitted,
                unread_kinds: unread.iter().map(|unread| unread.objects.clone()).collect(),
                unreadable_objects: i32::try_from(unreadable).unwrap_or(i32::MAX),
            },
            unread,
        }
    }
}

/// Severity in the API.
pub const fn severity(effect: Effect) -> Severity {
    match effect {
        Effect::Error => Severity::Error,
        Effect::Warning => Severity::Warning,
        Effect::Info => Severity::Info,
    }
}

fn count(((severity, code), count): ((Severity, Code), i32)) -> FindingCount {
    FindingCount {
        code: code.to_string(),
        severity,
        count,
    }
}

/// At most `FINDING_SERIES` series with a namespace, the most severe first; the others are counted without one.
fn series(counts: BTreeMap<(Severity, Code, &str), i64>) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for (position, ((severity, code, namespace), count)) in counts.into_iter().enumerate() {
        let code = code.entry().code;
        let of_others = (position >= FINDING_SERIES).then_some(OTHER);
        let namespace = of_others.unwrap_or(namespace);
        match all.last_mut() {
            Some(last)
                if (last.code, last.severity, last.namespace.as_str()) == (code, severity, namespace) =>
            {
                last.count += count;
            }
            _ => all.push(Series {
                code,
                severity,
                namespace: namespace.to_owned(),
                count,
            }),
        }
    }
    all
}

fn line(finding: &Finding) -> FindingStatus {
    FindingStatus {
        code: finding.code.to_string(),
        severity: severity(finding.severity),
        object: finding.object.to_string(),
        field: finding.field.as_deref().map(|field| cut(field, LONGEST_FIELD)),
        message: message(finding, LONGEST),
    }
}

/// The effect, an example and what to do, in at most so many characters: the example is left out first, then the effect is cut.
pub fn message(finding: &Finding, longest: usize) -> String {
    let Finding { message, fix, .. } = finding;
    let flow = finding.flow.as_deref().unwrap_or_default();
    let full = format!("{message}; for example {flow}; {fix}");
    if !flow.is_empty() && full.chars().count() <= longest {
        return full;
    }
    let left = longest.saturating_sub(fix.chars().count() + 2);
    format!("{}; {fix}", cut(message, left))
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{kept}…")
}
