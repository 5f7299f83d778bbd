//! Facts of a Windows Node.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;
use wn_api::names::annotations::{HNS_NETWORK, TAINTED};
use wn_api::names::eks::ADDRESSES;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::names::{CALICO_IS_UP, NODE_CONDITION, READINESS_TAINT, RKE2_ARGUMENTS};
use wn_api::node_reasons::NodeReason;
use wn_workloads::windows::WindowsBuild;

use super::labels::Labels;
use super::linux;
use super::network_made::NetworkMade;
use super::proxy_args;
use super::spread;
use super::{items, text, time};
use crate::version::Version;

/// What decisions and verdicts read of a Windows Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.providerID`; empty when unset.
    pub provider_id: String,
    /// `status.nodeInfo.kernelVersion`, e.g. `10.0.20348.3207`.
    pub kernel_version: String,
    /// `status.nodeInfo.kubeletVersion`, e.g. `v1.34.1`.
    pub kubelet_version: String,
    /// `status.nodeInfo.containerRuntimeVersion`, e.g. `containerd://1.7.22`.
    pub container_runtime: String,
    /// `Ready` is True.
    pub ready: bool,
    /// Message of `Ready` while it is not True.
    pub ready_message: String,
    /// `Ready` is Unknown: the kubelet does not report.
    pub silent: bool,
    /// `NetworkUnavailable` is True.
    pub network_unavailable: bool,
    /// When Calico's startup last succeeded: it then writes `NetworkUnavailable` False with a new transition time,
    /// whatever the condition was. `None` while the condition is True, or somebody else's.
    pub network_up: Option<Timestamp>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// `status.nodeInfo.bootID`; empty when unset.
    pub boot_id: String,
    /// When the boot id was seen to change; `None` after the node has recovered.
    pub rebooted: Option<Timestamp>,
    /// `status.allocatable.pods`.
    pub max_pods: Option<u32>,
    /// Pods may be scheduled on it.
    pub schedulable: bool,
    /// First IPv4 address of type `InternalIP`.
    pub internal_ip: Option<Ipv4Addr>,
    /// First IPv4 range of `spec.podCIDRs`.
    pub pod_cidr: Option<Ipv4Net>,
    /// The resource controller of EKS has addresses for pods of the node.
    pub vpc_addresses: bool,
    /// Annotation `projectcalico.org/IPv4VXLANTunnelAddr`; empty when absent, as are the next three.
    pub tunnel_address: String,
    /// `projectcalico.org/VXLANTunnelMACAddr`.
    pub tunnel_mac: String,
    /// `projectcalico.org/IPv4Address`, with its prefix length.
    pub bgp_address: String,
    /// `projectcalico.org/ASNumber`, as text.
    pub as_number: String,
    /// Annotations that belong on Linux nodes only.
    pub misplaced: Vec<Misplaced>,
    /// `spec.podCIDRs` has a range of IPv6.
    pub dual_stack: bool,
    /// A taint keeps pods away that do not tolerate Windows nodes.
    pub guarded: bool,
    /// Annotation `windowsnode.dev/hns-network`; `None` when it is missing or damaged.
    pub network_made: Option<NetworkMade>,
    /// Condition `windowsnode.dev/WindowsNetworkReady` of the Node.
    pub condition: Option<Box<NetworkCondition>>,
    /// Setting of DSR in the arguments of RKE2's agent; `None` when they have none.
    pub rke2_dsr: Option<bool>,
    /// The Node has the taint of `spec.readiness`, whoever set it.
    pub tainted: bool,
    /// The operator set the taint: annotation `windowsnode.dev/tainted` is there.
    pub taint_is_ours: bool,
}

/// An annotation of Calico that a Windows node must not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Misplaced {
    /// `RouteReflectorClusterID`.
    RouteReflector,
    /// `IPv4IPIPTunnelAddr`.
    Ipip,
    /// `WireguardPublicKey` or `IPv4WireguardInterfaceAddr`.
    Wireguard,
}

const MISPLACED: [(&str, Misplaced); 4] = [
    ("RouteReflectorClusterID", Misplaced::RouteReflector),
    ("IPv4IPIPTunnelAddr", Misplaced::Ipip),
    ("WireguardPublicKey", Misplaced::Wireguard),
    ("IPv4WireguardInterfaceAddr", Misplaced::Wireguard),
];

/// Condition `windowsnode.dev/WindowsNetworkReady` of a Node, as stored or as it is to be written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NetworkCondition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A `NodeReason`, or `AsExpected`.
    pub reason: String,
    /// One sentence: what is wrong and what to do.
    pub message: String,
    /// `lastTransitionTime`.
    pub since: Option<Timestamp>,
    /// `lastHeartbeatTime`: when it was written. `None` if an earlier version wrote it.
    pub heartbeat: Option<Timestamp>,
}

