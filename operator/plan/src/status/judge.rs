//! What each condition says after a plan was applied.

use std::collections::BTreeMap;

use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;
use wn_api::reasons::Reason;

use super::conditions::Verdict as Condition;
use super::progress::{Counts, is_stuck};
use super::whole::whole;
use super::{Settled, Verdicts, component};
use crate::advice;
use crate::applied::{Applied, Part};
use crate::decide::Plan;
use crate::finding::{Finding, names_of};
use crate::lint;
use crate::node::{State, Table};
use crate::observed::Observed;
use crate::platform;

pub fn judge(settled: Settled) -> Verdicts {
    let Settled {
        generation: _,
        observed,
        plan,
        applied,
        nodes,
        lint,
    } = settled;
    let counts = Counts::of(observed, plan, nodes);
    let [network_agent, node_agent, kube_proxy] =
        Component::ALL.map(|component| component::condition(component, observed, plan, applied, &counts));
    // In the order of cause and consequence, which is that of `types::ALL`.
    let concerns = [
        platform(plan),
        linux(plan),
        inputs(plan),
        calico(observed, plan, applied),
        network(plan, applied),
        network_agent,
        node_agent,
        kube_proxy,
        node_condition(nodes.table, &counts),
    ];
    let is_stuck = || is_stuck(observed, plan, applied, &counts);
    let whole = whole(&concerns, failed(applied, Part::Own), plan.write, is_stuck);
    let [ready, reconciling, stalled, configured] = whole;
    let [a, b, c, d, e, f, g, h, i] = concerns;
    [
        ready,
        reconciling,
        stalled,
        configured,
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        originals(plan),
        advisories(plan),
        lint::condition(lint),
    ]
}

/// False when deletion cannot restore everything.
fn originals(plan: &Plan) -> Condition {
    match &plan.calico.unknown {
        Some(Finding { reason, message }) => Condition::no(*reason, message.clone()),
        None => Condition::yes(
            Reason::AsExpected,
            "status.calico.originals has what deletion restores",
        ),
    }
}

fn platform(plan: &Plan) -> Condition {
    findings(&plan.platform.findings).unwrap_or_else(|| {
        let found = plan.platform.platform.map(platform::name);
        let found = found.unwrap_or("not known before the first node joins");
        match &plan.platform.untested {
            Some(untested) => {
                Condition::yes(Reason::KubernetesVersionUntested, format!("{found}; {untested}"))
            }
            None => Condition::yes(Reason::AsExpected, found),
        }
    })
}

fn linux(plan: &Plan) -> Condition {
    findings(&plan.linux)
        .unwrap_or_else(|| Condition::yes(Reason::AsExpected, "there are enough Linux nodes"))
}

fn network(plan: &Plan, applied: &Applied) -> Condition {
    if let Some(failed) = failed(applied, Part::Network) {
        return failed;
    }
    if let Some(found) = findings(&plan.network) {
        return found;
    }
    if let Some(pending) = observing(plan, |kind| !ConfigKind::OF_CALICO.contains(&kind)) {
        return pending;
    }
    let good = "the cluster has what the network type needs".to_owned();
    let all: Vec<_> = std::iter::once(good).chain(plan.notes.iter().cloned()).collect();
    Condition::yes(Reason::AsExpected, all.join("; "))
}

/// What `Manage` would set of such kinds, in mode `Observe`.
fn observing(plan: &Plan, kinds: impl Fn(ConfigKind) -> bool) -> Option<Condition> {
    let writes = plan.calico.writes.iter().filter(|w| kinds(w.kind));
    let changes: Vec<_> = writes.flat_map(|w| &w.changes).map(super::describe).collect();
    (!plan.write && !changes.is_empty()).then(|| {
        Condition::no(
            Reason::ObserveOnly,
            format!("mode is Observe; Manage would set {}", changes.join("; ")),
        )
    })
}

