//! The network options, one file each. Everything else in the plan knows an option by what it answers here.

mod calico;
mod cloud;
pub mod flannel;
mod reach;
pub mod role;
mod static_routes;

use std::borrow::Cow;

use jiff::Timestamp;
use wn_api::reasons::Reason;
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};

use crate::field::Desired;
use crate::finding::Finding;
use crate::observed::Observed;
use crate::workload::{Surroundings, Workload, node_agent};
use role::{CalicoRole, SourceVip};

/// How pods on Windows nodes can be networked.
pub trait NetworkOption: Sync {
    /// Name of the HNS network kube-proxy programs; `None` where kube-proxy is the platform's in any case.
    fn hns_network(&self, observed: &Observed) -> Option<Cow<'static, str>>;

    /// What kube-proxy's `--source-vip` is taken from.
    fn source_vip(&self) -> SourceVip;

    /// What Calico does on Windows nodes.
    fn calico(&self) -> CalicoRole;

    /// Name of the CNI plugin for Calico's scripts; tigera/operator knows Calico, AmazonVPC, AzureVNET and GKE.
    fn cni_plugin(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> &'static str {
        "None"
    }

    /// Folders of the node that containerd reads: CNI binaries, CNI configuration.
    fn cni_dirs(&self, spec: &WindowsNodeConfigSpec, _: &Observed) -> (String, String) {
        (
            node_agent::bin_dir(&spec.node_agent),
            node_agent::net_dir(&spec.node_agent),
        )
    }

    /// What networks the nodes, where that is neither Calico nor the platform.
    fn agent(&self) -> Option<&'static dyn NetworkAgent> {
        None
    }

    /// Fields outside Calico that must have these values; they are kept, given back and repaired as Calico's are.
    fn settings(&self, _: &Observed) -> Vec<Desired> {
        Vec::new()
    }

    /// Are pod addresses taken of the Node's `spec.podCIDR`?
    fn uses_pod_cidrs(&self) -> bool {
        false
    }

    /// What of the cluster is not as the option needs it, the gravest first.
    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding>;

    /// What a node lacks that it is given a while after it joined, and when the next one will have lacked it too long.
    fn overdue(
        &self,
        _: &WindowsNodeConfigSpec,
        observed: &Observed,
        now: Timestamp,
    ) -> (Option<Finding>, Option<Timestamp>) {
        if self.uses_pod_cidrs() {
            reach::without_pod_cidr(observed, now)
        } else {
            (None, None)
        }
    }

    /// What is worth knowing although nothing is wrong.
    fn notes(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Vec<String> {
        Vec::new()
    }
}

/// A DaemonSet that networks Windows nodes. Its image is the user's: no project publishes one.
pub trait NetworkAgent: Sync {
    /// Name of the DaemonSet.
    fn daemon_set(&self) -> &'static str;

    /// The container that has the last word when the network does not come up.
    fn container(&self) -> &'static str;

    /// What must be in the image, for whoever did not name one.
    fn image(&self) -> &'static str;

    /// `None` while the cluster is not as it needs it; what runs is left as it is then.
    fn workload(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
        around: &Surroundings,
    ) -> Option<Workload>;
}

/// Must a DaemonSet that is not there yet wait because of a finding of this reason? The others concern single nodes,
/// or are over when someone restarts something.
pub const fn blocks(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::PodCIDRMissing
            | Reason::PodCIDRConflict
            | Reason::NotL2Adjacent
            | Reason::RestartNeeded
            | Reason::PrerequisiteMissing
    )
}

/// The option of a network type.
pub fn of(type_: NetworkType) -> &'static dyn NetworkOption {
    match type_ {
        NetworkType::CalicoVxlan => &calico::Vxlan,
        NetworkType::CalicoBgp => &calico::Bgp,
        NetworkType::FlannelHostGateway => &flannel::HostGateway,
        NetworkType::FlannelVxlan => &flannel::Vxlan,
        NetworkType::StaticRoutes => &static_routes::StaticRoutes,
        NetworkType::CloudProvider => &cloud::CloudProvider,
    }
}