impl NodeFacts {
    /// The facts of a Windows Node.
    pub fn read(node: &Value) -> Self {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let annotations = node.pointer("/metadata/annotations");
        let annotation = |name: &str| {
            let value = annotations.and_then(|a| a.get(format!("projectcalico.org/{name}")));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let condition = |wanted: &str| items(node, "/status/conditions").find(|c| text(c, "/type") == wanted);
        let is_true = |c: &Value| text(c, "/status") == "True";
        let ready = condition("Ready");
        let stored = condition(NODE_CONDITION).map(|c| {
            Box::new(NetworkCondition {
                status: text(c, "/status").to_owned(),
                reason: text(c, "/reason").to_owned(),
                message: text(c, "/message").to_owned(),
                since: time(c, "/lastTransitionTime"),
                heartbeat: time(c, "/lastHeartbeatTime"),
            })
        });
        // The condition remembers a reboot across restarts of the operator.
        let recovering = |s: &NetworkCondition| {
            let of_a_boot = [NodeReason::RecoveringAfterReboot, NodeReason::NotRecovered];
            of_a_boot.iter().any(|reason| reason.as_str() == s.reason)
        };
        Self {
            labels: labels
                .into_iter()
                .flatten()
                .filter_map(|(k, v)| Some((k, v.as_str()?)))
                .collect(),
            provider_id: text(node, "/spec/providerID").to_owned(),
            kernel_version: text(node, "/status/nodeInfo/kernelVersion").to_owned(),
            kubelet_version: text(node, "/status/nodeInfo/kubeletVersion").to_owned(),
            container_runtime: text(node, "/status/nodeInfo/containerRuntimeVersion").to_owned(),
            ready: ready.is_some_and(is_true),
            ready_message: ready
                .filter(|c| !is_true(c))
                .map(|c| text(c, "/message").to_owned())
                .unwrap_or_default(),
            silent: ready.is_some_and(|c| text(c, "/status") == "Unknown"),
            network_unavailable: condition("NetworkUnavailable").is_some_and(is_true),
            network_up: condition("NetworkUnavailable")
                .filter(|c| !is_true(c) && text(c, "/reason") == CALICO_IS_UP)
                .and_then(|c| time(c, "/lastTransitionTime")),
            created: time(node, "/metadata/creationTimestamp"),
            boot_id: text(node, "/status/nodeInfo/bootID").to_owned(),
            rebooted: stored.as_ref().filter(|s| recovering(s)).and_then(|s| s.since),
            max_pods: text(node, "/status/allocatable/pods").parse().ok(),
            schedulable: super::linux::schedulable(node),
            internal_ip: linux::internal_ip(node),
            pod_cidr: linux::pod_cidr(node),
            vpc_addresses: node
                .pointer("/status/allocatable")
                .and_then(|a| a.get(ADDRESSES)?.as_str()?.parse::<u32>().ok())
                .is_some_and(|n| n > 0),
            tunnel_address: annotation("IPv4VXLANTunnelAddr"),
            tunnel_mac: annotation("VXLANTunnelMACAddr"),
            bgp_address: annotation("IPv4Address"),
            as_number: annotation("ASNumber"),
            misplaced: MISPLACED
                .into_iter()
                .filter(|(name, _)| !annotation(name).is_empty())
                .map(|(_, what)| what)
                .collect(),
            guarded: spread::guarded(node),
            rke2_dsr: annotations.and_then(|a| proxy_args::dsr_of_rke2(a.get(RKE2_ARGUMENTS)?.as_str()?)),
            dual_stack: items(node, "/spec/podCIDRs").any(|c| c.as_str().is_some_and(|c| c.contains(':'))),
            network_made: annotations.and_then(|a| NetworkMade::read(a.get(HNS_NETWORK)?.as_str()?)),
            condition: stored,
            taint_is_ours: annotations.is_some_and(|a| a.get(TAINTED).is_some()),
            tainted: items(node, "/spec/taints").any(|t| text(t, "/key") == READINESS_TAINT),
        }
    }

    /// Replaces times after `now` by `now`.
    #[must_use]
    pub fn not_after(mut self, now: Timestamp) -> Self {
        self.created = self.created.map(|at| at.min(now));
        self.rebooted = self.rebooted.map(|at| at.min(now));
        if let Some(condition) = &mut self.condition {
            condition.since = condition.since.map(|at| at.min(now));
        }
        self
    }

    /// The facts of a node that was known before: another boot id means a reboot at `now`.
    #[must_use]
    pub fn after(mut self, earlier: &Self, now: Timestamp) -> Self {
        let known = !earlier.boot_id.is_empty() && !self.boot_id.is_empty();
        self.rebooted = if known && earlier.boot_id != self.boot_id {
            Some(now)
        } else {
            earlier.rebooted
        };
        self
    }

    /// Are all fields equal that decisions about the cluster read? Verdicts read the others.
    pub fn decides_as(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.provider_id == other.provider_id
            && self.kernel_version == other.kernel_version
            && self.kubelet_version == other.kubelet_version
            && self.schedulable == other.schedulable
            && self.internal_ip == other.internal_ip
            && self.pod_cidr == other.pod_cidr
            && self.bgp_address == other.bgp_address
            && self.max_pods == other.max_pods
            && self.misplaced == other.misplaced
            && self.dual_stack == other.dual_stack
            && self.guarded == other.guarded
            && self.vpc_addresses == other.vpc_addresses
            && self.rke2_dsr == other.rke2_dsr
    }

    /// Does the Node have this condition, whenever it was written?
    pub fn has_condition(&self, wanted: &NetworkCondition) -> bool {
        let content = |s: &NetworkCondition| (s.status.clone(), s.reason.clone(), s.message.clone());
        let stored = self.condition.as_ref();
        stored.is_some_and(|stored| stored.heartbeat.is_some() && content(stored) == content(wanted))
    }

    /// Has the Node a condition, a taint or a label of this operator?
    pub fn is_marked(&self) -> bool {
        self.condition.is_some() || self.taint_is_ours || self.labels.get(KUBE_PROXY_GROUP).is_some()
    }

    /// Build and patch level; `None` when the kernel version is not one of Windows.
    pub fn build(&self) -> Option<WindowsBuild> {
        WindowsBuild::parse(&self.kernel_version)
    }

    /// Does kube-proxy of an RKE2 node do DSR? It does where HNS can, unless the user says otherwise (rke2
    /// `pkg/executor/pebinary`). `None` on other nodes.
    pub fn dsr_of_rke2(&self) -> Option<bool> {
        let able = || self.build().map(WindowsBuild::can_dsr);
        let is_rke2 = self.kubelet_version.contains("+rke2r");
        is_rke2.then(|| self.rke2_dsr.or_else(able))?
    }

    /// Version of the kubelet; `None` when it cannot be read.
    pub fn kubelet(&self) -> Option<Version> {
        self.kubelet_version.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn heartbeats_do_not_change_the_fact() {
        let node = |beat: &str| {
            serde_json::json!({
                "metadata": {"labels": {"kubernetes.io/os": "windows"}, "resourceVersion": beat},
                "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": beat}]},
            })
        };
        assert_eq!(NodeFacts::read(&node("1")), NodeFacts::read(&node("2")));
    }

    #[test]
    fn what_is_remembered_of_a_network_reads_back() {
        let made = NetworkMade {
            vni: 4096,
            boot_id: "7".into(),
            tunnel_address: "10.0.0.1".into(),
            tunnel_mac: "00:15:5d:00:00:01".into(),
        };
        let node = |text: String| serde_json::json!({"metadata": {"annotations": {HNS_NETWORK: text}}});
        assert_eq!(NodeFacts::read(&node(made.to_string())).network_made, Some(made));
        for damaged in ["", "vni=x boot=1 address= mac=", "vni=4096 boot=7"] {
            assert_eq!(
                NodeFacts::read(&node(damaged.into())).network_made,
                None,
                "{damaged:?}"
            );
        }
    }

    /// A startup that succeeds again is news, and one that Calico has nothing to do with is none.
    #[rstest]
    #[case("False", "CalicoIsUp", true)]
    #[case("False", "RouteCreated", false)]
    #[case("True", "CalicoIsDown", false)]
    fn when_startup_succeeded(#[case] status: &str, #[case] reason: &str, #[case] up: bool) {
        let node = serde_json::json!({"status": {"conditions": [{"type": "NetworkUnavailable", "status": status,
            "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        assert_eq!(NodeFacts::read(&node).network_up.is_some(), up);
    }

    #[test]
    fn annotations_of_linux_and_a_second_family_are_seen() {
        let node = |cidrs: &[&str]| {
            serde_json::json!({
                "metadata": {"annotations": {
                    "projectcalico.org/RouteReflectorClusterID": "244.0.0.1",
                    "projectcalico.org/WireguardPublicKey": "k",
                    "projectcalico.org/IPv4IPIPTunnelAddr": "",
                }},
                "spec": {"podCIDRs": cidrs},
            })
        };
        let facts = NodeFacts::read(&node(&["10.0.0.0/24", "fd00::/64"]));
        assert_eq!(facts.misplaced, [Misplaced::RouteReflector, Misplaced::Wireguard]);
        let single = NodeFacts::read(&node(&["10.0.0.0/24"]));
        assert!(facts.dual_stack && !single.dual_stack && !facts.decides_as(&single));
    }

    #[test]
    fn a_new_boot_id_is_a_reboot_and_stays_one() {
        let now = Timestamp::UNIX_EPOCH;
        let booted = |id: &str| NodeFacts {
            boot_id: id.into(),
            ..NodeFacts::default()
        };
        let rebooted = booted("2").after(&booted("1"), now);
        assert_eq!(rebooted.rebooted, Some(now));
        assert_eq!(booted("2").after(&rebooted, now).rebooted, Some(now));
        assert_eq!(
            booted("1").after(&booted(""), now).rebooted,
            None,
            "not a change, a first sight"
        );
    }
}
