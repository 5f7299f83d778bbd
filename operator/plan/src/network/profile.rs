//! What a network type is, as data, and the code that only some types need.

use std::borrow::Cow;

use jiff::Timestamp;
use wn_api::calico::ConfigKind;
use wn_api::spec::WindowsNodeConfigSpec;

use super::flannel::settings::vni;
use super::reach;
use super::role::{CalicoRole, Dataplane, SourceVip};
use crate::field::Desired;
use crate::finding::Finding;
use crate::observed::{Observed, Source};
use crate::workload::{RenderContext, Workload, node_agent};

/// How pods on Windows nodes can be networked.
pub struct NetworkProfile {
    /// Kind of the HNS network.
    pub dataplane: Dataplane,
    /// Name of the HNS network.
    pub hns_network: HnsNetwork,
    /// What kube-proxy's `--source-vip` is taken from.
    pub source_vip: SourceVip,
    /// What Calico does on Windows nodes.
    pub calico: CalicoRole,
    /// Name of the CNI plugin for Calico's scripts, as tigera/operator knows it, unless `checks` knows better.
    pub cni_plugin: &'static str,
    /// `spec.network.ipam` may be `HostLocal`.
    pub takes_host_local_ipam: bool,
    /// Pod addresses are taken of the Node's `spec.podCIDR`.
    pub uses_pod_cidrs: bool,
    /// What networks the nodes, where that is neither Calico nor the platform.
    pub agent: Option<&'static dyn NetworkAgent>,
    /// The configuration of another network than Calico's that is read.
    pub config: Option<ConfigKind>,
    /// Objects that only this type reads.
    pub sources: &'static [Source],
    /// tigera/operator installs Calico on Windows nodes of this type.
    pub tigera_operator: bool,
    /// Name of the network, where Calico does not test its policy on it.
    pub policy_untested: Option<&'static str>,
    /// How it is supported, for the README's table.
    pub summary: &'static str,
    /// Code that only this type needs.
    pub checks: &'static dyn NetworkChecks,
}

/// Name of the HNS network kube-proxy programs.
pub enum HnsNetwork {
    /// This name.
    Named(&'static str),
    /// The prefix and the VNI that flannel uses.
    WithFlannelVni(&'static str),
    /// Of the platform's kube-proxy alone.
    OfPlatform,
}

impl NetworkProfile {
    /// Does the platform network the nodes and run their kube-proxy?
    pub fn is_of_platform(&self) -> bool {
        self.dataplane == Dataplane::Platform
    }

    /// Is the HNS network an overlay?
    pub fn is_overlay(&self) -> bool {
        self.dataplane == Dataplane::Overlay
    }

    /// Name of the HNS network kube-proxy programs; `None` where kube-proxy is the platform's in any case.
    pub fn hns_network(&self, observed: &Observed) -> Option<Cow<'static, str>> {
        match self.hns_network {
            HnsNetwork::Named(name) => Some(name.into()),
            HnsNetwork::WithFlannelVni(prefix) => Some(format!("{prefix}{}", vni(observed)).into()),
            HnsNetwork::OfPlatform => None,
        }
    }

    /// The CNI plugin for Calico's scripts.
    pub fn cni_plugin(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> &'static str {
        self.checks.cni_plugin(spec, observed).unwrap_or(self.cni_plugin)
    }

    /// Folders of the node that containerd reads: CNI binaries, CNI configuration.
    pub fn cni_dirs(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> (String, String) {
        let (bin, conf) = self.checks.cni_dirs(spec, observed).unwrap_or_default();
        let agent = &spec.node_agent;
        let or = |given: &Option<String>, known: &str, read: fn(&_) -> String| {
            if given.is_some() || known.is_empty() {
                read(agent)
            } else {
                known.to_owned()
            }
        };
        (
            or(&agent.cni_bin_dir, bin, node_agent::bin_dir),
            or(&agent.cni_conf_dir, conf, node_agent::net_dir),
        )
    }

    /// Something that nodes should have received after joining and have not, and when the next one will be overdue.
    pub fn overdue(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
        now: Timestamp,
    ) -> (Option<Finding>, Option<Timestamp>) {
        if self.uses_pod_cidrs {
            reach::without_pod_cidr(observed, now)
        } else {
            self.checks.overdue(spec, observed, now)
        }
    }
}

/// What a network type decides from what was observed.
pub trait NetworkChecks: Sync {
    /// What of the cluster is not as the type needs it, the gravest first.
    fn findings(&self, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Finding>;

    /// See `NetworkProfile::overdue`.
    fn overdue(
        &self,
        _: &WindowsNodeConfigSpec,
        _: &Observed,
        _: Timestamp,
    ) -> (Option<Finding>, Option<Timestamp>) {
        (None, None)
    }

    /// What is worth knowing although nothing is wrong.
    fn notes(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Vec<String> {
        Vec::new()
    }

    /// Fields outside Calico that must have these values; they are kept, restored and repaired as Calico's are.
    fn settings(&self, _: &Observed) -> Vec<Desired> {
        Vec::new()
    }

    /// The platform's CNI plugin, where it is known.
    fn cni_plugin(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Option<&'static str> {
        None
    }

    /// The platform's folders of CNI binaries and configuration, where they are known.
    fn cni_dirs(&self, _: &WindowsNodeConfigSpec, _: &Observed) -> Option<(&'static str, &'static str)> {
        None
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
        context: &RenderContext,
    ) -> Option<Workload>;
}
