//! kube-proxy: the groups of nodes that it is rolled out to, and the arguments of each.

use wn_api::component::Component;
use wn_api::names::labels;
use wn_api::reasons::Reason;
use wn_api::spec::{Dsr, Mode, WindowsNodeConfigSpec};

use super::ownership;
use super::plan::{Basis, ComponentPlan, DaemonSetPlan};
use super::wait;
use crate::finding::{Finding, join, names_of};
use crate::network;
use crate::observed::{NodeFacts, Observed};
use crate::selection;
use crate::version::Version;
use crate::workload::kube_proxy::{Group, Members, arguments, kube_proxy};
use crate::workload::{RenderContext, Workload};

const COMPONENT: Component = Component::KubeProxy;

pub fn plan(basis: &Basis) -> ComponentPlan {
    let Basis { spec, observed, .. } = *basis;
    let hns_network = network::of(spec.network.type_)
        .hns_network(observed)
        .unwrap_or_default();
    let daemon_sets = basis.groups.iter().map(|group| DaemonSetPlan {
        name: group.members.daemon_set(),
        version: Some(group.version.clone()),
        image: None,
        flags: arguments(&spec.kube_proxy, &group.version, group.dsr, &hns_network),
        blocked: impossible(spec, group, observed),
    });
    ComponentPlan {
        ownership: ownership::of(COMPONENT, spec, observed),
        daemon_sets: daemon_sets.collect(),
        blocked: if basis.calico.policy_only {
            wait::for_network(COMPONENT, basis)
        } else {
            wait::for_calico(COMPONENT, basis)
        },
        note: note(spec, observed, basis.groups),
    }
}

/// Every group that has nodes, and that of the rest, which may have none. None before any version is known.
pub fn groups(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Group> {
    let Some(version) = version(spec, observed) else {
        return Vec::new();
    };
    let dsr = spec.kube_proxy.dsr;
    let group = |members, dsr| Group {
        members,
        dsr,
        version: version.clone(),
    };
    let mut all = vec![group(Members::Rest, dsr != Dsr::Disabled)];
    if dsr != Dsr::Disabled {
        all.push(group(Members::UnableToDsr, dsr == Dsr::Enabled));
        let used = |group: &Group| {
            let mut nodes = selection::nodes(&spec.node_selector, observed);
            group.members == Members::Rest || nodes.any(|(_, node)| group.members.take(node))
        };
        all.retain(used);
    }
    all
}

/// DaemonSets of all groups. None while a node still lacks the label of its group: it would run another group's.
pub fn workloads(basis: &Basis, context: &RenderContext) -> Vec<Workload> {
    let Basis {
        spec,
        observed,
        groups,
        ..
    } = *basis;
    if spec.mode == Mode::Manage && !unlabelled(spec, groups, observed).is_empty() {
        return Vec::new();
    }
    let all = groups.iter();
    all.map(|group| kube_proxy(&spec.kube_proxy, group, context))
        .collect()
}

/// The lowest kubelet version of the selected nodes, so that kube-proxy is nowhere newer than the kubelet;
/// before the first node joins, the API server's.
fn version(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Version> {
    let asked = spec.kube_proxy.version.as_deref().and_then(|v| v.parse().ok());
    let nodes = || selection::nodes(&spec.node_selector, observed);
    let lowest = || nodes().filter_map(|(_, node)| node.kubelet()).min();
    asked.or_else(lowest).or_else(|| observed.kubernetes.clone())
}

/// DSR is asked for where it cannot be.
fn impossible(spec: &WindowsNodeConfigSpec, group: &Group, observed: &Observed) -> Option<Finding> {
    (group.members == Members::UnableToDsr && group.dsr).then(|| Finding {
        reason: Reason::DSRUnsupported,
        message: format!(
            "spec.kubeProxy.dsr is Enabled, but the Windows build of {} cannot do DSR (needs 17763.1432, KB4571748, or later): update \
             these nodes, or set dsr to Auto",
            nodes_of(spec, Members::UnableToDsr, observed)
        ),
    })
}

fn note(spec: &WindowsNodeConfigSpec, observed: &Observed, groups: &[Group]) -> Option<String> {
    let unlabelled = unlabelled(spec, groups, observed);
    let waits = (spec.mode == Mode::Manage && !unlabelled.is_empty()).then(|| {
        format!(
            "changes of kube-proxy wait until Node {unlabelled} has the label {} of its group",
            labels::KUBE_PROXY_GROUP
        )
    });
    let unable = nodes_of(spec, Members::UnableToDsr, observed);
    let off = match spec.kube_proxy.dsr {
        Dsr::Disabled => Some(
            "DSR is off because spec.kubeProxy.dsr is Disabled: network policy on ClusterIPs is not enforced on Windows nodes"
                .to_owned(),
        ),
        Dsr::Auto if !unable.is_empty() => Some(format!(
            "DSR is off on {unable}, whose Windows build cannot do it (needs 17763.1432, KB4571748, or later): network policy on \
             ClusterIPs is not enforced there"
        )),
        Dsr::Auto | Dsr::Enabled => None,
    };
    join([waits, off])
}

/// Names of at most three nodes; empty when there is none.
fn nodes_of(spec: &WindowsNodeConfigSpec, members: Members, observed: &Observed) -> String {
    let nodes = selection::nodes(&spec.node_selector, observed);
    names_of(nodes.filter(|(_, node)| members.take(node)).map(|(name, _)| name))
}

/// Names of at most three nodes that do not have the label of their group yet.
fn unlabelled(spec: &WindowsNodeConfigSpec, groups: &[Group], observed: &Observed) -> String {
    let lacks = |node: &NodeFacts| {
        let wanted = Group::of(groups, node).and_then(|g| g.members.label());
        wanted.is_some() && wanted != node.labels.get(labels::KUBE_PROXY_GROUP)
    };
    let nodes = selection::nodes(&spec.node_selector, observed);
    names_of(nodes.filter(|(_, node)| lacks(node)).map(|(name, _)| name))
}
