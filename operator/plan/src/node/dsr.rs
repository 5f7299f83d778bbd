//! Direct server return: without it, network policy does not see who connects to a ClusterIP.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};

pub fn check(view: &View) -> Vec<Finding> {
    let off = view.cluster.policy && view.dsr() == Some(false);
    let said = || {
        find(
            NodeReason::ClusterIPPolicyNotEnforced,
            "kube-proxy of the node does no DSR, so that connections to a ClusterIP come from the node's address, and network policy that \
             selects their sources is not enforced",
        )
    };
    off.then(said).into_iter().collect()
}
