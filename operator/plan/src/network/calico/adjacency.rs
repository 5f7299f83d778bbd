//! Can packets between nodes go unencapsulated? In a full mesh a route's next hop is the other node itself, so the
//! network between them must know pods, or not be asked: one subnet.

use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::network::reach::{self, Adjacency};
use crate::observed::Observed;

pub fn find(observed: &Observed) -> Option<Finding> {
    let routed = !observed.bgp.node_to_node_mesh
        || !observed.bgp.peers.is_empty()
        || observed.linux.values().any(|n| n.route_reflector);
    if routed || observed.nodes.is_empty() {
        return None;
    }
    let Adjacency::Different(which) = reach::adjacency(observed) else {
        return None;
    };
    Some(Finding {
        reason: Reason::NotL2Adjacent,
        message: format!(
            "{which}: without encapsulation, BGPPeer or route reflector there is no route to pods on the other node; add BGPPeers for \
             the routers between them, or set spec.network.type to CalicoVXLAN"
        ),
    })
}
