//! What a component waits for. A DaemonSet is first made when it can work. One that is there is kept right in any case: a node must
//! not lose its network because Calico's pool was edited.

use wn_api::component::Component;
use wn_api::reasons::Reason;

use super::objects::existing;
use super::plan::Basis;
use crate::finding::Finding;
use crate::network;
use crate::observed::OwnKind;

/// Of a component that needs Calico.
pub fn for_calico(component: Component, basis: &Basis) -> Option<Finding> {
    let what = if basis.calico.policy_only {
        "waits for Calico: its API is not served, or must not be written now (migration, or datastore not ready)"
    } else {
        "waits for CalicoConfigured"
    };
    wait(component, basis, basis.calico.fit_for_agents, what)
}

/// Of a component that needs the network, where that is not Calico's.
pub fn for_network(component: Component, basis: &Basis) -> Option<Finding> {
    let fit = !basis.network.iter().any(|f| network::blocks(f.reason));
    wait(component, basis, fit, "waits for NetworkConfigured")
}

fn wait(component: Component, basis: &Basis, fit: bool, what: &str) -> Option<Finding> {
    let exists = || existing(component, basis.observed).any(|o| o.kind == OwnKind::DaemonSet);
    let message = if !basis.inputs.complete() {
        "waits for InputsDiscovered"
    } else if !fit && !exists() {
        what
    } else {
        return None;
    };
    Some(Finding {
        reason: Reason::WaitingForPrecondition,
        message: message.to_owned(),
    })
}
