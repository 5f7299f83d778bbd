//! The plan of each component: who runs it, what is rolled out or why not, and the changes of its objects. Each has a file of its
//! own for what only it needs.

mod kube_proxy;
mod network_agent;
mod node_agent;
mod objects;
pub mod ownership;
mod plan;
mod wait;

use wn_api::component::Component;
use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::observed::OwnObject;
use crate::workload::{RenderContext, Workload};
use ownership::Ownership;

pub use kube_proxy::groups;
pub use plan::{Basis, Changes, ComponentPlan, DaemonSetPlan, ObjectWrite};

/// `context` is `None` while something that DaemonSets are rendered from is not known: what runs is left as it is then.
pub fn plan(
    component: Component,
    basis: &Basis,
    context: Option<&RenderContext>,
) -> (ComponentPlan, Changes) {
    let plan = match component {
        Component::NetworkAgent => network_agent::plan(basis),
        Component::NodeAgent => node_agent::plan(basis),
        Component::KubeProxy => kube_proxy::plan(basis),
    };
    let overlaps = component == Component::NodeAgent && basis.tigera.overlap.is_some();
    if plan.ownership != Ownership::Managed || overlaps {
        let changes = Changes {
            deletions: objects::existing(component, basis.observed)
                .map(|o| (component, o))
                .collect(),
            ..Changes::default()
        };
        return (plan, changes);
    }
    let workloads = context
        .filter(|_| plan.blocked.is_none())
        .map(|context| workloads(component, basis, context))
        .unwrap_or_default();
    if workloads.is_empty() {
        return (plan, Changes::default());
    }
    let changes = objects::changes(component, &plan.daemon_sets, &workloads, basis);
    let daemon_sets = plan.daemon_sets.into_iter().map(|planned| DaemonSetPlan {
        image: objects::image(&workloads, planned.name),
        ..planned
    });
    let plan = ComponentPlan {
        daemon_sets: daemon_sets.collect(),
        blocked: changes.contested.first().map(contested),
        ..plan
    };
    (plan, changes)
}

/// Rendered DaemonSets with what they read; none while the cluster is not as they need it.
fn workloads(component: Component, basis: &Basis, context: &RenderContext) -> Vec<Workload> {
    match component {
        Component::NetworkAgent => network_agent::workload(basis, context).into_iter().collect(),
        Component::NodeAgent => node_agent::workload(basis, context).into_iter().collect(),
        Component::KubeProxy => kube_proxy::workloads(basis, context),
    }
}

fn contested(object: &OwnObject) -> Finding {
    Finding {
        reason: Reason::Contested,
        message: format!(
            "{:?} {}/{} is changed again and again by another manager (see its metadata.managedFields): stop that manager; the \
             operator tries again in an hour, or when the WindowsNodeConfig changes",
            object.kind, object.namespace, object.name
        ),
    }
}
