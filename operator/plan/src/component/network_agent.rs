//! The DaemonSet that networks Windows nodes where neither Calico nor the platform does; its network type renders it.

use wn_api::component::Component;

use super::ownership;
use super::plan::{Basis, ComponentPlan, DaemonSetPlan};
use super::wait;
use crate::network;
use crate::workload::{RenderContext, Workload};

const COMPONENT: Component = Component::NetworkAgent;

pub fn plan(basis: &Basis) -> ComponentPlan {
    let daemon_set = network::of(basis.spec.network.type_)
        .agent
        .map(|agent| DaemonSetPlan {
            name: agent.daemon_set(),
            ..DaemonSetPlan::default()
        });
    ComponentPlan {
        ownership: ownership::of(COMPONENT, basis.spec, basis.observed),
        daemon_sets: daemon_set.into_iter().collect(),
        blocked: wait::for_network(COMPONENT, basis),
        note: None,
    }
}

pub fn workload(basis: &Basis, context: &RenderContext) -> Option<Workload> {
    let agent = network::of(basis.spec.network.type_).agent?;
    agent.workload(basis.spec, basis.observed, context)
}
