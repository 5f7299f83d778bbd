//! The cloud's own CNI plugin: nothing of it is ours.

use wn_api::spec::WindowsNodeConfigSpec;

use super::{CalicoRole, NetworkOption, SourceVip};
use crate::finding::Finding;
use crate::observed::Observed;

pub struct CloudProvider;

impl NetworkOption for CloudProvider {
    fn hns_network(&self) -> Option<&'static str> {
        None
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::None
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Policy {
            hns_networks: "azure.*|vpc.*",
        }
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Vec<Finding> {
        Vec::new()
    }
}
