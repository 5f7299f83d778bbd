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
    pub config: &'a WindowsNodeConfig,
    pub observed: &'a Observed,
    pub flaps: &'a FlapGuard,
    pub now: Timestamp,
    pub calico: &'a CalicoPlan,
    pub tigera: &'a TigeraPlan,
    pub inputs: &'a Inputs,
    /// What of the cluster is not as the network type needs it.
    pub network: &'a [Finding],
    pub groups: &'a [Group],
}

/// One of the workloads on Windows nodes.
#[derive(Debug)]
pub struct ComponentPlan {
    pub ownership: Ownership,
    /// Its DaemonSets, that of most nodes first; none where the network type has none.
    pub daemon_sets: Vec<DaemonSetPlan>,
    /// Why none of them is rolled out.
    pub blocked: Option<Finding>,
    /// Worth saying although nothing is wrong.
    pub note: Option<String>,
}

#[derive(Debug, Default)]
pub struct DaemonSetPlan {
    pub name: &'static str,
    pub version: Option<Version>,
    pub image: Option<String>,
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
    pub object: OwnObject,
    pub component: Component,
    pub body: Value,
    /// It existed with our values and someone changed or deleted it.
    pub drift: bool,
}
