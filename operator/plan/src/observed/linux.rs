//! Facts of a Linux Node: what Windows nodes depend on.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;

use super::{Labels, flag, items, text, time};

/// What decisions read of a Linux Node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LinuxNodeFacts {
    /// `metadata.labels`: platforms are detected by them, and pools select nodes by them.
    pub labels: Labels,
    /// `spec.providerID`; empty when unset.
    pub provider_id: String,
    /// `status.nodeInfo.kubeletVersion`, e.g. `v1.34.1+rke2r1`.
    pub kubelet_version: String,
    /// Pods may be scheduled on it: see [`schedulable`].
    pub schedulable: bool,
    /// It has label `node-role.kubernetes.io/control-plane`.
    pub control_plane: bool,
    /// First IPv4 address of type `InternalIP`.
    pub internal_ip: Option<Ipv4Addr>,
    /// First IPv4 range of `spec.podCIDRs`.
    pub pod_cidr: Option<Ipv4Net>,
    /// Annotation `projectcalico.org/IPv4Address`, with its prefix length; empty when absent.
    pub bgp_address: String,
    /// Annotation `projectcalico.org/RouteReflectorClusterID` is set.
    pub route_reflector: bool,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// VNI that flannel on the node uses.
    pub flannel_vni: Option<i64>,
}

impl LinuxNodeFacts {
    /// The facts of a Linux Node.
    pub fn read(node: &Value) -> Self {
        let labels = || {
            node.pointer("/metadata/labels")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
        };
        let annotation = |name: &str| {
            let value = node.pointer("/metadata/annotations").and_then(|a| a.get(name));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        Self {
            labels: labels()
                .filter_map(|(name, value)| Some((name, value.as_str()?)))
                .collect(),
            provider_id: text(node, "/spec/providerID").to_owned(),
            kubelet_version: text(node, "/status/nodeInfo/kubeletVersion").to_owned(),
            schedulable: schedulable(node),
            control_plane: labels().any(|(name, _)| name == "node-role.kubernetes.io/control-plane"),
            internal_ip: internal_ip(node),
            pod_cidr: pod_cidr(node),
            bgp_address: annotation("projectcalico.org/IPv4Address").to_owned(),
            route_reflector: !annotation("projectcalico.org/RouteReflectorClusterID").is_empty(),
            created: time(node, "/metadata/creationTimestamp"),
            flannel_vni: super::flannel::announced_vni(node),
        }
    }
}

/// Does the node take pods, as tigera/operator counts them for Typha? A virtual node of AKS is no machine
/// (`pkg/controller/typhaautoscaler/typhaautoscaler.go`, `nodeCounts`).
pub fn schedulable(node: &Value) -> bool {
    let label = |name: &str| node.pointer("/metadata/labels").and_then(|l| l.get(name));
    let kubelet = label("type").is_some_and(|type_| type_ == "virtual-kubelet");
    let virtual_node = kubelet && label("kubernetes.azure.com/cluster").is_some();
    !flag(node, "/spec/unschedulable") && !virtual_node
}

/// First IPv4 address of type `InternalIP`.
pub fn internal_ip(node: &Value) -> Option<Ipv4Addr> {
    items(node, "/status/addresses")
        .filter(|a| text(a, "/type") == "InternalIP")
        .find_map(|a| text(a, "/address").parse().ok())
}

/// First IPv4 range of `spec.podCIDRs`.
pub fn pod_cidr(node: &Value) -> Option<Ipv4Net> {
    let all = items(node, "/spec/podCIDRs").filter_map(Value::as_str);
    all.chain([text(node, "/spec/podCIDR")])
        .find_map(|cidr| cidr.parse().ok())
}
