//! Findings, their codes and severities. The findings of policies: where Windows differs from what policies mean, per
//! policy with a packet that shows it, and what else users should know about policies on Windows.

mod cause;
mod object;
mod shapes;
mod table;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use object::{ObjectName, ObjectReference};
pub use table::{Code, Entry};

use crate::cluster::{Endpoint, Refused};
use crate::difference::Difference;
use crate::evaluate::Evaluation;
use crate::input::Objects;
use crate::model::{Direction, PolicyId};
use crate::packet::{CLIENT_PORT, Content, Packet, PortProtocol};
use crate::release::Release;
use cause::Cause;

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
}

/// All findings about the policies of `objects`, sorted.
pub fn all(objects: &Objects, release: Release) -> Vec<Finding> {
    let evaluation = Evaluation::new(objects, release, Refused::LeftOut);
    let mut findings = of_differences(&evaluation);
    findings.extend(shapes::all(&evaluation));
    if !evaluation.cluster.refused.is_empty() {
        let stored = Evaluation::new(objects, release, Refused::Stored);
        findings.extend(shapes::of_refused(&stored));
    }
    sort(&mut findings);
    findings
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

/// Packets with a different result because of one cause.
#[derive(Default)]
struct Effect<'a> {
    open: usize,
    closed: usize,
    example: Option<(Packet, &'a Endpoint, Rank)>,
    pods: BTreeSet<String>,
    cuts_off: bool,
}

/// Rank of a packet as the example: allowed packets first, then TCP, then packets of a pod.
type Rank = [bool; 3];

fn rank(evaluation: &Evaluation, packet: &Packet, is_open: bool) -> Rank {
    let is_tcp = matches!(packet.content, Content::Ports(PortProtocol::Tcp, CLIENT_PORT, _));
    [
        is_open,
        is_tcp,
        evaluation.cluster.pods.contains_key(&packet.remote),
    ]
}

fn of_differences(evaluation: &Evaluation) -> Vec<Finding> {
    let mut effects: BTreeMap<(Code, PolicyId, Direction, usize), (Cause<'_>, Effect<'_>)> = BTreeMap::new();
    for (position, endpoint) in evaluation.endpoints() {
        for difference in &evaluation.differences[position] {
            let open = difference.more_open.iter().map(|packet| (packet, true));
            let closed = difference.more_closed.iter().map(|packet| (packet, false));
            for (packet, is_open) in open.chain(closed) {
                let Some(cause) = cause::of(evaluation, endpoint, difference.direction, packet) else {
                    continue;
                };
                let (_, effect) = effects
                    .entry(cause.key())
                    .or_insert_with(|| (cause, Effect::default()));
                effect.add(evaluation, endpoint, difference, *packet, is_open);
            }
        }
    }
    effects
        .into_values()
        .map(|(cause, effect)| finding(evaluation, &cause, &effect))
        .collect()
}

impl<'a> Effect<'a> {
    fn add(
        &mut self,
        evaluation: &Evaluation,
        endpoint: &'a Endpoint,
        difference: &Difference,
        packet: Packet,
        is_open: bool,
    ) {
        let rank = rank(evaluation, &packet, is_open);
        if self.example.is_none_or(|(_, _, best)| rank > best) {
            self.example = Some((packet, endpoint, rank));
        }
        self.open += usize::from(is_open);
        self.closed += usize::from(!is_open);
        self.cuts_off |= difference.let_through == 0;
        self.pods.insert(endpoint.name());
    }

    const fn severity(&self) -> Severity {
        if self.open > 0 || self.cuts_off {
            Severity::Error
        } else {
            Severity::Warning
        }
    }
}

fn finding(evaluation: &Evaluation, cause: &Cause<'_>, effect: &Effect<'_>) -> Finding {
    let entry = cause.code.entry();
    let flow = effect
        .example
        .map(|(packet, endpoint, _)| words::flow(evaluation, endpoint, cause.direction, &packet));
    Finding {
        code: cause.code,
        severity: effect.severity(),
        object: ObjectName::of_policy(&cause.policy.id),
        field: Some(words::field(cause)),
        message: words::message(cause, effect.open, effect.closed, effect.cuts_off),
        flow,
        fix: entry.fix,
        source: entry.source,
        pods: effect.pods.iter().cloned().collect(),
    }
}
