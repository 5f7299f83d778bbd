//! Objects of `projectcalico.org/v3`, and of `crd.projectcalico.org/v1`, which has the same fields. Fields
//! have the meaning of the API.

use serde::Deserialize;

use super::kubernetes::{Metadata, NetworkPolicySpec};
use super::{Port, Protocol};

/// A kind of policy that Calico defines.
#[allow(clippy::enum_variant_names, reason = "the kinds are named so")]
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum PolicyKind {
    NetworkPolicy,
    GlobalNetworkPolicy,
    StagedNetworkPolicy,
    StagedGlobalNetworkPolicy,
    StagedKubernetesNetworkPolicy,
}

impl PolicyKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::NetworkPolicy,
        Self::GlobalNetworkPolicy,
        Self::StagedNetworkPolicy,
        Self::StagedGlobalNetworkPolicy,
        Self::StagedKubernetesNetworkPolicy,
    ];

    /// The object's `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NetworkPolicy => "NetworkPolicy",
            Self::GlobalNetworkPolicy => "GlobalNetworkPolicy",
            Self::StagedNetworkPolicy => "StagedNetworkPolicy",
            Self::StagedGlobalNetworkPolicy => "StagedGlobalNetworkPolicy",
            Self::StagedKubernetesNetworkPolicy => "StagedKubernetesNetworkPolicy",
        }
    }

    /// Whether the kind is cluster-scoped.
    pub const fn is_global(self) -> bool {
        matches!(self, Self::GlobalNetworkPolicy | Self::StagedGlobalNetworkPolicy)
    }
}

/// A policy of any of these kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct CalicoPolicy {
    pub kind: PolicyKind,
    /// Whether the object is of `crd.projectcalico.org/v1`: Calico's API server, which sets `types`, has not
    /// seen it.
    pub stored: bool,
    pub spec: PolicySpec,
    /// The spec of a `StagedKubernetesNetworkPolicy`.
    pub kubernetes: NetworkPolicySpec,
}

/// Spec of a policy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PolicySpec {
    pub tier: String,
    pub order: Option<f64>,
    pub selector: String,
    pub namespace_selector: String,
    pub service_account_selector: String,
    pub ingress: Vec<Rule>,
    pub egress: Vec<Rule>,
    pub types: Vec<String>,
    pub do_not_track: bool,
    #[serde(rename = "preDNAT")]
    pub pre_dnat: bool,
    pub apply_on_forward: bool,
    pub performance_hints: Vec<String>,
    pub staged_action: String,
}

/// A rule of a policy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Rule {
    pub action: String,
    pub ip_version: Option<u8>,
    pub protocol: Option<Protocol>,
    pub not_protocol: Option<Protocol>,
    pub icmp: Option<Icmp>,
    #[serde(rename = "notICMP")]
    pub not_icmp: Option<Icmp>,
    pub source: Entity,
    pub destination: Entity,
    pub http: Option<Http>,
}

/// A match of ICMP messages.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
pub struct Icmp {
    pub r#type: Option<i64>,
    pub code: Option<i64>,
}

/// A match of HTTP requests.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Http {
    pub methods: Vec<String>,
    pub paths: Vec<HttpPath>,
}

/// A match of the path of an HTTP request; one field is set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct HttpPath {
    pub exact: String,
    pub prefix: String,
}

/// The source or the destination of a rule.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Entity {
    pub nets: Vec<String>,
    pub not_nets: Vec<String>,
    pub selector: String,
    pub not_selector: String,
    pub namespace_selector: String,
    pub services: Option<ServiceMatch>,
    pub service_accounts: Option<ServiceAccountMatch>,
    pub ports: Vec<Port>,
    pub not_ports: Vec<Port>,
}

/// A Service whose endpoints match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ServiceMatch {
    pub name: String,
    pub namespace: String,
}

/// Service accounts whose pods match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ServiceAccountMatch {
    pub names: Vec<String>,
    pub selector: String,
}

/// A `Tier`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Tier {
    pub spec: TierSpec,
}

/// Spec of a tier.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct TierSpec {
    pub order: Option<f64>,
    pub default_action: String,
}

/// A `NetworkSet`, or a `GlobalNetworkSet` if it has no namespace.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NetworkSet {
    pub metadata: Metadata,
    pub spec: NetworkSetSpec,
}

/// Spec of a network set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NetworkSetSpec {
    pub nets: Vec<String>,
}

/// A `HostEndpoint`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct HostEndpoint {
    pub metadata: Metadata,
    pub spec: HostEndpointSpec,
}

/// Spec of a host endpoint.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct HostEndpointSpec {
    pub node: String,
    #[serde(rename = "expectedIPs")]
    pub expected_ips: Vec<String>,
}

/// An `IPPool`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct IpPool {
    pub spec: IpPoolSpec,
}

/// Spec of a pool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct IpPoolSpec {
    pub cidr: String,
    pub block_size: Option<u8>,
    pub node_selector: String,
    pub disabled: bool,
}

/// A `BGPConfiguration`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct BgpConfiguration {
    pub spec: BgpConfigurationSpec,
}

/// Spec of the BGP configuration.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct BgpConfigurationSpec {
    #[serde(rename = "serviceClusterIPs")]
    pub service_cluster_ips: Vec<Block>,
    #[serde(rename = "serviceExternalIPs")]
    pub service_external_ips: Vec<Block>,
    #[serde(rename = "serviceLoadBalancerIPs")]
    pub service_load_balancer_ips: Vec<Block>,
}

/// A block of addresses that is advertised.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Block {
    pub cidr: String,
}
