//! What each condition says after a plan was applied.

use std::collections::BTreeMap;

use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;
use wn_api::reasons::Reason;

use super::Verdicts;
use super::conditions::Verdict as Condition;
use super::tigera;
use crate::advice;
use crate::applied::{Applied, Part};
use crate::component::ComponentPlan;
use crate::component::ownership::Ownership;
use crate::decide::Plan;
use crate::finding::{Finding, names_of};
use crate::node::Table;
use crate::observed::{DaemonSetFacts, Observed};
use crate::platform;
use crate::tigera::AgentOwner;

/// The verdict of every condition after a pass.
pub fn judge(observed: &Observed, plan: &Plan, applied: &Applied, nodes: &Table) -> Verdicts {
    let [network_agent, node_agent, kube_proxy] =
        Component::ALL.map(|component| of_component(component, observed, plan, applied));
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
        node_condition(nodes),
    ];
    // Without finalizer and originals nothing may be written, whatever else there is to say.
    let own = failed(applied, Part::Own);
    let ready = own.clone().unwrap_or_else(|| ready(&concerns));
    let stalled = stalled(&concerns);
    let reconciling = own.map_or_else(
        || reconciling(&concerns, stalled.is_true(), plan.write),
        |own| Condition::yes(own.reason, own.message),
    );
    let [a, b, c, d, e, f, g, h, i] = concerns;
    [
        ready,
        reconciling,
        stalled,
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

fn failed(applied: &Applied, part: Part) -> Option<Condition> {
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

fn of_component(component: Component, observed: &Observed, plan: &Plan, applied: &Applied) -> Condition {
    let failed = || failed(applied, Part::Component(component));
    let planned = &plan.components[component];
    match &planned.ownership {
        Ownership::NotNeeded { why } => Condition::yes(Reason::NotApplicable, why.clone()),
        Ownership::External { by } => failed().unwrap_or_else(|| {
            if component == Component::NodeAgent && plan.tigera.agent_owner == AgentOwner::Theirs {
                tigera::agent(by, observed, plan)
            } else {
                Condition::yes(Reason::External, format!("not run by this operator: {by}"))
            }
        }),
        Ownership::Managed => blocked(planned)
            .or_else(failed)
            .unwrap_or_else(|| rollout(planned, observed, plan, applied)),
    }
}

fn blocked(planned: &ComponentPlan) -> Option<Condition> {
    let of_one = || planned.daemon_sets.iter().find_map(|d| d.blocked.as_ref());
    let Finding { reason, message } = planned.blocked.as_ref().or_else(of_one)?;
    Some(Condition::no(*reason, message.clone()))
}

fn rollout(planned: &ComponentPlan, observed: &Observed, plan: &Plan, applied: &Applied) -> Condition {
    let noted = |text: &str| {
        planned
            .note
            .as_ref()
            .map_or_else(|| text.to_owned(), |note| format!("{text}; {note}"))
    };
    let names = || planned.daemon_sets.iter().map(|d| d.name);
    if let Some(name) =
        names().find(|name| !plan.write && plan.objects.iter().any(|o| o.object.name == *name))
    {
        return Condition::no(
            Reason::ObserveOnly,
            format!("mode is Observe; Manage would apply DaemonSet {name}"),
        );
    }
    if observed.nodes.is_empty() {
        return Condition::yes(
            Reason::NoWindowsNodes,
            noted("the DaemonSet waits for the first Windows node"),
        );
    }
    match names().find(|name| !rolled_out(name, observed, applied)) {
        None if names().any(|name| desired(name, observed) > 0) => {
            Condition::yes(Reason::AsExpected, noted("every pod is updated and ready"))
        }
        unfinished => {
            let name = unfinished.or_else(|| names().next()).unwrap_or_default();
            let message = format!(
                "not every pod of DaemonSet {}/{name} is updated and ready: see status.nodes",
                observed.namespace
            );
            Condition::no(Reason::RolloutIncomplete, noted(&message))
        }
    }
}

fn desired(daemon_set: &str, observed: &Observed) -> i32 {
    observed.our_daemon_set(daemon_set).map_or(0, |d| d.desired)
}

/// A DaemonSet may be of no node, as that of most nodes where all are of another group.
fn rolled_out(daemon_set: &str, observed: &Observed, applied: &Applied) -> bool {
    let complete = |d: &DaemonSetFacts| d.current && d.updated == d.desired && d.ready == d.desired;
    observed.our_daemon_set(daemon_set).is_some_and(complete)
        && applied.objects.iter().all(|o| o.name != daemon_set)
}

fn node_condition(nodes: &Table) -> Condition {
    if nodes.iter().next().is_none() {
        return Condition::yes(
            Reason::NoWindowsNodes,
            "the cluster has no node with kubernetes.io/os=windows",
        );
    }
    let mut causes: BTreeMap<NodeReason, (usize, Vec<&str>)> = BTreeMap::new();
    for (name, entry) in nodes.iter().filter(|(_, e)| !e.state.works()) {
        let Some(reason) = entry.reason else { continue };
        let (count, names) = causes.entry(reason).or_default();
        *count += 1;
        if names.len() < 4 {
            names.push(name);
        }
    }
    if causes.is_empty() {
        return Condition::yes(Reason::AsExpected, "every Windows node is ready");
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let cause = |(reason, (count, names)): &(NodeReason, (usize, Vec<&str>))| {
        let noun = if *count == 1 { "node" } else { "nodes" };
        format!("{count} {noun}: {reason} ({})", names_of(names.iter().copied()))
    };
    let message = causes.iter().take(3).map(cause).collect::<Vec<_>>().join("; ");
    Condition::no(Reason::NodesNotReady, format!("{message}; see status.nodes"))
}

/// The first concern that is not met: they are in the order of cause and consequence. What the API server forbids comes
/// before them, because nothing planned after it was tried.
fn cause(concerns: &[Condition], which: impl Fn(&Condition) -> bool) -> Option<&Condition> {
    let forbidden = concerns.iter().find(|c| c.reason == Reason::Forbidden);
    forbidden.or_else(|| concerns.iter().find(|c| !c.is_true() && which(c)))
}

fn ready(concerns: &[Condition]) -> Condition {
    match cause(concerns, |_| true) {
        Some(concern) => Condition::no(concern.reason, concern.message.clone()),
        None if concerns.iter().any(|c| c.reason == Reason::NoWindowsNodes) => Condition::yes(
            Reason::NoWindowsNodes,
            "everything is in place for the first Windows node",
        ),
        None => Condition::yes(Reason::AsExpected, "every Windows node is ready"),
    }
}

/// Stalled in kstatus' sense: no progress until a person does something.
fn stalled(concerns: &[Condition]) -> Condition {
    match cause(concerns, |c| c.reason.needs_a_person()) {
        Some(concern) => Condition::yes(concern.reason, concern.message.clone()),
        None => Condition::no(Reason::AsExpected, "no problem needs a person"),
    }
}

fn reconciling(concerns: &[Condition], stalled: bool, write: bool) -> Condition {
    match concerns.iter().find(|c| !c.is_true()) {
        Some(concern) if write && !stalled => Condition::yes(Reason::Progressing, concern.message.clone()),
        _ => Condition::no(Reason::AsExpected, "no change is in progress"),
    }
}
