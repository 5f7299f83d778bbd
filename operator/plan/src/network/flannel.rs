//! flannel: backend `host-gw` on an L2Bridge, backend `vxlan` on an overlay.

use wn_api::spec::WindowsNodeConfigSpec;

use super::{CalicoRole, NetworkOption, SourceVip};
use crate::finding::Finding;
use crate::observed::Observed;

pub struct HostGateway;

impl NetworkOption for HostGateway {
    fn hns_network(&self) -> Option<&'static str> {
        Some("cbr0")
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::None
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Policy { hns_networks: "cbr0" }
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Vec<Finding> {
        Vec::new()
    }
}

pub struct Vxlan;

impl NetworkOption for Vxlan {
    fn hns_network(&self) -> Option<&'static str> {
        Some("flannel.4096")
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::HostLocal
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Policy {
            hns_networks: "flannel.*",
        }
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Vec<Finding> {
        Vec::new()
    }
}
