//! With host-local IPAM the addresses of a node's pods are those of its pod CIDR.

use wn_api::reasons::Reason;

use crate::finding::{Finding, names_of};
use crate::observed::Observed;

pub fn missing(observed: &Observed) -> Option<Finding> {
    let without = observed.nodes.iter().filter(|(_, n)| n.pod_cidr.is_none());
    let names = names_of(without.map(|(name, _)| name.as_str()));
    (!names.is_empty()).then(|| Finding {
        reason: Reason::PodCIDRMissing,
        message: format!(
            "Node {names} has no IPv4 range in spec.podCIDRs, which ipam HostLocal assigns addresses from: run kube-controller-manager with \
             --allocate-node-cidrs=true and a --cluster-cidr with room, or set spec.network.ipam to CalicoIPAM"
        ),
    })
}
