//! Calico's node agent: its release, and what keeps it from being rolled out.

use wn_api::component::Component;
use wn_api::names::{CALICO_MINORS, node_agent};
use wn_api::reasons::Reason;

use super::ownership;
use super::plan::{Basis, ComponentPlan, DaemonSetPlan};
use super::wait;
use crate::calico;
use crate::finding::{Finding, join};
use crate::network;
use crate::observed::Observed;
use crate::release::{self, Release};
use crate::tigera;
use crate::typha;
use crate::workload::{self, RenderContext, Workload};

const COMPONENT: Component = Component::NodeAgent;

pub fn plan(basis: &Basis) -> ComponentPlan {
    let Basis { spec, observed, .. } = *basis;
    let release = release::of_agent(spec, observed);
    let untested = network::of(spec.network.type_).policy_untested.map(|network| {
        format!(
            "Calico's network policy on {network} is not tested on Windows by Calico: see status.advisories"
        )
    });
    ComponentPlan {
        ownership: ownership::of(COMPONENT, spec, observed),
        blocked: basis
            .tigera
            .overlap
            .clone()
            .or_else(|| wait::for_calico(COMPONENT, basis))
            .or_else(|| unsupported(release.as_ref(), observed)),
        daemon_sets: vec![DaemonSetPlan {
            name: node_agent::DAEMON_SET,
            version: release.map(|release| release.version),
            ..DaemonSetPlan::default()
        }],
        note: join([
            untested,
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

pub fn workload(basis: &Basis, context: &RenderContext) -> Option<Workload> {
    let Basis { spec, observed, .. } = *basis;
    // The checksum of the certificates of an etcd that cannot be read is unknown.
    if calico::datastore::finding(&spec.calico.datastore, observed).is_some() {
        return None;
    }
    let calico_api = calico::api::in_use(&observed.calico)?;
    Some(workload::node_agent::node_agent(
        &spec.node_agent,
        &release::of_agent(spec, observed)?.version,
        calico_api,
        context,
    ))
}
