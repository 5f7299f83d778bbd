//! `ClusterNetworkPolicy` of `policy.networking.k8s.io/v1alpha2`. Fields have the meaning of the API.

use serde::Deserialize;

use super::kubernetes::LabelSelector;

/// A `ClusterNetworkPolicy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ClusterNetworkPolicy {
    pub spec: Spec,
}

/// Spec of the policy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Spec {
    pub tier: String,
    pub priority: i32,
    pub subject: Subject,
    pub ingress: Vec<Rule>,
    pub egress: Vec<Rule>,
}

/// Pods that the policy applies to; one field is set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Subject {
    pub namespaces: Option<LabelSelector>,
    pub pods: Option<NamespacedPods>,
}

/// Pods by labels of the namespace and of the pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedPods {
    pub namespace_selector: LabelSelector,
    pub pod_selector: LabelSelector,
}

/// A rule of the policy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Rule {
    pub name: String,
    pub action: String,
    /// `from` of an ingress rule, `to` of an egress rule.
    #[serde(alias = "from", alias = "to")]
    pub peers: Vec<Peer>,
    pub protocols: Vec<ProtocolMatch>,
}

/// A peer of a rule; one field is set. Calico does not support `nodes` and `domainNames`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Peer {
    pub namespaces: Option<LabelSelector>,
    pub pods: Option<NamespacedPods>,
    pub networks: Vec<String>,
}

/// One of its fields is set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ProtocolMatch {
    pub tcp: Option<PortMatch>,
    pub udp: Option<PortMatch>,
    pub sctp: Option<PortMatch>,
    pub destination_named_port: String,
}

/// A match of ports; absent fields match every port.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PortMatch {
    pub destination_port: Option<PortOrRange>,
}

/// A port or a range of ports.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PortOrRange {
    /// 0 if absent.
    pub number: u16,
    pub range: Option<PortRange>,
}

/// A range of ports, both ends included.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PortRange {
    pub start: u16,
    pub end: u16,
}
