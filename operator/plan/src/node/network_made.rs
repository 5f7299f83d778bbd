//! With which VNI the node's HNS network was made. Calico keeps a network whose prefix and gateway fit, whatever its VNI
//! (`dataplane_windows.go`, `ensureVxlanNetworkExists`), and HNS does not show it in the API. So the VNI is stored on the
//! Node when Calico's startup made the network, and compared from then on, also after a restart of ours.

use wn_api::component::Component;
use wn_api::names::{DEFAULT_VXLAN_VNI, MIN_VXLAN_VNI};
use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::reboot;
use crate::network::role::Backend;
use crate::observed::NetworkMade;

/// The record to store on the Node: the stored one, as long as it describes the node's network.
pub fn record(view: &View) -> Option<NetworkMade> {
    if view.profile().calico.backend() != Some(Backend::Vxlan) {
        return None;
    }
    let known = view.node.network_made.as_ref();
    let found = found(view);
    match (known, found) {
        (Some(known), Some(found)) if known.is_that_of(&found) => Some(known.clone()),
        (_, Some(found)) => Some(found),
        (known, None) => known.cloned(),
    }
}

/// The network as it is, once startup has made it or found it. Seen for the first time, it counts as made with the VNI
/// that the pod has.
fn found(view: &View) -> Option<NetworkMade> {
    // Pods from before a boot do not show which network was created since.
    let settled = view.started_up() == Some(true) && reboot::check(view).is_empty();
    let announced = &view.announced;
    let made = NetworkMade {
        vni: view.pods[Component::NodeAgent].filter(|_| settled)?.vni?,
        boot_id: view.node.boot_id.clone(),
        tunnel_address: announced.tunnel_address.clone(),
        tunnel_mac: announced.tunnel_mac.clone(),
    };
    let parts = [&made.boot_id, &made.tunnel_address, &made.tunnel_mac];
    parts.iter().all(|part| !part.is_empty()).then_some(made)
}

pub fn check(view: &View) -> Vec<Finding> {
    let vni = view.cluster.felix_vni.unwrap_or(DEFAULT_VXLAN_VNI.into());
    // While the node boots its network of before is gone. To a VNI that Windows does not take nothing can be rebuilt.
    let stale = record(view)
        .filter(|made| made.boot_id == view.node.boot_id && made.vni != vni && vni >= MIN_VXLAN_VNI.into());
    let finding = |made: NetworkMade| {
        let cause = format!(
            "the node's HNS network was created with VNI {}, but the cluster uses {vni}",
            made.vni
        );
        find(NodeReason::NodeRebuildRequired, cause)
    };
    stale.map(finding).into_iter().collect()
}