/// True when there is something to know.
fn advisories(plan: &Plan) -> Condition {
    let summary = advice::summary(&plan.advisories);
    if plan.advisories.is_empty() {
        Condition::no(Reason::AsExpected, summary)
    } else {
        Condition::yes(
            Reason::AdvisoriesFound,
            format!("{summary}: see status.advisories"),
        )
    }
}

fn inputs(plan: &Plan) -> Condition {
    findings(&plan.inputs.findings).unwrap_or_else(|| Condition::yes(Reason::AsExpected, "see status.inputs"))
}

fn calico(observed: &Observed, plan: &Plan, applied: &Applied) -> Condition {
    if let Some(failed) = failed(applied, Part::Calico) {
        return failed;
    }
    if plan.calico.policy_only && plan.calico.findings.is_empty() {
        return Condition::yes(
            Reason::NotApplicable,
            "Calico does not network Windows nodes here: its configuration is not checked",
        );
    }
    let refused = crate::tigera::refused(observed);
    if let Some(mut found) = findings(&plan.calico.findings) {
        if let Some(refused) = refused.filter(|r| !found.message.contains(r.as_str())) {
            found.message = format!("{}; {refused}", found.message);
        }
        return found;
    }
    refused
        .map(|refused| Condition::no(Reason::OperatorDegraded, refused))
        .or_else(|| observing(plan, |kind| ConfigKind::OF_CALICO.contains(&kind)))
        .unwrap_or_else(|| {
            Condition::yes(
                Reason::AsExpected,
                "IPAM configuration, IP pools and Felix are as Windows nodes need them",
            )
        })
}

pub fn failed(applied: &Applied, part: Part) -> Option<Condition> {
    let failure = applied.failure.as_ref().filter(|f| f.part == part)?;
    let reason = if failure.forbidden {
        Reason::Forbidden
    } else {
        Reason::ApplyFailed
    };
    Some(Condition::no(reason, failure.message.clone()))
}

/// The first finding's reason, and at most three messages: enough to act on, and bounded.
fn findings(found: &[Finding]) -> Option<Condition> {
    let first = found.first()?;
    let messages: Vec<_> = found.iter().take(3).map(|f| f.message.as_str()).collect();
    Some(Condition::no(first.reason, messages.join("; ")))
}

fn node_condition(nodes: &Table, counts: &Counts) -> Condition {
    if counts.selected == 0 {
        let message = if counts.not_selected > 0 {
            "spec.nodeSelector selects no node with kubernetes.io/os=windows"
        } else {
            "the cluster has no node with kubernetes.io/os=windows"
        };
        return Condition::yes(Reason::NoWindowsNodes, message);
    }
    let mut causes: BTreeMap<NodeReason, (usize, Vec<&str>)> = BTreeMap::new();
    let judged = nodes.iter().filter(|(_, e)| e.state != State::NotSelected);
    for (name, entry) in judged.filter(|(_, e)| !e.state.works()) {
        let Some(reason) = entry.reason else { continue };
        let (count, names) = causes.entry(reason).or_default();
        *count += 1;
        if names.len() < 4 {
            names.push(name);
        }
    }
    if causes.is_empty() {
        return Condition::yes(Reason::AsExpected, every_node(counts));
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let cause = |(reason, (count, names)): &(NodeReason, (usize, Vec<&str>))| {
        let noun = if *count == 1 { "node" } else { "nodes" };
        format!("{count} {noun}: {reason} ({})", names_of(names.iter().copied()))
    };
    let message = causes.iter().take(3).map(cause).collect::<Vec<_>>().join("; ");
    if counts.are_enough() {
        let message = format!(
            "as many nodes are ready as spec.readiness.minReadyNodes asks for; not ready: {message}; see status.nodes"
        );
        return Condition::yes(Reason::MinimumNodesReady, message);
    }
    Condition::no(Reason::NodesNotReady, format!("{message}; see status.nodes"))
}

const fn every_node(counts: &Counts) -> &'static str {
    if counts.not_selected > 0 {
        "every Windows node that spec.nodeSelector selects is ready"
    } else {
        "every Windows node is ready"
    }
}
