//! Services and their endpoints, reduced to the fields that are used. Fields have the meaning of the API.

use serde::Deserialize;

use super::kubernetes::{Metadata, Texts};
use super::number_or_text::NumberOrText;

/// A `Service`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Service {
    pub metadata: Metadata,
    pub spec: ServiceSpec,
    pub status: ServiceStatus,
}

/// Spec of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    /// Empty for `ClusterIP`.
    pub r#type: String,
    pub selector: Texts,
    pub ports: Vec<ServicePort>,
    #[serde(rename = "clusterIP")]
    pub cluster_ip: String,
    #[serde(rename = "clusterIPs")]
    pub cluster_ips: Vec<String>,
    #[serde(rename = "externalIPs")]
    pub external_ips: Vec<String>,
    #[serde(rename = "loadBalancerIP")]
    pub load_balancer_ip: String,
    pub load_balancer_source_ranges: Vec<String>,
    pub ip_families: Vec<String>,
    pub ip_family_policy: String,
    pub session_affinity: String,
    pub session_affinity_config: SessionAffinityConfig,
    pub external_traffic_policy: String,
    pub internal_traffic_policy: String,
    pub traffic_distribution: String,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    pub name: String,
    pub port: u16,
    pub protocol: String,
    pub target_port: Option<NumberOrText>,
}

/// Configuration of the session affinity.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SessionAffinityConfig {
    #[serde(rename = "clientIP")]
    pub client_ip: ClientIp,
}

/// Configuration of the affinity by the address of the client.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientIp {
    pub timeout_seconds: Option<i64>,
}

/// Status of a Service.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    pub load_balancer: LoadBalancer,
}

/// Status of a load balancer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LoadBalancer {
    pub ingress: Vec<Ingress>,
}

/// An address of a load balancer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Ingress {
    pub ip: String,
}

/// An `EndpointSlice`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct EndpointSlice {
    pub metadata: Metadata,
    pub endpoints: Vec<SliceEndpoint>,
    pub ports: Vec<SlicePort>,
}

/// An endpoint of a slice.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct SliceEndpoint {
    pub addresses: Vec<String>,
    pub node_name: String,
    pub conditions: Conditions,
}

/// Conditions of an endpoint; an absent `ready` or `serving` counts as true.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Conditions {
    pub ready: Option<bool>,
    pub serving: Option<bool>,
    pub terminating: Option<bool>,
}

/// A port of a slice.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SlicePort {
    pub name: String,
    pub port: Option<u16>,
    pub protocol: Option<String>,
}
