//! An L2Bridge, and a route to every other node's pod CIDR.

use wn_api::spec::WindowsNodeConfigSpec;

use super::{CalicoRole, NetworkOption, SourceVip};
use crate::finding::Finding;
use crate::observed::Observed;

pub struct StaticRoutes;

impl NetworkOption for StaticRoutes {
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
