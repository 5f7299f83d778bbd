//! What components are planned from, and the plan of one.

use jiff::Timestamp;
use serde_json::Value;
use wn_api::WindowsNodeConfig;
use wn_api::component::Component;
use wn_api::spec::WindowsNodeConfigSpec;

use super::ownership::Ownership;
use crate::calico::CalicoPlan;
use crate::calico::flap_guard::FlapGuard;
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::observed::{Observed, OwnObject};
use crate::tigera::TigeraPlan;
use crate::version::Version;
use crate::workload::kube_proxy::Group;

/// Everything that the plan of a component depends on.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    /// The valid spec of `config`.
    pub spec: &'a WindowsNodeConfigSpec,
    /// The object, for the owner reference.
    pub config: &'a WindowsNodeConfig,
    /// Everything observed.
    pub observed: &'a Observed,
    /// What is contested.
    pub flaps: &'a FlapGuard,
    /// The time of the pass.
    pub now: Timestamp,
    /// What happens to Calico in this pass.
    pub calico: &'a CalicoPlan,
    /// Who runs the agent beside tigera/operator.
    pub tigera: &'a TigeraPlan,
    /// Addresses that Windows nodes use.
    pub inputs: &'a Inputs,
    /// What of the cluster is not as the network type needs it.
    pub network: &'a [Finding],
    /// Groups of nodes, each with its own kube-proxy.
    pub groups: &'a [Group],
}

/// One of the workloads on Windows nodes.
#[derive(Debug)]
pub struct ComponentPlan {
    /// Who runs it.
    pub ownership: Ownership,
    /// Its DaemonSets, that of most nodes first; none where the network type has none.
    pub daemon_sets: Vec<DaemonSetPlan>,
    /// Why none of them is rolled out.
    pub blocked: Option<Finding>,
    /// Worth saying although nothing is wrong.
    pub note: Option<String>,
}

/// One DaemonSet of a component, for the status.
#[derive(Debug, Default)]
pub struct DaemonSetPlan {
    /// Name of the DaemonSet.
    pub name: &'static str,
    /// Version of Calico or of kube-proxy; `None` when it is unknown.
    pub version: Option<Version>,
    /// Image of its main container; `None` when it cannot be rendered.
    pub image: Option<String>,
    /// Arguments of kube-proxy that the operator decided.
    pub flags: Vec<String>,
    /// Why this one is not rolled out, although others may be.
    pub blocked: Option<Finding>,
}

/// What is to be done to objects of ours.
#[derive(Debug, Default)]
pub struct Changes {
    /// Objects that differ from what they should be.
    pub objects: Vec<ObjectWrite>,
    /// Objects that differ, and are left to who changes them.
    pub contested: Vec<OwnObject>,
    /// Objects that should not be.
    pub deletions: Vec<(Component, OwnObject)>,
    /// When contested objects are to be looked at again.
    pub revisit: Option<Timestamp>,
}

impl Changes {
    /// Adds the changes of another component.
    pub fn extend(&mut self, more: Self) {
        let Self {
            objects,
            contested,
            deletions,
            revisit,
        } = more;
        self.objects.extend(objects);
        self.contested.extend(contested);
        self.deletions.extend(deletions);
        self.revisit = self.revisit.into_iter().chain(revisit).min();
    }
}

/// A server-side apply of an object we own.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectWrite {
    /// The object.
    pub object: OwnObject,
    /// The component that it belongs to.
    pub component: Component,
    /// The object as applied.
    pub body: Value,
    /// It existed with our values and someone changed or deleted it.
    pub drift: bool,
}
