//! `spec.network`: the network type and the addresses that Windows nodes use.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules;

/// How pods on Windows nodes are networked.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum NetworkType {
    /// Overlay: HNS network of type Overlay, VXLAN on UDP 4789.
    #[serde(rename = "CalicoVXLAN")]
    CalicoVxlan,
    /// No encapsulation: HNS network of type L2Bridge, routes by BGP.
    #[serde(rename = "CalicoBGP")]
    CalicoBgp,
    /// flannel's backend `host-gw`: HNS network of type L2Bridge, routes between nodes on one L2 network.
    FlannelHostGateway,
    /// flannel's backend `vxlan`: HNS network of type Overlay, VXLAN on UDP 4789.
    #[serde(rename = "FlannelVXLAN")]
    FlannelVxlan,
    /// HNS network of type L2Bridge, and a route to every other node's pod CIDR.
    StaticRoutes,
    /// The cloud's own CNI plugin: Azure CNI or Amazon VPC CNI.
    CloudProvider,
}

impl NetworkType {
    /// Every type, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::CalicoVxlan,
        Self::CalicoBgp,
        Self::FlannelHostGateway,
        Self::FlannelVxlan,
        Self::StaticRoutes,
        Self::CloudProvider,
    ];

    /// The value of `spec.network.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CalicoVxlan => "CalicoVXLAN",
            Self::CalicoBgp => "CalicoBGP",
            Self::FlannelHostGateway => "FlannelHostGateway",
            Self::FlannelVxlan => "FlannelVXLAN",
            Self::StaticRoutes => "StaticRoutes",
            Self::CloudProvider => "CloudProvider",
        }
    }
}

/// Where Calico's CNI plugin takes pod addresses from.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Ipam {
    /// Blocks of Calico's IP pools.
    #[default]
    #[serde(rename = "CalicoIPAM")]
    CalicoIpam,
    /// The Node's `spec.podCIDR`.
    HostLocal,
}

/// The network type and the addresses that Windows nodes use.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Network {
    /// `CalicoVXLAN` (overlay), `CalicoBGP` (no encapsulation; needs the RemoteAccess role on the nodes),
    /// `FlannelHostGateway`, `FlannelVXLAN`, `StaticRoutes`, or `CloudProvider` (Azure CNI, Amazon VPC CNI).
    #[serde(rename = "type")]
    pub type_: NetworkType,

    /// Where pod addresses come from, for `CalicoBGP` only: `CalicoIPAM` takes blocks of Calico's pools, `HostLocal` takes
    /// addresses of the Node's `spec.podCIDR`. Must be the same as on Linux nodes. Default: CalicoIPAM.
    #[serde(default)]
    pub ipam: Ipam,

    /// Address of the API server that a Windows node can reach before kube-proxy runs, so never a
    /// Service's ClusterIP. Default: discovered, see `status.inputs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServer>,

    /// Service CIDRs of the cluster (IPv4), e.g. `10.96.0.0/12`. Traffic to them is not
    /// NATed on Windows. Default: discovered, see `status.inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "serviceCIDRs")]
    #[schemars(schema_with = "rules::ipv4_cidrs")]
    pub service_cidrs: Vec<String>,

    /// DNS settings of Windows pods.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "clusterDNS")]
    pub cluster_dns: Option<ClusterDns>,
}

/// Address of the API server.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServer {
    /// Host name or IP address, without scheme and port.
    #[schemars(schema_with = "rules::host")]
    pub host: String,

    /// TCP port, 1 to 65535. Default: 6443.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

fn default_port() -> i32 {
    6443
}

/// DNS settings of Windows pods.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterDns {
    /// IP addresses of the cluster's DNS servers. Default: the ClusterIP of the DNS Service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "rules::ip_addresses")]
    pub servers: Vec<String>,

    /// DNS search list of Windows pods. Windows uses the first entry only. Default: `svc.` and the cluster's domain, see `status.inputs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "rules::domains")]
    pub search: Vec<String>,
}
