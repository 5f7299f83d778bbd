//! Objects of HNS as a test reads them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::modify::ATTACHED;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    Network,
    Endpoint,
    LoadBalancer,
    Namespace,
    SdnRoute,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Network,
        Self::Endpoint,
        Self::LoadBalancer,
        Self::Namespace,
        Self::SdnRoute,
    ];

    /// As in the names of the calls.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Endpoint => "Endpoint",
            Self::LoadBalancer => "LoadBalancer",
            Self::Namespace => "Namespace",
            Self::SdnRoute => "SdnRoute",
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct Endpoint {
    #[serde(rename = "ID")]
    pub id: String,
    pub name: String,
    pub host_compute_network: String,
    pub mac_address: String,
    flags: u32,
    state: u64,
    ip_configurations: Vec<IpConfiguration>,
    policies: Vec<Policy>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
struct IpConfiguration {
    ip_address: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
struct Policy {
    #[serde(rename = "Type")]
    type_: String,
    settings: serde_json::Value,
}

impl Endpoint {
    /// `EndpointFlagsRemoteEndpoint`.
    pub fn is_remote(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether a pod or the host has it.
    pub fn is_attached(&self) -> bool {
        self.state == ATTACHED
    }

    pub fn address(&self) -> &str {
        self.ip_configurations
            .first()
            .map_or("", |configuration| &configuration.ip_address)
    }

    /// The rules Felix and the CNI plugin gave it, in their order.
    pub fn acls(&self) -> Vec<Acl> {
        settings_of(&self.policies, "ACL")
    }

    /// Where the packets for a remote endpoint are sent to.
    pub fn provider_address(&self) -> Option<&str> {
        let policy = self
            .policies
            .iter()
            .find(|policy| policy.type_ == "ProviderAddress")?;
        policy.settings["ProviderAddress"].as_str()
    }
}

fn settings_of<T: DeserializeOwned>(policies: &[Policy], type_: &str) -> Vec<T> {
    let all = policies.iter().filter(|policy| policy.type_ == type_);
    all.filter_map(|policy| serde_json::from_value(policy.settings.clone()).ok())
        .collect()
}

/// A rule of an endpoint.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct Acl {
    pub id: String,
    pub action: String,
    pub direction: String,
    /// IANA's numbers; `256` is any.
    pub protocols: String,
    pub remote_addresses: String,
    pub local_ports: String,
    pub rule_type: String,
    pub priority: u32,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct Network {
    #[serde(rename = "ID")]
    pub id: String,
    pub name: String,
    #[serde(rename = "Type")]
    pub type_: String,
    ipams: Vec<Ipam>,
    policies: Vec<Policy>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
struct Ipam {
    subnets: Vec<Subnet>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
struct Subnet {
    ip_address_prefix: String,
    policies: Vec<Policy>,
}

/// `RemoteSubnetRoutePolicySetting`: the way to the pods of another node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct RemoteSubnet {
    pub destination_prefix: String,
    pub isolation_id: u32,
    pub provider_address: String,
    pub distributed_router_mac_address: String,
}

impl Network {
    pub fn subnet(&self) -> &str {
        let subnets = self.ipams.iter().flat_map(|ipam| &ipam.subnets);
        subnets
            .map(|one| one.ip_address_prefix.as_str())
            .next()
            .unwrap_or_default()
    }

    /// VXLAN's network identifier, of an overlay network.
    pub fn vsid(&self) -> Option<u64> {
        let subnets = self.ipams.iter().flat_map(|ipam| &ipam.subnets);
        let mut policies = subnets.flat_map(|subnet| &subnet.policies);
        let vsid = policies.find(|policy| policy.type_ == "VSID")?;
        vsid.settings["IsolationId"].as_u64()
    }

    pub fn remote_subnets(&self) -> Vec<RemoteSubnet> {
        settings_of(&self.policies, "RemoteSubnetRoute")
    }
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
pub struct LoadBalancer {
    #[serde(rename = "ID")]
    pub id: String,
    #[serde(rename = "SourceVIP")]
    pub source_vip: String,
    /// None of a node port.
    #[serde(rename = "FrontendVIPs")]
    pub frontend_vips: Vec<String>,
    /// Ids.
    #[serde(rename = "HostComputeEndpoints")]
    pub endpoints: Vec<String>,
    flags: u32,
    port_mappings: Vec<PortMapping>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", default)]
struct PortMapping {
    protocol: u32,
    internal_port: u16,
    external_port: u16,
    distribution_type: u32,
    flags: u32,
}

impl LoadBalancer {
    /// `LoadBalancerFlagsDSR`; `Get-HnsPolicyList` shows it as `IsDSR`.
    pub fn is_dsr(&self) -> bool {
        self.flags & 1 != 0
    }

    /// `LoadBalancerDistributionSourceIP`.
    pub fn has_session_affinity(&self) -> bool {
        self.mapping().distribution_type == 2
    }

    /// `LoadBalancerPortMappingFlagsLocalRoutedVIP`: reachable from the host itself.
    pub fn is_local_routed(&self) -> bool {
        self.mapping().flags & 2 != 0
    }

    /// `VipExternalIP`: kube-proxy's flag of whatever is reached from outside.
    pub fn is_external(&self) -> bool {
        self.mapping().flags & 16 != 0
    }

    pub fn external_port(&self) -> u16 {
        self.mapping().external_port
    }

    /// One for all endpoints: HNS knows no port of a single endpoint.
    pub fn internal_port(&self) -> u16 {
        self.mapping().internal_port
    }

    /// IANA's number.
    pub fn protocol(&self) -> u32 {
        self.mapping().protocol
    }

    /// What no second load balancer may have, too.
    pub(super) fn frontend(&self) -> (&[String], u32, u16, bool) {
        (
            &self.frontend_vips,
            self.protocol(),
            self.external_port(),
            self.flags & 2 != 0,
        )
    }

    fn mapping(&self) -> PortMapping {
        self.port_mappings.first().copied().unwrap_or_default()
    }
}
