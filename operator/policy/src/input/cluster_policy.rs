//! `ClusterNetworkPolicy` of `policy.networking.k8s.io/v1alpha2`.

use serde::Deserialize;

use super::kubernetes::{LabelSelector, Metadata};

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ClusterNetworkPolicy {
    pub metadata: Metadata,
    pub spec: Spec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Spec {
    pub tier: String,
    pub priority: i32,
    pub subject: Subject,
    pub ingress: Vec<Rule>,
    pub egress: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Subject {
    pub namespaces: Option<LabelSelector>,
    pub pods: Option<NamespacedPods>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedPods {
    pub namespace_selector: LabelSelector,
    pub pod_selector: LabelSelector,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Rule {
    pub name: String,
    pub action: String,
    /// `from` of a rule of ingress, `to` of one of egress.
    #[serde(alias = "from", alias = "to")]
    pub peers: Vec<Peer>,
    pub protocols: Vec<ProtocolMatch>,
}

/// One of its fields is set. `nodes` and `domainNames` are not supported by Calico.
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

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PortMatch {
    pub destination_port: Option<PortOrRange>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PortOrRange {
    /// 0 when absent.
    pub number: u16,
    pub range: Option<PortRange>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PortRange {
    pub start: u16,
    pub end: u16,
}
