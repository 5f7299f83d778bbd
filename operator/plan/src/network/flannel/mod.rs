//! flannel: backend `host-gw` on an L2Bridge, backend `vxlan` on an overlay.

mod agent;
mod settings;

use std::borrow::Cow;

use wn_api::reasons::Reason;
use wn_api::spec::WindowsNodeConfigSpec;

use super::reach::{self, Adjacency};
use super::role::{CalicoRole, SourceVip};
use super::{NetworkAgent, NetworkOption};
use crate::field::Desired;
use crate::finding::Finding;
use crate::observed::Observed;

pub use settings::{Backend, held, vni};

pub struct HostGateway;

/// flannel's default name (`pkg/backend/hostgw/hostgw_windows.go`), which we state.
const BRIDGE: &str = "cbr0";

impl NetworkOption for HostGateway {
    fn hns_network(&self, _: &Observed) -> Option<Cow<'static, str>> {
        Some(BRIDGE.into())
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::None
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Policy { hns_networks: BRIDGE }
    }

    fn agent(&self) -> Option<&'static dyn NetworkAgent> {
        Some(&agent::Flannel(Backend::HostGateway))
    }

    fn uses_pod_cidrs(&self) -> bool {
        true
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let adjacent = match reach::adjacency(observed) {
            Adjacency::Different(which) => Some(Finding {
                reason: Reason::NotL2Adjacent,
                message: format!(
                    "{which}: host-gw routes work on one layer 2 network only; use FlannelVXLAN, or bring the nodes together"
                ),
            }),
            Adjacency::Same | Adjacency::CannotKnow => None,
        };
        let found = [settings::unfit(Backend::HostGateway, observed), adjacent];
        found.into_iter().flatten().collect()
    }

    fn notes(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
        let unknown = matches!(reach::adjacency(observed), Adjacency::CannotKnow);
        let note = "host-gw needs all nodes on one layer 2 network, which the API does not show here";
        unknown.then(|| note.to_owned()).into_iter().collect()
    }
}

pub struct Vxlan;

impl NetworkOption for Vxlan {
    /// flannel's default name (`pkg/backend/vxlan/vxlan_windows.go`), which we state.
    fn hns_network(&self, observed: &Observed) -> Option<Cow<'static, str>> {
        Some(format!("flannel.{}", vni(observed)).into())
    }

    fn source_vip(&self) -> SourceVip {
        SourceVip::HostLocal
    }

    fn calico(&self) -> CalicoRole {
        CalicoRole::Policy {
            hns_networks: "flannel.*",
        }
    }

    fn agent(&self) -> Option<&'static dyn NetworkAgent> {
        Some(&agent::Flannel(Backend::Vxlan))
    }

    fn settings(&self, observed: &Observed) -> Vec<Desired> {
        settings::desired(observed)
    }

    fn uses_pod_cidrs(&self) -> bool {
        true
    }

    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let found = [
            settings::unfit(Backend::Vxlan, observed),
            settings::direct_routing(observed),
            settings::not_restarted(observed),
        ];
        found.into_iter().flatten().collect()
    }

    fn notes(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<String> {
        settings::changed(observed).into_iter().collect()
    }
}
