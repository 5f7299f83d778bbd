//! The status, from what was observed, decided and applied. Equal inputs give an equal status, so that
//! writing it does not wake us again.

mod component;
mod conditions;
mod judge;
mod nodes;
mod progress;
mod tigera;
mod whole;

use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_api::component::Component;
use wn_api::names::tigera as names_of_tigera;
use wn_api::reasons::conditions as types;
use wn_api::status::{
    CalicoStatus, GroupStatus, Original, PlatformStatus, WindowsNodeConfigStatus, WorkloadStatus,
};

use crate::advice;
use crate::applied::Applied;
use crate::calico::{Action, Write};
use crate::component::ownership::Ownership;
use crate::component::{ComponentPlan, DaemonSetPlan};
use crate::decide::Plan;
use crate::field::{Change, shown};
use crate::finding::Finding;
use crate::lint::Lint;
use crate::node::{ClusterContext, Table};
use crate::observed::{self, DaemonSetFacts, Observed};
use crate::platform::{self, PlatformPlan};
use crate::release;
use crate::validate::Violation;

use conditions::Verdicts;

pub use conditions::Verdict;

/// The verdicts on the nodes, and what they were judged by.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    /// Verdicts by node.
    pub table: &'a Table,
    /// Cluster-wide facts that they were made with.
    pub cluster: &'a ClusterContext,
}

/// What came of a pass over an object. Where there is none, or the pass ended before it knew (a lost race, say), nothing
/// is written.
#[derive(Clone, Copy)]
pub enum Outcome<'a> {
    /// Parts of the object do not fit the types of this version. Nothing was changed.
    Unreadable {
        /// Which fields those are, and why.
        message: &'a str,
    },
    /// The spec is refused. Nothing was changed.
    Refused {
        /// Why.
        violations: &'a [Violation],
    },
    /// Objects that decisions need cannot be read. Nothing was changed.
    Unread {
        /// Which objects, and why.
        finding: &'a Finding,
    },
    /// The platform is refused. Nothing was changed.
    Unsupported {
        /// The platform, and why it is refused.
        platform: &'a PlatformPlan,
    },
    /// The object is being deleted.
    Restoring {
        /// What deletion waits for.
        message: &'a str,
    },
    /// A plan was made, and applied as far as `applied` says.
    Settled(Settled<'a>),
}

/// A pass that made a plan.
#[derive(Clone, Copy)]
pub struct Settled<'a> {
    /// `metadata.generation` of the object the plan was made for, which may have a newer one by now.
    pub generation: Option<i64>,
    /// Everything observed.
    pub observed: &'a Observed,
    /// The plan.
    pub plan: &'a Plan,
    /// What was done of it.
    pub applied: &'a Applied,
    /// The verdicts.
    pub nodes: Nodes<'a>,
    /// Policies, Services and pods.
    pub lint: &'a Lint,
}

impl<'a> Outcome<'a> {
    const fn settled(self) -> Option<Settled<'a>> {
        match self {
            Self::Settled(settled) => Some(settled),
            Self::Unreadable { .. }
            | Self::Refused { .. }
            | Self::Unread { .. }
            | Self::Unsupported { .. }
            | Self::Restoring { .. } => None,
        }
    }

    /// What was found out about the platform; it is looked at before it is refused.
    const fn platform(self) -> Option<&'a PlatformPlan> {
        match self {
            Self::Settled(settled) => Some(&settled.plan.platform),
            Self::Unsupported { platform } => Some(platform),
            Self::Unreadable { .. } | Self::Refused { .. } | Self::Unread { .. } | Self::Restoring { .. } => {
                None
            }
        }
    }

    /// What `Manage` would write, where that is known.
    fn pending_changes(self) -> Option<Vec<String>> {
        match self {
            Self::Settled(Settled { plan, .. }) if !plan.write => Some(pending(plan)),
            Self::Settled(_) | Self::Unsupported { .. } => Some(Vec::new()),
            Self::Unreadable { .. } | Self::Refused { .. } | Self::Unread { .. } | Self::Restoring { .. } => {
                None
            }
        }
    }
}

