//! The condition of each component: who runs it, what keeps it from being rolled out, and how far it is rolled out.

use wn_api::component::Component;
use wn_api::reasons::Reason;

use super::conditions::Verdict as Condition;
use super::judge::failed;
use super::progress::{Counts, rolled_out};
use super::tigera;
use crate::applied::{Applied, Part};
use crate::component::ComponentPlan;
use crate::component::ownership::Ownership;
use crate::decide::Plan;
use crate::finding::Finding;
use crate::observed::Observed;
use crate::tigera::AgentOwner;

pub fn condition(
    component: Component,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    counts: &Counts,
) -> Condition {
    let failed = || failed(applied, Part::Component(component));
    let planned = &plan.components[component];
    match &planned.ownership {
        Ownership::NotNeeded { why } => Condition::yes(Reason::NotApplicable, why.clone()),
        Ownership::External { by } => failed().unwrap_or_else(|| {
            if component == Component::NodeAgent && plan.tigera.agent_owner == AgentOwner::Theirs {
                tigera::agent(by, observed, plan, counts)
            } else {
                Condition::yes(Reason::External, format!("not run by this operator: {by}"))
            }
        }),
        Ownership::Managed => blocked(planned)
            .or_else(failed)
            .unwrap_or_else(|| rollout(planned, observed, plan, applied, counts)),
    }
}

fn blocked(planned: &ComponentPlan) -> Option<Condition> {
    let of_one = || planned.daemon_sets.iter().find_map(|d| d.blocked.as_ref());
    let Finding { reason, message } = planned.blocked.as_ref().or_else(of_one)?;
    Some(Condition::no(*reason, message.clone()))
}

fn rollout(
    planned: &ComponentPlan,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    counts: &Counts,
) -> Condition {
    let noted = |text: &str| match &planned.note {
        Some(note) => format!("{text}; {note}"),
        None => text.to_owned(),
    };
    let names = || planned.daemon_sets.iter().map(|d| d.name);
    let pending = |name: &&str| !plan.write && plan.objects.iter().any(|o| o.object.name == **name);
    if let Some(name) = names().find(pending) {
        return Condition::no(
            Reason::ObserveOnly,
            format!("mode is Observe; Manage would apply DaemonSet {name}"),
        );
    }
    if counts.selected == 0 {
        return Condition::yes(Reason::NoWindowsNodes, noted(waits_for_nodes(counts)));
    }
    let facts = |name: &str| observed.our_daemon_set(name);
    let lacks = |name: &str, allowed| {
        let rolled_out = facts(name).is_some_and(|d| rolled_out(d, allowed));
        !rolled_out || applied.objects.iter().any(|o| o.name == name)
    };
    // A DaemonSet may be of no node, as that of most nodes where all are of another group.
    let idle = || names().all(|name| facts(name).is_none_or(|d| d.desired == 0));
    let place = |name: &str| format!("{}/{name}", observed.namespace);
    let first = || names().next().filter(|_| idle());
    if let Some(name) = names().find(|name| lacks(name, counts.allowed)).or_else(first) {
        let message = format!(
            "not every pod of DaemonSet {} is updated and ready: see status.nodes",
            place(name)
        );
        return Condition::no(Reason::RolloutIncomplete, noted(&message));
    }
    match names().find(|name| lacks(name, 0)) {
        Some(name) => Condition::yes(Reason::MinimumNodesReady, noted(&enough_pods(&place(name)))),
        None => Condition::yes(Reason::AsExpected, noted("every pod is updated and ready")),
    }
}

fn enough_pods(daemon_set: &str) -> String {
    format!(
        "DaemonSet {daemon_set} has as many updated and ready pods as spec.readiness.minReadyNodes asks for, and not all: see \
         status.nodes"
    )
}

const fn waits_for_nodes(counts: &Counts) -> &'static str {
    if counts.not_selected > 0 {
        "the DaemonSet waits for the first Windows node that spec.nodeSelector selects"
    } else {
        "the DaemonSet waits for the first Windows node"
    }
}
