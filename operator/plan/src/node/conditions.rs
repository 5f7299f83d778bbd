//! What Calico and the kubelet say on the Node itself.

use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::deadlines::{JOINED, SET_UP};

/// Set and cleared by calico-node, or by flannel or the cloud's route controller.
pub fn network(view: &View) -> Vec<Finding> {
    let who = if view.calico_networks() {
        "Calico"
    } else {
        "whoever networks it"
    };
    let finding = || {
        find(
            NodeReason::NetworkUnavailable,
            format!("the Node's condition NetworkUnavailable is True: {who} has not set up its network"),
        )
        .due(view.began() + SET_UP, view.now)
    };
    view.node.network_unavailable.then(finding).into_iter().collect()
}

/// Startup is tried again for ever by a container that neither ends nor has a probe. What an earlier boot left (block,
/// annotations, the condition) stays, so only what startup writes again counts.
pub fn startup(view: &View) -> Vec<Finding> {
    let began = view.pods[Component::NodeAgent]
        .and_then(|p| p.startup)
        .unwrap_or_default();
    let finding = || {
        let cause = "Calico's startup has not succeeded since container node of its agent's pod started";
        find(NodeReason::StartupNotFinished, cause).due(began + SET_UP, view.now)
    };
    (view.started_up() == Some(false))
        .then(finding)
        .into_iter()
        .collect()
}

/// The kubelet passes on containerd's words when `Ready` is False.
pub fn ready(view: &View) -> Vec<Finding> {
    let message = &view.node.ready_message;
    if view.node.ready || view.node.silent {
        return Vec::new();
    }
    if message.contains("cni plugin not initialized") {
        let (bin, conf) = &view.cluster.cni_dirs;
        let whose = if view.profile().is_of_platform() {
            "the platform's"
        } else {
            "ours"
        };
        let cause =
            format!("containerd finds no CNI configuration; {whose} goes to {conf}, the binaries to {bin}");
        return vec![find(NodeReason::CNINotInitialized, cause).due(view.began() + SET_UP, view.now)];
    }
    let why = if message.is_empty() {
        "the kubelet gives no reason"
    } else {
        message
    };
    let finding = find(NodeReason::NodeNotReady, format!("the Node is not Ready: {why}"));
    vec![match view.node.created {
        Some(created) => finding.due(created + JOINED, view.now),
        None => finding,
    }]
}
