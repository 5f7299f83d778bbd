//! Objects of the Kubernetes API, reduced to the fields that policies use. Fields have the meaning of the
//! API.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Port;

/// Labels or annotations, by key.
pub type Texts = BTreeMap<String, String>;

/// Metadata of an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    pub name: String,
    pub namespace: String,
    pub labels: Texts,
    pub annotations: Texts,
    pub deletion_timestamp: Option<String>,
}

/// A `Node`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Node {
    pub metadata: Metadata,
    pub status: NodeStatus,
}

/// Status of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NodeStatus {
    pub addresses: Vec<NodeAddress>,
}

/// An address of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NodeAddress {
    pub r#type: String,
    pub address: String,
}

/// A `Namespace`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Namespace {
    pub metadata: Metadata,
}

/// A `ServiceAccount`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ServiceAccount {
    pub metadata: Metadata,
}

/// A `Service`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Service {
    pub metadata: Metadata,
}

/// A `Pod`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Pod {
    pub metadata: Metadata,
    pub spec: PodSpec,
    pub status: PodStatus,
}

/// Spec of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: String,
    pub host_network: bool,
    pub service_account_name: String,
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Container {
    pub ports: Vec<ContainerPort>,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    pub name: String,
    pub container_port: u16,
    pub protocol: Option<String>,
}

/// Status of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodStatus {
    pub phase: String,
    #[serde(rename = "podIP")]
    pub pod_ip: String,
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodIp>,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodIp {
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
#[serde(default)]
pub struct SliceEndpoint {
    pub addresses: Vec<String>,
}

/// A port of a slice.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SlicePort {
    pub port: Option<u16>,
    pub protocol: Option<String>,
}

/// `matchLabels` and `matchExpressions`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    pub match_labels: Texts,
    pub match_expressions: Vec<Requirement>,
}

/// A requirement of `matchExpressions`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

/// A `NetworkPolicy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NetworkPolicy {
    pub metadata: Metadata,
    pub spec: NetworkPolicySpec,
}

/// Spec of a network policy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkPolicySpec {
    pub pod_selector: LabelSelector,
    pub ingress: Vec<IngressRule>,
    pub egress: Vec<EgressRule>,
    pub policy_types: Vec<String>,
}

/// A rule for ingress; an empty list matches everything.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct IngressRule {
    pub from: Vec<Peer>,
    pub ports: Vec<PolicyPort>,
}

/// A rule for egress; an empty list matches everything.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct EgressRule {
    pub to: Vec<Peer>,
    pub ports: Vec<PolicyPort>,
}

/// A peer of a rule: pods, or a block of addresses.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Peer {
    pub pod_selector: Option<LabelSelector>,
    pub namespace_selector: Option<LabelSelector>,
    pub ip_block: Option<IpBlock>,
}

/// A block of addresses, with exceptions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct IpBlock {
    pub cidr: String,
    pub except: Vec<String>,
}

/// Ports of a rule; absent fields match every port, and the protocol TCP.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PolicyPort {
    pub protocol: Option<String>,
    pub port: Option<Port>,
    pub end_port: Option<u16>,
}
