//! Objects of the Kubernetes API, reduced to the fields that policies use. Fields have the meaning of the
//! API.

use serde::{Deserialize, Deserializer};

use super::Port;
pub use super::texts::Texts;

/// Metadata of an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Metadata {
    pub name: String,
    pub labels: Texts,
}

/// An owner of an object.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct OwnerReference {
    pub kind: String,
    pub name: String,
    pub controller: bool,
}

/// The owner that manages the object, among `ownerReferences`.
pub fn controller<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OwnerReference>, D::Error> {
    let owners: Vec<OwnerReference> = Deserialize::deserialize(deserializer)?;
    Ok(owners.into_iter().find(|owner| owner.controller))
}

/// A `Node`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Node {
    pub metadata: Metadata,
    pub spec: NodeSpec,
    pub status: NodeStatus,
}

/// Spec of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NodeSpec {
    pub taints: Vec<Taint>,
}

/// A taint of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// Status of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    pub addresses: Vec<NodeAddress>,
    pub node_info: NodeInfo,
}

/// Versions of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeInfo {
    pub kernel_version: String,
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

/// `matchLabels` and `matchExpressions`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    pub match_labels: Texts,
    pub match_expressions: Vec<Requirement>,
}

impl LabelSelector {
    /// Whether the selector selects an object with these labels.
    pub fn selects(&self, labels: &Texts) -> bool {
        let is_equal = |(key, value): (&str, &str)| labels.get(key) == Some(value);
        let matches = |requirement: &Requirement| requirement.matches(labels.get(&requirement.key));
        self.match_labels.iter().all(is_equal) && self.match_expressions.iter().all(matches)
    }
}

/// A requirement of `matchExpressions`.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether the value of the label meets the requirement. Unknown operators are never met.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = || value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        let number = |text: &str| text.parse::<i64>().ok();
        let limit = || self.values.first().and_then(|text| number(text));
        match self.operator.as_str() {
            "In" => is_listed(),
            "NotIn" => !is_listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => value.and_then(number) > limit() && limit().is_some(),
            "Lt" => value.and_then(number).is_some_and(|value| Some(value) < limit()),
            _ => false,
        }
    }
}

/// A `NetworkPolicy`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NetworkPolicy {
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
