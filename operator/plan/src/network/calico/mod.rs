//! Calico's own networking: an overlay, or routes by BGP.

mod adjacency;
mod backend;
mod pod_cidr;

use std::borrow::Cow;

use wn_api::spec::{Ipam, WindowsNodeConfigSpec};

use super::NetworkOption;
use super::role::{Backend, CalicoRole, SourceVip};
use crate::finding::Finding;
use crate::observed::Observed;

/// HNS network Calico creates, for both backends (`startup_windows.go`).
const NETWORK: &str = "Calico";
/// Endpoint of the node itself in that network (`SetupVxlanNetwork`: name of the network and `_ep`).
const HOST_ENDPOINT: &str = "Calico_ep";

pub struct Vxlan;

impl NetworkOption for Vxlan {
    fn hns_network(&self, _: &Observed) -> Option<Cow<'static, str>> {
        Some(NETWORK.into())
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::Endpoint(HOST_ENDPOINT)
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Networking(Backend::Vxlan)
    }

    fn cni_plugin(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> &'static str {
        "Calico"
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        backend::overlay(observed).into_iter().collect()
    }
}

pub struct Bgp;

impl NetworkOption for Bgp {
    fn hns_network(&self, _: &Observed) -> Option<Cow<'static, str>> {
        Some(NETWORK.into())
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::None
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Networking(Backend::Bgp)
    }

    fn cni_plugin(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> &'static str {
        "Calico"
    }

    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let host_local = spec.network.ipam == Ipam::HostLocal;
        backend::bgp(observed)
            .into_iter()
            .chain(host_local.then(|| pod_cidr::missing(observed)).flatten())
            .chain(adjacency::find(observed))
            .collect()
    }
}
