//! With host-local IPAM the addresses of a node's pods are those of its pod CIDR.

use wn_api::reasons::Reason;
use wn_api::spec::WindowsNodeConfigSpec;

use crate::finding::{Finding, names_of};
use crate::observed::Observed;
use crate::selection;

pub fn missing(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Finding> {
    let nodes = selection::nodes(&spec.node_selector, observed);
    let names = names_of(nodes.filter(|(_, n)| n.pod_cidr.is_none()).map(|(name, _)| name));
    (!names.is_empty()).then(|| Finding {
        reason: Reason::PodCIDRMissing,
        message: format!(
            "Node {names} has no IPv4 range in spec.podCIDRs, which ipam HostLocal assigns addresses from: run kube-controller-manager with \
             --allocate-node-cidrs=true and a --cluster-cidr with room, or set spec.network.ipam to CalicoIPAM"
        ),
    })
}
