//! The network types: a table with a row each, and a file each for checks and rendering of its own. Everything else knows
//! a type by its profile.

mod calico;
mod cloud;
pub mod flannel;
mod profile;
mod reach;
pub mod role;
mod static_routes;

use wn_api::calico::ConfigKind;
use wn_api::reasons::Reason;
use wn_api::spec::NetworkType;

use crate::observed::Source;
use profile::HnsNetwork;
use role::{Backend, CalicoRole, Dataplane, SourceVip};

pub use profile::{NetworkAgent, NetworkChecks, NetworkProfile};

/// The profile of a network type.
pub const fn of(type_: NetworkType) -> &'static NetworkProfile {
    match type_ {
        NetworkType::CalicoVxlan => &CALICO_VXLAN,
        NetworkType::CalicoBgp => &CALICO_BGP,
        NetworkType::FlannelHostGateway => &FLANNEL_HOST_GATEWAY,
        NetworkType::FlannelVxlan => &FLANNEL_VXLAN,
        NetworkType::StaticRoutes => &STATIC_ROUTES,
        NetworkType::CloudProvider => &CLOUD_PROVIDER,
    }
}

static CALICO_VXLAN: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::Overlay,
    hns_network: HnsNetwork::Named(calico::NETWORK),
    source_vip: SourceVip::Endpoint(calico::HOST_ENDPOINT),
    calico: CalicoRole::Networking(Backend::Vxlan),
    cni_plugin: "Calico",
    takes_host_local_ipam: false,
    uses_pod_cidrs: false,
    agent: None,
    config: None,
    sources: &[],
    tigera_operator: true,
    policy_untested: None,
    summary: "IPAM, pools and Felix are set; BGP on Linux nodes must be off",
    checks: &calico::Vxlan,
};

static CALICO_BGP: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::L2Bridge,
    hns_network: HnsNetwork::Named(calico::NETWORK),
    source_vip: SourceVip::None,
    calico: CalicoRole::Networking(Backend::Bgp),
    cni_plugin: "Calico",
    takes_host_local_ipam: true,
    uses_pod_cidrs: false,
    agent: None,
    config: None,
    sources: &[],
    tigera_operator: true,
    policy_untested: None,
    summary: "IPAM, pools and Felix are set; one subnet or BGP peers, RemoteAccess on the nodes; not with Calico v3.30.3 to v3.31.4",
    checks: &calico::Bgp,
};

static FLANNEL_HOST_GATEWAY: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::L2Bridge,
    hns_network: HnsNetwork::Named(flannel::BRIDGE),
    source_vip: SourceVip::None,
    calico: CalicoRole::Policy {
        hns_networks: flannel::BRIDGE,
    },
    cni_plugin: "None",
    takes_host_local_ipam: false,
    uses_pod_cidrs: true,
    agent: Some(&flannel::HOST_GATEWAY_AGENT),
    config: Some(ConfigKind::FlannelConfiguration),
    sources: &[],
    tigera_operator: false,
    policy_untested: None,
    summary: "nodes on one L2 network; Calico enforces policy on top",
    checks: &flannel::HostGateway,
};

static FLANNEL_VXLAN: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::Overlay,
    // flannel's default name (`pkg/backend/vxlan/vxlan_windows.go`), which we state.
    hns_network: HnsNetwork::WithFlannelVni("flannel."),
    source_vip: SourceVip::HostLocal,
    calico: CalicoRole::Policy {
        hns_networks: "flannel.*",
    },
    cni_plugin: "None",
    takes_host_local_ipam: false,
    uses_pod_cidrs: true,
    agent: Some(&flannel::VXLAN_AGENT),
    config: Some(ConfigKind::FlannelConfiguration),
    sources: &[],
    tigera_operator: false,
    // Calico's documentation knows flannel on Windows with host-gw only.
    policy_untested: Some("flannel's VXLAN"),
    summary: "VNI 4096, UDP 4789; Calico's policy on top is untested upstream",
    checks: &flannel::Vxlan,
};

static STATIC_ROUTES: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::L2Bridge,
    hns_network: HnsNetwork::Named(static_routes::BRIDGE),
    source_vip: SourceVip::None,
    calico: CalicoRole::Policy {
        hns_networks: static_routes::BRIDGE,
    },
    cni_plugin: "None",
    takes_host_local_ipam: false,
    uses_pod_cidrs: true,
    agent: Some(&static_routes::Agent),
    config: None,
    sources: &[],
    tigera_operator: false,
    policy_untested: None,
    summary: "nodes on one L2 network or with routes of the cloud; Calico enforces policy on top",
    checks: &static_routes::StaticRoutes,
};

static CLOUD_PROVIDER: NetworkProfile = NetworkProfile {
    dataplane: Dataplane::Platform,
    hns_network: HnsNetwork::OfPlatform,
    source_vip: SourceVip::None,
    // Azure CNI's network is `azure`, that of Amazon's VPC CNI begins with `vpc`.
    calico: CalicoRole::Policy {
        hns_networks: "azure.*|vpc.*",
    },
    cni_plugin: "None",
    takes_host_local_ipam: false,
    uses_pod_cidrs: false,
    agent: None,
    config: None,
    sources: &[Source::AmazonVpcCni],
    tigera_operator: true,
    policy_untested: None,
    summary: "Azure CNI or Amazon VPC CNI networks pods; Calico enforces policy on top",
    checks: &cloud::CloudProvider,
};

/// Must a DaemonSet that is not there yet wait because of a finding of this reason? The others concern single nodes,
/// or are over when someone restarts something.
pub const fn blocks(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::PodCIDRMissing
            | Reason::PodCIDRConflict
            | Reason::NotL2Adjacent
            | Reason::RestartNeeded
            | Reason::PrerequisiteMissing
    )
}
