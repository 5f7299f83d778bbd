//! flannel: backend `host-gw` on an L2Bridge, backend `vxlan` on an overlay.

mod agent;
pub mod settings;

use wn_api::reasons::Reason;
use wn_api::spec::WindowsNodeConfigSpec;

use super::profile::NetworkChecks;
use super::reach::{self, Adjacency};
use crate::field::Desired;
use crate::finding::Finding;
use crate::observed::Observed;

use settings::Backend;

pub use settings::held;

/// HNS network of host-gw: flannel's default name (`pkg/backend/hostgw/hostgw_windows.go`), which the operator sets explicitly.
pub const BRIDGE: &str = "cbr0";

/// The agent of `FlannelHostGateway`.
pub const HOST_GATEWAY_AGENT: agent::Flannel = agent::Flannel(Backend::HostGateway);
/// The agent of `FlannelVXLAN`.
pub const VXLAN_AGENT: agent::Flannel = agent::Flannel(Backend::Vxlan);

/// Checks of `FlannelHostGateway`.
pub struct HostGateway;

impl NetworkChecks for HostGateway {
    fn findings(&self, _: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding> {
        let adjacent = match reach::adjacency(observed) {
            Adjacency::Different(which) => Some(Finding {
                reason: Reason::NotL2Adjacent,
                message: format!(
                    "{which}: host-gw routes work on one layer 2 network only; use FlannelVXLAN, or move the nodes to one network"
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

/// Checks and settings of `FlannelVXLAN`.
pub struct Vxlan;

impl NetworkChecks for Vxlan {
    fn settings(&self, observed: &Observed) -> Vec<Desired> {
        settings::desired(observed)
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
