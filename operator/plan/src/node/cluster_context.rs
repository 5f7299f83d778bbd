//! Cluster-wide facts that node checks read. When one changes, every node is checked again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::component::{Component, PerComponent};
use wn_api::spec::{Ipam, NetworkType, WindowsNodeConfigSpec};

use crate::calico;
use crate::calico::pools::{self, Offer};
use crate::component::ComponentPlan;
use crate::component::ownership::Ownership;
use crate::decide::Plan;
use crate::network;
use crate::observed::{DaemonSetFacts, NodeFacts, Observed};
use crate::selection;
use crate::version::Version;
use crate::workload::kube_proxy::Group;

/// Cluster-wide facts that node checks read.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterContext {
    /// `spec.network.type`.
    pub network: NetworkType,
    /// `spec.network.ipam`.
    pub ipam: Ipam,
    /// `spec.nodeSelector`: nodes without these labels are not judged.
    pub node_selector: BTreeMap<String, String>,
    /// How each component is run.
    pub components: PerComponent<Run>,
    /// Version of the API server.
    pub kubernetes: Option<Version>,
    /// Groups of nodes, each with its kube-proxy; none where somebody else runs kube-proxy.
    pub groups: Vec<Group>,
    /// Somebody else's DaemonSet of kube-proxy, where there is just one.
    pub theirs: Option<DaemonSetFacts>,
    /// Calico enforces network policy on Windows nodes.
    pub policy: bool,
    /// The VNI that agents use.
    pub vni: i64,
    /// The VNI that Felix of all nodes has, where its configuration says one.
    pub felix_vni: Option<i64>,
    /// Calico's IPAM configuration; `None` while it is unknown, or where Calico only enforces policy.
    pub calico_ipam: Option<CalicoIpam>,
    /// VNIs that Felix of single nodes has.
    pub own_vnis: BTreeMap<String, i64>,
    /// CNI folders as configured: binaries, configuration.
    pub cni_dirs: (String, String),
}

/// Calico's IPAM configuration as far as it decides whether a Windows node is given addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalicoIpam {
    /// `strictAffinity` is false. What is not there yet is made by the first node that asks.
    pub lax: bool,
    /// Pools that Windows nodes may take blocks of.
    pub pools: Vec<Offer>,
}

/// How a component is run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The operator runs it, so that a missing pod is a problem.
    pub ours: bool,
    /// Why it is not rolled out.
    pub blocked: Option<&'static str>,
    /// When the newest DaemonSet of the component was created; `None` when there is none.
    pub created: Option<Timestamp>,
}

impl ClusterContext {
    /// The facts after a pass.
    pub fn of(spec: &WindowsNodeConfigSpec, observed: &Observed, plan: &Plan) -> Self {
        Self {
            network: spec.network.type_,
            ipam: spec.network.ipam,
            node_selector: spec.node_selector.clone(),
            components: PerComponent::new(|component| run(plan, component, observed)),
            kubernetes: observed.kubernetes.clone(),
            groups: if plan.components[Component::KubeProxy].ownership == Ownership::Managed {
                plan.groups.clone()
            } else {
                Vec::new()
            },
            theirs: theirs(&plan.components[Component::KubeProxy], observed),
            policy: !matches!(
                plan.components[Component::NodeAgent].ownership,
                Ownership::NotNeeded { .. }
            ),
            vni: calico::agents_vni(spec, observed, &plan.calico).into(),
            felix_vni: calico::found_vni(observed).map(Into::into),
            calico_ipam: (plan.calico.judged && !plan.calico.policy_only).then(|| calico_ipam(observed)),
            own_vnis: own_vnis(observed),
            cni_dirs: network::of(spec.network.type_).cni_dirs(spec, observed),
        }
    }
}

impl ClusterContext {
    /// Label of the group that a selected node is in.
    pub fn label(&self, node: &NodeFacts) -> Option<&'static str> {
        let group = Group::of(&self.groups, node).filter(|_| selection::selects(&self.node_selector, node));
        group.and_then(|group| group.members.label())
    }
}

fn theirs(proxy: &ComponentPlan, observed: &Observed) -> Option<DaemonSetFacts> {
    let mut all = observed.foreign(Component::KubeProxy).map(|(_, facts)| facts);
    let one = all.next().filter(|_| proxy.ownership != Ownership::Managed)?;
    // Counts change as it is rolled out, and are nothing to judge a node by.
    let steady = DaemonSetFacts {
        desired: 0,
        updated: 0,
        ready: 0,
        current: true,
        ..one.clone()
    };
    all.next().is_none().then_some(steady)
}

fn run(plan: &Plan, component: Component, observed: &Observed) -> Run {
    let plan = &plan.components[component];
    let daemon_sets = observed
        .daemon_sets
        .values()
        .filter(|d| d.component == component && d.ours);
    Run {
        ours: plan.ownership == Ownership::Managed,
        blocked: plan.blocked.as_ref().map(|f| f.reason.as_str()),
        created: daemon_sets.filter_map(|d| d.created).max(),
    }
}

fn calico_ipam(observed: &Observed) -> CalicoIpam {
    let config = (ConfigKind::IpamConfiguration, DEFAULT.to_owned());
    let config = observed.calico.objects.get(&config);
    CalicoIpam {
        lax: config.is_some_and(|c| !c.is_true("strictAffinity")),
        pools: pools::offers(observed),
    }
}

/// `FelixConfiguration` `node.<name>` overrides the default for one node.
fn own_vnis(observed: &Observed) -> BTreeMap<String, i64> {
    let felix = observed
        .calico
        .objects
        .iter()
        .filter(|((kind, _), _)| *kind == ConfigKind::FelixConfiguration);
    felix
        .filter_map(|((_, name), object)| {
            let node = name.strip_prefix("node.")?;
            Some((node.to_owned(), object.spec.get("vxlanVNI")?.as_i64()?))
        })
        .collect()
}
