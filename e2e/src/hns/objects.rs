//! Objects of HNS as a test reads them.

use serde::Deserialize;

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

    pub fn address(&self) -> &str {
        self.ip_configurations
            .first()
            .map_or("", |configuration| &configuration.ip_address)
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
