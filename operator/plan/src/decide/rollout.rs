//! Whether and in what version the agents are rolled out.

use wn_api::names::{CALICO_MINORS, node_agent};
use wn_api::reasons::Reason;
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};

use super::objects::existing;
use super::{DaemonSetPlan, WorkloadPlan};
use crate::calico::{self, CalicoPlan};
use crate::finding::Finding;
use crate::inputs::Inputs;
use crate::network;
use crate::observed::{App, Observed, OwnKind};
use crate::release::{self, Release};
use crate::standing;
use crate::tigera;
use crate::typha;
use crate::workload::{self, Surroundings, Workload};

pub fn agent(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    calico: &CalicoPlan,
    inputs: &Inputs,
) -> WorkloadPlan {
    let release = release::of_agent(spec, observed);
    WorkloadPlan {
        standing: standing::node_agent(spec, observed),
        blocked: tigera::overlap(spec, observed)
            .or_else(|| waiting(App::NodeAgent, observed, calico, inputs))
            .or_else(|| unsupported(release.as_ref(), observed)),
        daemon_sets: vec![DaemonSetPlan {
            name: node_agent::DAEMON_SET,
            version: release.map(|release| release.version),
            ..DaemonSetPlan::default()
        }],
        note: join([
            (spec.network.type_ == NetworkType::FlannelVxlan).then(|| UNTESTED.to_owned()),
            typha::note(observed),
            release::note(spec, observed),
            tigera::note(spec, observed).map(str::to_owned),
        ]),
    }
}

/// A release whose command line is not known, or none that is known at all.
fn unsupported(release: Option<&Release>, observed: &Observed) -> Option<Finding> {
    let found = match release {
        Some(release) if release.version.major == 3 && CALICO_MINORS.contains(&release.version.minor) => {
            return None;
        }
        Some(release) => format!("{} {} is {}", release.object, release.field, release.version),
        None => {
            let information = observed.calico.cluster_information.as_ref();
            let written = information.map_or("", |c| c.calico_version.as_str());
            if written.is_empty() {
                return Some(Finding {
                    reason: Reason::WaitingForPrecondition,
                    message: "waits for ClusterInformation default spec.calicoVersion, which calico-node writes when it first starts"
                        .to_owned(),
                });
            }
            format!("ClusterInformation default spec.calicoVersion is {written}")
        }
    };
    let (from, to) = (CALICO_MINORS.start(), CALICO_MINORS.end());
    Some(Finding {
        reason: Reason::CalicoVersionUnsupported,
        message: format!(
            "{found}: the Windows agent's command line is known for Calico v3.{from} to v3.{to}; run such a release, or run the agent \
             yourself and set spec.nodeAgent.management to External"
        ),
    })
}

/// Notes as one, if there are any.
pub fn join<const N: usize>(notes: [Option<String>; N]) -> Option<String> {
    let all: Vec<_> = notes.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Calico's documentation knows flannel on Windows with host-gw only.
const UNTESTED: &str =
    "Calico's network policy on flannel's VXLAN is not tested on Windows by Calico: see status.advisories";

pub fn network_agent(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    network: &[Finding],
    inputs: &Inputs,
) -> WorkloadPlan {
    let agent = network::of(spec.network.type_).agent();
    let daemon_set = agent.map(|agent| DaemonSetPlan {
        name: agent.daemon_set(),
        ..DaemonSetPlan::default()
    });
    WorkloadPlan {
        standing: standing::network_agent(spec, observed),
        daemon_sets: daemon_set.into_iter().collect(),
        blocked: waiting_for_network(App::NetworkAgent, observed, network, inputs),
        note: None,
    }
}

/// A DaemonSet is first made when it can work. One that is there is kept right in any case: a node must
/// not lose its network because Calico's pool was edited.
pub fn waiting(app: App, observed: &Observed, calico: &CalicoPlan, inputs: &Inputs) -> Option<Finding> {
    let wait = |message: &str| Finding {
        reason: Reason::WaitingForPrecondition,
        message: message.to_owned(),
    };
    if !inputs.complete() {
        return Some(wait("waits for InputsDiscovered"));
    }
    let exists = existing(app, observed).any(|o| o.kind == OwnKind::DaemonSet);
    let what = if calico.policy_only {
        "waits for Calico: its API is not served, or it must not be used now (migration, or datastore not ready)"
    } else {
        "waits for CalicoConfigured"
    };
    (!calico.fit_for_agents && !exists).then(|| wait(what))
}

/// The same where the network is not Calico's.
pub fn waiting_for_network(
    app: App,
    observed: &Observed,
    findings: &[Finding],
    inputs: &Inputs,
) -> Option<Finding> {
    let wait = |message: &str| Finding {
        reason: Reason::WaitingForPrecondition,
        message: message.to_owned(),
    };
    if !inputs.complete() {
        return Some(wait("waits for InputsDiscovered"));
    }
    let exists = existing(app, observed).any(|o| o.kind == OwnKind::DaemonSet);
    let unfit = findings.iter().any(|f| network::blocks(f.reason));
    (unfit && !exists).then(|| wait("waits for NetworkConfigured"))
}

pub fn network_workload(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    around: &Surroundings,
) -> Option<Workload> {
    network::of(spec.network.type_)
        .agent()?
        .workload(spec, observed, around)
}

pub fn agent_workload(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    around: &Surroundings,
) -> Option<Workload> {
    // One that cannot be read does not tell the checksum of its certificates either.
    if calico::datastore::finding(&spec.calico.datastore, observed).is_some() {
        return None;
    }
    let form = calico::api::form(&observed.calico)?;
    Some(workload::node_agent::node_agent(
        &spec.node_agent,
        &release::of_agent(spec, observed)?.version,
        form,
        around,
    ))
}
