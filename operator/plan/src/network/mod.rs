//! The network options, one file each. Everything else in the plan knows an option by what it answers here.

mod calico;
mod cloud;
mod flannel;
mod static_routes;

use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};

use crate::finding::Finding;
use crate::observed::Observed;

/// How pods on Windows nodes can be networked.
pub trait NetworkOption: Sync {
    /// Name of the HNS network kube-proxy programs; `None` where kube-proxy is the platform's in any case.
    fn hns_network(&self) -> Option<&'static str>;

    /// What kube-proxy's `--source-vip` is taken from.
    fn source_vip(&self) -> SourceVip;

    /// What Calico does on Windows nodes.
    fn calico(&self) -> CalicoRole;

    /// What of the cluster is not as the option needs it, the gravest first.
    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding>;
}

/// The address kube-proxy gives to connections it load balances on an overlay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceVip {
    /// Not on an overlay.
    None,
    /// The address of this HNS endpoint of the node.
    Endpoint(&'static str),
    /// An address the host-local IPAM plugin reserves of the node's subnet.
    HostLocal,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CalicoRole {
    /// It networks the nodes, so its pools, IPAM and Felix must suit Windows.
    Networking(Backend),
    /// It enforces network policy in HNS networks of that name, on top of another's network; its own
    /// configuration is nobody's concern.
    Policy { hns_networks: &'static str },
}

/// Calico's networking backend on Windows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Backend {
    Vxlan,
    Bgp,
}

/// The option of a network type.
pub fn of(type_: NetworkType) -> &'static dyn NetworkOption {
    match type_ {
        NetworkType::CalicoVxlan => &calico::Vxlan,
        NetworkType::CalicoBgp => &calico::Bgp,
        NetworkType::FlannelHostGateway => &flannel::HostGateway,
        NetworkType::FlannelVxlan => &flannel::Vxlan,
        NetworkType::StaticRoutes => &static_routes::StaticRoutes,
        NetworkType::CloudProvider => &cloud::CloudProvider,
    }
}
