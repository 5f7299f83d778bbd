//! Whether enough nodes are ready, and whether more will be without a person.
//!
//! `Reconciling` and `Stalled` rest on it: a node that fails for good must not keep the object reconciling for ever.

use wn_api::component::Component;

use super::Nodes;
use crate::applied::Applied;
use crate::component::ownership::Ownership;
use crate::decide::Plan;
use crate::node::State;
use crate::observed::{DaemonSetFacts, Observed};
use crate::selection;
use crate::share;

/// Windows nodes, counted.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Selected by `spec.nodeSelector`.
    pub selected: i32,
    pub not_selected: i32,
    pub progressing: i32,
    pub failing: i32,
    /// How many selected nodes may be not ready, by `spec.readiness.minReadyNodes`.
    pub allowed: i32,
}

impl Counts {
    pub fn of(observed: &Observed, plan: &Plan, nodes: Nodes) -> Self {
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let states = || nodes.table.iter().map(|(_, entry)| entry.state);
        let of = |state: State| count(states().filter(|s| *s == state).count());
        let selected = count(selection::nodes(&nodes.cluster.node_selector, observed).count());
        let min = plan
            .min_ready_nodes
            .as_ref()
            .and_then(|min| share::of(min, selected));
        Self {
            selected,
            not_selected: count(observed.nodes.len()) - selected,
            progressing: of(State::Progressing),
            failing: of(State::Failing),
            allowed: min.map_or(0, |min| (selected - min).max(0)),
        }
    }

    /// Are enough nodes ready?
    pub const fn are_enough(&self) -> bool {
        self.progressing + self.failing <= self.allowed
    }
}

/// Do enough nodes run the newest form of the pod, and is it ready there? Strategy `OnDelete` updates pods when a person deletes
/// them, so an older form is no reason to wait.
pub fn rolled_out(daemon_set: &DaemonSetFacts, allowed: i32) -> bool {
    daemon_set.current && lagging(daemon_set) <= allowed
}

/// Nodes without a ready pod in its newest form.
pub fn lagging(daemon_set: &DaemonSetFacts) -> i32 {
    let updated = match daemon_set.max_unavailable {
        Some(_) => daemon_set.updated,
        None => daemon_set.desired,
    };
    daemon_set.desired.saturating_sub(updated.min(daemon_set.ready))
}

/// Does nothing change any more before a person repairs failing nodes? Nodes that still come up do not matter where too many fail
/// already.
pub fn is_stuck(observed: &Observed, plan: &Plan, applied: &Applied, counts: &Counts) -> bool {
    counts.failing > 0
        && (counts.progressing == 0 || counts.failing > counts.allowed)
        && !Component::ALL
            .into_iter()
            .any(|component| rolls_on(component, observed, plan, applied, counts))
}

fn rolls_on(
    component: Component,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    counts: &Counts,
) -> bool {
    let planned = &plan.components[component];
    if planned.ownership != Ownership::Managed {
        return observed.foreign(component).any(|(_, facts)| moves(facts, counts));
    }
    plan.write
        && planned.daemon_sets.iter().any(|daemon_set| {
            let facts = observed.our_daemon_set(daemon_set.name);
            facts.is_none_or(|facts| moves(facts, counts))
                || applied.objects.iter().any(|o| o.name == daemon_set.name)
        })
}

/// A rolling update goes on while a pod may be replaced, or a replaced one still starts. Unavailable pods on failing nodes can use
/// up `maxUnavailable`, and no other pod is replaced then.
fn moves(daemon_set: &DaemonSetFacts, counts: &Counts) -> bool {
    let Some(max) = &daemon_set.max_unavailable else {
        return !daemon_set.current;
    };
    let unavailable = daemon_set.desired.saturating_sub(daemon_set.ready);
    let may_go_on = share::of(max, daemon_set.desired).is_none_or(|max| unavailable < max);
    !daemon_set.current || (daemon_set.updated < daemon_set.desired && (may_go_on || counts.progressing > 0))
}
