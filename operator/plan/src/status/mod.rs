//! The status, from what was observed, decided and applied. Equal inputs give an equal status, so that
//! writing it does not wake us again.

mod conditions;
mod judge;
mod nodes;
mod tigera;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use wn_api::WindowsNodeConfig;
use wn_api::names::tigera as names_of_tigera;
use wn_api::status::{CalicoStatus, PlatformStatus, WindowsNodeConfigStatus, WorkloadStatus};

use crate::advice;
use crate::applied::Applied;
use crate::calico::{Action, Write};
use crate::decide::{Plan, WorkloadPlan};
use crate::field::{Change, shown};
use crate::finding::Finding;
use crate::node::{Setting, Table};
use crate::observed::{App, Observed};
use crate::platform::{self, PlatformPlan};
use crate::standing::Standing;
use crate::validate::Violation;

use conditions::Verdicts;

/// The verdicts on the nodes, and what they were judged by.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    pub table: &'a Table,
    pub setting: &'a Setting,
}

/// A refused spec: says why, and keeps everything else as it was, because nothing was touched.
pub fn refused(
    config: &WindowsNodeConfig,
    violations: &[Violation],
    now: Timestamp,
) -> WindowsNodeConfigStatus {
    let message = violations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ");
    let old = config.status.clone().unwrap_or_default();
    let conditions = conditions::invalid(&old.conditions, config.metadata.generation, &message, now);
    WindowsNodeConfigStatus {
        observed_generation: config.metadata.generation,
        conditions,
        ..old
    }
}

/// What decisions need cannot be read: says so, and keeps everything else as it was, because nothing was touched.
pub fn unread(config: &WindowsNodeConfig, finding: &Finding, now: Timestamp) -> WindowsNodeConfigStatus {
    let old = config.status.clone().unwrap_or_default();
    let conditions = conditions::unread(&old.conditions, config.metadata.generation, finding, now);
    WindowsNodeConfigStatus {
        observed_generation: config.metadata.generation,
        conditions,
        ..old
    }
}

/// A platform that is refused: says why, and keeps everything else as it was, because nothing was touched.
pub fn unsupported(
    config: &WindowsNodeConfig,
    plan: &PlatformPlan,
    now: Timestamp,
) -> WindowsNodeConfigStatus {
    let old = config.status.clone().unwrap_or_default();
    let generation = config.metadata.generation;
    let conditions = plan.findings.first().map_or_else(
        || old.conditions.clone(),
        |finding| conditions::unsupported(&old.conditions, generation, finding, now),
    );
    WindowsNodeConfigStatus {
        observed_generation: generation,
        conditions,
        platform: platform_status(plan),
        pending_changes: Vec::new(),
        ..old
    }
}

fn platform_status(plan: &PlatformPlan) -> Option<PlatformStatus> {
    plan.platform.map(|p| PlatformStatus {
        name: platform::name(p).to_owned(),
        source: plan.source.clone(),
    })
}

/// The status while the cluster is given back.
pub fn restoring(config: &WindowsNodeConfig, message: &str, now: Timestamp) -> WindowsNodeConfigStatus {
    let old = config.status.clone().unwrap_or_default();
    let conditions = conditions::restoring(&old.conditions, config.metadata.generation, message, now);
    WindowsNodeConfigStatus {
        observed_generation: config.metadata.generation,
        conditions,
        ..old
    }
}

/// The status after a plan was applied, or only made (mode `Observe`).
pub fn build(
    config: &WindowsNodeConfig,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    nodes: Nodes,
    now: Timestamp,
) -> WindowsNodeConfigStatus {
    let old: &[Condition] = config.status.as_ref().map_or(&[], |s| &s.conditions);
    let judged = judge::judge(observed, plan, applied, nodes.table);
    WindowsNodeConfigStatus {
        observed_generation: config.metadata.generation,
        conditions: conditions::set(old, config.metadata.generation, judged, now),
        inputs: Some(plan.inputs.status()),
        platform: platform_status(&plan.platform),
        calico: Some(calico_status(config, observed, plan)),
        node_agent: Some(workload_status(&plan.agent, App::NodeAgent, observed)),
        network_agent: needed(&plan.network_agent)
            .then(|| workload_status(&plan.network_agent, App::NetworkAgent, observed)),
        kube_proxy: Some(workload_status(&plan.proxy, App::KubeProxy, observed)),
        nodes: Some(nodes::status(&config.spec, observed, nodes, now)),
        advisories: Some(advice::status(&plan.advisories)),
        pending_changes: if plan.write { Vec::new() } else { pending(plan) },
    }
}

/// What is kept for the day of deletion is stored by itself, before the first write: see `with_originals`.
fn calico_status(config: &WindowsNodeConfig, observed: &Observed, plan: &Plan) -> CalicoStatus {
    let held = || {
        config
            .status
            .as_ref()
            .and_then(|s| s.calico.as_ref())
            .map(|c| c.originals.clone())
            .unwrap_or_default()
    };
    let version = observed
        .calico
        .cluster_information
        .as_ref()
        .map(|c| c.calico_version.clone());
    CalicoStatus {
        api: plan.calico.form,
        version: version.filter(|v| !v.is_empty()),
        originals: if plan.write {
            plan.calico.originals.clone()
        } else {
            held()
        },
    }
}

/// The stored status with the originals of a plan, when they are not stored yet.
pub fn with_originals(config: &WindowsNodeConfig, plan: &Plan) -> Option<WindowsNodeConfigStatus> {
    let mut status = config.status.clone().unwrap_or_default();
    let mut calico = status.calico.take().unwrap_or_default();
    if calico.originals == plan.calico.originals {
        return None;
    }
    calico.originals = plan.calico.originals.clone();
    Some(WindowsNodeConfigStatus {
        calico: Some(calico),
        ..status
    })
}

fn workload_status(plan: &WorkloadPlan, app: App, observed: &Observed) -> WorkloadStatus {
    let ours = plan.standing == Standing::Managed;
    let running = observed
        .daemon_sets
        .iter()
        .find(|(_, facts)| facts.app == app && facts.ours == ours);
    let counts = running.map(|(_, facts)| facts);
    WorkloadStatus {
        management: plan.standing.as_str().to_owned(),
        managed_by: match &plan.standing {
            Standing::Managed => None,
            Standing::External { by } => Some(by.clone()),
            Standing::NotNeeded { .. } => None,
        },
        daemon_set: running.map(|((namespace, name), _)| format!("{namespace}/{name}")),
        version: plan.version.as_ref().filter(|_| ours).map(ToString::to_string),
        image: plan.image.clone(),
        flags: if ours { plan.flags.clone() } else { Vec::new() },
        desired: counts.map_or(0, |c| c.desired),
        updated: counts.map_or(0, |c| c.updated),
        ready: counts.map_or(0, |c| c.ready),
    }
}

fn needed(plan: &WorkloadPlan) -> bool {
    !matches!(plan.standing, Standing::NotNeeded { .. })
}

/// One line a change, for mode `Observe`.
fn pending(plan: &Plan) -> Vec<String> {
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
            .map(|o| format!("delete {:?} {}/{}", o.kind, o.namespace, o.name)),
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
