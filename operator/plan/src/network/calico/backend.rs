//! Whether the backend of Linux nodes fits that of Windows nodes. `calico.yaml` has it in ConfigMap
//! `kube-system/calico-config`; where there is none, tigera/operator renders it from its Installation.

use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::observed::{Observed, Source};

const FIELD: &str = "ConfigMap kube-system/calico-config calico_backend";

/// Windows nodes of an overlay speak no BGP, while each Linux node expects its peers to: its readiness probe
/// `-bird-ready` then never succeeds (node `pkg/health`).
pub fn overlay(observed: &Observed) -> Option<Finding> {
    let bird = linux(observed)? == "bird";
    let peers = observed.bgp.node_to_node_mesh || !observed.bgp.peers.is_empty();
    (bird && peers).then(|| Finding {
        reason: Reason::BGPWithVXLAN,
        message: format!(
            "{FIELD} is bird: with CalicoVXLAN BGP must be off, because Windows nodes do not answer Linux nodes that peer with them; set it \
             to vxlan, remove -bird-live and -bird-ready from DaemonSet calico-node and restart it, or set nodeToNodeMeshEnabled: false in \
             BGPConfiguration default if there is no BGPPeer"
        ),
    })
}

/// Routes to pods of Windows nodes come by BGP, so somebody must take them.
pub fn bgp(observed: &Observed) -> Option<Finding> {
    let off = |message: String| Finding {
        reason: Reason::BGPDisabled,
        message,
    };
    if let Some(backend) = linux(observed).filter(|b| *b != "bird") {
        return Some(off(format!(
            "{FIELD} is {backend}: Linux nodes do not use BGP, so they have no route to pods on Windows nodes; set it to bird and restart \
             DaemonSet calico-node, or set spec.network.type to CalicoVXLAN"
        )));
    }
    (!observed.bgp.node_to_node_mesh && observed.bgp.peers.is_empty()).then(|| {
        off(
            "BGPConfiguration default spec.nodeToNodeMeshEnabled is false and there is no BGPPeer: no node learns a route; create BGPPeers \
             or set it to true"
                .to_owned(),
        )
    })
}

fn linux(observed: &Observed) -> Option<&str> {
    let backend = observed
        .sources
        .get(&Source::CalicoConfig)?
        .get("calico_backend")?;
    Some(backend.as_str())
}
