//! What limits Windows nodes in this cluster, whatever the spec says. Never a reason not to be ready.
//!
//! One table, a slice of it in each file of a subject, and one pure check a rule. A code is stable: it is in
//! Events, metrics and people's notes, so that one that falls away is never given again.

mod agent;
mod bgp;
mod daemon_sets;
mod endpoints;
mod felix;
mod felix_env;
mod ipam;
mod kube_proxy;
mod nodes;
mod platform;
mod pools;
mod reservations;
mod view;

use wn_api::names::ADVISORY_LIMIT;
use wn_api::spec::WindowsNodeConfigSpec;
use wn_api::status::{AdvisoriesStatus, AdvisoryStatus, Severity};

use crate::finding::names_of;
use crate::observed::Observed;
use crate::summary;

pub use view::Cluster;

/// A row of the table.
pub struct Rule {
    /// `WN1` and three digits: those from 000 are of Calico's configuration, those from 100 of platforms.
    pub code: &'static str,
    /// Severity of every advisory of the rule.
    pub severity: Severity,
    /// Heading in docs/advisories.md.
    pub title: &'static str,
    /// What does not work, in one sentence.
    pub limit: &'static str,
    /// Objects and fields that are looked at.
    pub reads: &'static str,
    /// What to do; part of each message.
    pub fix: &'static str,
    /// Where the limit is documented.
    pub source: &'static str,
    /// Finds the places where the cluster runs into the limit; pure.
    pub check: fn(&Cluster) -> Vec<Hit>,
}

/// Where a cluster runs into the limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hit {
    /// Kind and name; of what there are thousands, the kind alone, so that one more of it is no news.
    pub object: String,
    /// Field of the object; `None` when it is about the object as a whole.
    pub field: Option<&'static str>,
    /// What was found and what follows of it.
    pub message: String,
}

impl Hit {
    fn new(object: impl Into<String>, field: &'static str, message: impl Into<String>) -> Self {
        Self {
            object: object.into(),
            field: Some(field),
            message: message.into(),
        }
    }

    /// One hit for all nodes or other numerous objects, whose names `message` is given; `None` without any.
    fn of_many<'a>(
        objects: &str,
        field: &'static str,
        names: impl Iterator<Item = &'a str>,
        message: impl FnOnce(String) -> String,
    ) -> Option<Self> {
        let names = names_of(names);
        (!names.is_empty()).then(|| Self::new(objects, field, message(names)))
    }
}

/// Every rule.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    const TABLE: &[&[Rule]] = &[
        felix::RULES,
        felix_env::RULES,
        pools::RULES,
        ipam::RULES,
        reservations::RULES,
        bgp::RULES,
        nodes::RULES,
        endpoints::RULES,
        agent::RULES,
        daemon_sets::RULES,
        kube_proxy::RULES,
        platform::RULES,
    ];
    TABLE.iter().copied().flatten()
}

/// A limit this cluster runs into.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advisory {
    /// Code of the rule, `WN1` and three digits.
    pub code: &'static str,
    /// Severity of the rule.
    pub severity: Severity,
    /// Kind and name, as people know them.
    pub object: String,
    /// Field of the object; `None` when it is about the object as a whole.
    pub field: Option<&'static str>,
    /// What is limited and what to do.
    pub message: String,
    /// Where the limit is documented.
    pub source: &'static str,
}

/// Every advisory, the gravest first.
pub fn advise(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Advisory> {
    let cluster = Cluster::of(spec, observed);
    let mut found: Vec<_> = rules().flat_map(|rule| of_rule(rule, &cluster)).collect();
    found.sort_by(|a, b| key(a).cmp(&key(b)));
    found
}

fn of_rule(rule: &Rule, cluster: &Cluster) -> Vec<Advisory> {
    let hits = (rule.check)(cluster).into_iter();
    hits.map(|hit| Advisory {
        code: rule.code,
        severity: rule.severity,
        object: hit.object,
        field: hit.field,
        message: format!("{}; {}", hit.message, rule.fix),
        source: rule.source,
    })
    .collect()
}

fn key(advisory: &Advisory) -> (Severity, &str, &str, Option<&str>) {
    (advisory.severity, advisory.code, &advisory.object, advisory.field)
}

/// How many there are by severity, e.g. `1 Error, 2 Warning`; `none` without any.
pub fn summary(advisories: &[Advisory]) -> String {
    summary::of(advisories.iter().map(|a| (a.severity, 1)))
}

/// `status.advisories`: at most `ADVISORY_LIMIT` of them, and how many are left out.
pub fn status(advisories: &[Advisory]) -> AdvisoriesStatus {
    let list: Vec<_> = advisories.iter().take(ADVISORY_LIMIT).map(line).collect();
    AdvisoriesStatus {
        summary: summary(advisories),
        omitted: i32::try_from(advisories.len() - list.len()).unwrap_or(i32::MAX),
        list,
    }
}

fn line(advisory: &Advisory) -> AdvisoryStatus {
    AdvisoryStatus {
        code: advisory.code.to_owned(),
        severity: advisory.severity,
        object: advisory.object.clone(),
        field: advisory.field.map(str::to_owned),
        message: advisory.message.clone(),
        source: advisory.source.to_owned(),
    }
}

/// What is in the new status and was not in the stored one, as one sentence, and whether any of it is an Error.
/// By code, object and field: other words about the same are no news.
pub fn news(stored: Option<&AdvisoriesStatus>, new: &AdvisoriesStatus) -> Option<(String, bool)> {
    /// More do not fit into an Event's note.
    const NAMED: usize = 3;
    let same = |a: &AdvisoryStatus, b: &AdvisoryStatus| {
        (&a.code, &a.object, &a.field) == (&b.code, &b.object, &b.field)
    };
    let known = |a: &AdvisoryStatus| stored.is_some_and(|s| s.list.iter().any(|b| same(a, b)));
    let fresh: Vec<_> = new.list.iter().filter(|a| !known(a)).collect();
    let grave = fresh.iter().any(|a| a.severity == Severity::Error);
    let mut parts: Vec<_> = fresh
        .iter()
        .take(NAMED)
        .map(|a| format!("{} {}: {}", a.code, a.object, a.message))
        .collect();
    if fresh.len() > NAMED {
        let codes: Vec<_> = fresh[NAMED..].iter().map(|a| a.code.as_str()).collect();
        parts.push(format!("and {}: see status.advisories", codes.join(", ")));
    }
    (!parts.is_empty()).then(|| (parts.join("; "), grave))
}
