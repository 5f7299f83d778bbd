//! Calico's own networking: an overlay, or routes by BGP.

mod adjacency;
mod backend;
mod pod_cidr;

use wn_api::spec::{Ipam, WindowsNodeConfigSpec};

use super::profile::NetworkChecks;
use crate::finding::Finding;
use crate::observed::Observed;

/// HNS network Calico creates, for both backends (`startup_windows.go`).
pub const NETWORK: &str = "Calico";
/// Endpoint of the node itself in that network (`SetupVxlanNetwork`: name of the network and `_ep`).
pub const HOST_ENDPOINT: &str = "Calico_ep";

pub struct Vxlan;

impl NetworkChecks for Vxlan {
    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        backend::overlay(observed).into_iter().collect()
    }
}

pub struct Bgp;

impl NetworkChecks for Bgp {
    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let host_local = spec.network.ipam == Ipam::HostLocal;
        backend::bgp(observed)
            .into_iter()
            .chain(host_local.then(|| pod_cidr::missing(spec, observed)).flatten())
            .chain(adjacency::find(observed))
            .collect()
    }
}
