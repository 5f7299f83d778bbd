//! Direct server return: without it, network policy does not see who connects to a ClusterIP.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};

pub fn check(view: &View) -> Vec<Finding> {
    let off = view.cluster.policy && view.dsr() == Some(false);
    let finding = || {
        find(
            NodeReason::ClusterIPPolicyNotEnforced,
            "kube-proxy on the node does not use DSR, so connections to a ClusterIP come from the node's address, and network policy that \
             selects their sources is not enforced",
        )
    };
    off.then(finding).into_iter().collect()
}