/// The status for an outcome, field by field. A field that the outcome does not look at keeps its old value.
pub fn assemble(config: &WindowsNodeConfig, outcome: Outcome, now: Timestamp) -> WindowsNodeConfigStatus {
    let old = config.status.clone().unwrap_or_default();
    let settled = outcome.settled();
    // What was found before a restart holds until the workloads are read again.
    let keeps = |s: Settled| *s.lint == Lint::Reading && old.workloads.is_some();
    let kept = settled.is_some_and(keeps).then_some(types::WORKLOADS_SUPPORTED);
    let generation = settled.map_or(config.metadata.generation, |s| s.generation);
    let [network_agent, node_agent, kube_proxy] = Component::ALL.map(|component| match settled {
        Some(s) => component_status(component, s.plan, s.observed),
        None => old.component(component).cloned(),
    });
    WindowsNodeConfigStatus {
        observed_generation: generation,
        conditions: conditions::set(&old.conditions, generation, verdicts(outcome), kept, now),
        inputs: settled.map_or(old.inputs, |s| Some(s.plan.inputs.status())),
        platform: outcome.platform().map_or(old.platform, platform_status),
        calico: settled.map_or(old.calico, |s| Some(calico_status(config, s.observed, s.plan))),
        node_agent,
        network_agent,
        kube_proxy,
        nodes: settled.map_or(old.nodes, |s| {
            Some(nodes::status(&config.spec, s.observed, s.nodes, now))
        }),
        advisories: settled.map_or(old.advisories, |s| Some(advice::status(&s.plan.advisories))),
        workloads: match settled.filter(|_| kept.is_none()) {
            Some(s) => s.lint.report().map(|report| report.status.clone()),
            None => old.workloads,
        },
        pending_changes: outcome.pending_changes().unwrap_or(old.pending_changes),
    }
}

fn verdicts(outcome: Outcome) -> Verdicts {
    match outcome {
        Outcome::Unreadable { message } => conditions::unreadable(message),
        Outcome::Refused { violations } => {
            let all: Vec<_> = violations.iter().map(ToString::to_string).collect();
            conditions::invalid(&all.join("; "))
        }
        Outcome::Unread { finding } => conditions::unread(finding),
        Outcome::Unsupported { platform } => conditions::unsupported(&platform.findings),
        Outcome::Restoring { message } => conditions::restoring(message),
        Outcome::Settled(s) => judge::judge(s),
    }
}

fn platform_status(plan: &PlatformPlan) -> Option<PlatformStatus> {
    plan.platform.map(|p| PlatformStatus {
        name: platform::name(p).to_owned(),
        source: plan.source.clone(),
    })
}

/// `originals` are as stored: they are written by themselves, before the first write to what they are about, see
/// `originals_to_store`.
fn calico_status(config: &WindowsNodeConfig, observed: &Observed, plan: &Plan) -> CalicoStatus {
    let release = release::of_calico(observed).map(|release| release.version.to_string());
    let written = || {
        let information = observed.calico.cluster_information.as_ref()?;
        Some(information.calico_version.clone())
    };
    let version = release.or_else(written);
    CalicoStatus {
        api: plan.calico.api,
        version: version.filter(|v| !v.is_empty()),
        originals: observed::originals(config).to_vec(),
    }
}

/// What is to be stored before a plan is applied, when it is not yet.
pub fn originals_to_store<'a>(config: &WindowsNodeConfig, plan: &'a Plan) -> Option<&'a [Original]> {
    let list = plan.calico.originals.as_slice();
    (observed::originals(config) != list).then_some(list)
}

