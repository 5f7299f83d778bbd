//! Can packets between nodes go unencapsulated? In a full mesh a route's next hop is the other node itself, so the
//! network between them must know pods, or not be asked: one subnet.

use ipnet::Ipv4Net;
use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::observed::Observed;

/// The first Windows node, and the first node that shares no subnet with it.
pub fn find(observed: &Observed) -> Option<Finding> {
    let routed = !observed.bgp.node_to_node_mesh
        || !observed.bgp.peers.is_empty()
        || observed.linux.values().any(|n| n.route_reflector);
    if routed {
        return None;
    }
    let windows = || {
        let nodes = observed.nodes.iter();
        nodes.filter_map(|(name, n)| Some((name, address(&n.bgp_address)?)))
    };
    let linux = observed
        .linux
        .iter()
        .filter_map(|(name, n)| Some((name, address(&n.bgp_address)?)));
    let (name, net) = windows().next()?;
    // Same subnet as the first is same subnet as each other.
    let (other, apart) = windows()
        .chain(linux)
        .find(|(_, other)| !net.contains(&other.addr()) || !other.contains(&net.addr()))?;
    Some(Finding {
        reason: Reason::NotL2Adjacent,
        message: format!(
            "nodes {name} ({net}) and {other} ({apart}) share no subnet, and without encapsulation, BGPPeer or route reflector nothing routes \
             pods' packets between them: add BGPPeers to the routers between, or set spec.network.type to CalicoVXLAN"
        ),
    })
}

/// Annotation `projectcalico.org/IPv4Address`. A /32, which some clouds give their machines, says nothing.
fn address(annotation: &str) -> Option<Ipv4Net> {
    let net: Ipv4Net = annotation.parse().ok()?;
    (net.prefix_len() < 32).then_some(net)
}