/// `None` for a network agent that the network type does without.
fn component_status(component: Component, plan: &Plan, observed: &Observed) -> Option<WorkloadStatus> {
    let plan = &plan.components[component];
    let management = plan.ownership.as_str().to_owned();
    let managed_by = match &plan.ownership {
        Ownership::Managed => return Some(our_status(plan, management, observed)),
        Ownership::External { by } => Some(by.clone()),
        Ownership::NotNeeded { .. } if component == Component::NetworkAgent => return None,
        Ownership::NotNeeded { .. } => None,
    };
    let running = observed.foreign(component).next();
    let counts = running.map(|(_, facts)| facts);
    Some(WorkloadStatus {
        management,
        managed_by,
        daemon_set: running.map(|((namespace, name), _)| format!("{namespace}/{name}")),
        desired: counts.map_or(0, |c| c.desired),
        updated: counts.map_or(0, |c| c.updated),
        ready: counts.map_or(0, |c| c.ready),
        ..WorkloadStatus::default()
    })
}

fn our_status(plan: &ComponentPlan, management: String, observed: &Observed) -> WorkloadStatus {
    let all: Vec<_> = plan
        .daemon_sets
        .iter()
        .map(|d| group_status(d, observed))
        .collect();
    let sum = |count: fn(&GroupStatus) -> i32| all.iter().map(count).sum();
    let (desired, updated, ready) = (sum(|g| g.desired), sum(|g| g.updated), sum(|g| g.ready));
    let main = all.first().cloned().unwrap_or_default();
    // An object that does not exist yet is not listed: a listed object that is missing was deleted, see `component::objects`.
    let exists = |d: &DaemonSetPlan| observed.our_daemon_set(d.name).is_some();
    let made = plan.daemon_sets.iter().zip(all).filter(|(d, _)| exists(d));
    let several = plan.daemon_sets.len() > 1;
    WorkloadStatus {
        management,
        managed_by: None,
        daemon_set: plan
            .daemon_sets
            .first()
            .is_some_and(exists)
            .then_some(main.daemon_set),
        version: main.version,
        image: main.image,
        flags: main.flags,
        desired,
        updated,
        ready,
        groups: made.filter(|_| several).map(|(_, group)| group).collect(),
    }
}

fn group_status(plan: &DaemonSetPlan, observed: &Observed) -> GroupStatus {
    let facts = observed.our_daemon_set(plan.name);
    let count = |read: fn(&DaemonSetFacts) -> i32| facts.map_or(0, read);
    GroupStatus {
        daemon_set: format!("{}/{}", observed.namespace, plan.name),
        version: plan.version.as_ref().map(ToString::to_string),
        image: plan.image.clone(),
        flags: plan.flags.clone(),
        desired: count(|f| f.desired),
        updated: count(|f| f.updated),
        ready: count(|f| f.ready),
    }
}

/// What `Manage` would write, one line a change: `status.pendingChanges` in mode `Observe`.
pub fn pending(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<_> = plan.calico.writes.iter().flat_map(calico_lines).collect();
    lines.extend(plan.objects.iter().map(|o| {
        format!(
            "apply {:?} {}/{}",
            o.object.kind, o.object.namespace, o.object.name
        )
    }));
    lines.extend(plan.services_endpoint.iter().map(|_| {
        format!(
            "create ConfigMap {}/{}",
            names_of_tigera::NAMESPACE,
            names_of_tigera::SERVICES_ENDPOINT
        )
    }));
    lines.extend(
        plan.deletions
            .iter()
            .map(|(_, o)| format!("delete {:?} {}/{}", o.kind, o.namespace, o.name)),
    );
    lines
}

fn calico_lines(write: &Write) -> Vec<String> {
    let verb = if matches!(write.action, Action::Create { .. }) {
        "create with"
    } else {
        "set"
    };
    write
        .changes
        .iter()
        .map(|c| format!("{verb} {}", describe(c)))
        .collect()
}

/// `IPPool default-ipv4-ippool spec.ipipMode from Always to Never`.
pub fn describe(change: &Change) -> String {
    format!(
        "{} from {} to {}",
        change.id,
        shown(change.from.as_ref()),
        shown(change.to.as_ref())
    )
}
