//! Calico's configuration: what Windows nodes need of it, who may be overruled for it, what is restored.
//!
//! The plan has kinds, names and fields. The runtime knows which API or store holds them.
//! Invariant: no write without an entry in `originals` that was stored before it.

pub mod api;
pub mod capacity;
pub mod datastore;
mod desired;
pub mod flap_guard;
pub mod held;
mod hold;
mod installation;
mod judged;
pub mod originals;
mod ownership;
pub mod pools;
pub mod restore;
mod selector;
mod writes;

use jiff::Timestamp;
use serde_json::{Map, Value};
use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::reasons::Reason;
use wn_api::spec::WindowsNodeConfigSpec;
use wn_api::status::Original;

pub use desired::found_vni;

use crate::field::{Change, FieldId};
use crate::finding::Finding;
use crate::network::{self, NetworkProfile};
use crate::observed::Observed;
use flap_guard::FlapGuard;

/// A write to one Calico object.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Kind of the object.
    pub kind: ConfigKind,
    /// Name of the object.
    pub name: String,
    /// The request.
    pub action: Action,
    /// The fields that it changes, for Events and `mode: Observe`.
    pub changes: Vec<Change>,
}

/// How it is written. Each carries the resource version it was decided on, so that a decision about
/// somebody else's field never lands on a newer object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Creates the object; fails if it exists.
    Create {
        /// Its fields.
        spec: Map<String, Value>,
    },
    /// Server-side apply of every field we hold on the object.
    Apply {
        /// Every field that the operator holds on the object, with its desired value.
        spec: Map<String, Value>,
        /// Version that was decided on.
        resource_version: String,
    },
    /// Merge patch that restores fields; null removes one.
    Restore {
        /// Fields to set, and null for fields to remove.
        spec: Map<String, Value>,
        /// Version that was decided on.
        resource_version: String,
    },
    /// Deletes an object that the operator created.
    Delete {
        /// Uid of that object.
        uid: String,
        /// Version that was decided on.
        resource_version: String,
    },
}

/// What to do to Calico now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalicoPlan {
    /// The API that Calico uses; `None` when there is no Calico.
    pub api: Option<CalicoApi>,
    /// In the order they are to be made; the first failure ends the pass.
    pub writes: Vec<Write>,
    /// To be stored before the first write.
    pub originals: Vec<Original>,
    /// Which of them nobody knows the value of, and what to do about it.
    pub unknown: Option<Finding>,
    /// What is not as Windows nodes need it, and stays so for now.
    pub findings: Vec<Finding>,
    /// Fields that were just found contested.
    pub given_up: Vec<FieldId>,
    /// When a contested field is to be looked at again.
    pub revisit: Option<Timestamp>,
    /// Agents may be started: Calico is, or will be after `writes`, what they need.
    pub fit_for_agents: bool,
    /// Calico's configuration was read and judged: nothing keeps us from knowing it.
    pub judged: bool,
    /// Calico networks nothing here: its own configuration is nobody's concern.
    pub policy_only: bool,
    /// What of the network's own configuration, which is not Calico's, is not as it must be.
    pub of_network: Vec<Finding>,
}

/// Decides on every field of Calico for a spec that is valid.
pub fn plan(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    flaps: &FlapGuard,
    now: Timestamp,
) -> CalicoPlan {
    let held = held::held(observed);
    let profile = network::of(spec.network.type_);
    if profile.calico.backend().is_none() {
        return beside(profile, spec, observed, flaps, held, now);
    }
    if let Some(finding) = datastore::finding(&spec.calico.datastore, observed) {
        let calico_api = datastore::of_another(&spec.calico.datastore, observed);
        return blocked(
            calico_api.or_else(|| api::in_use(&observed.calico)),
            held,
            finding.reason,
            finding.message,
        );
    }
    let Some(calico_api) = api::in_use(&observed.calico) else {
        return blocked(None, held, Reason::CalicoNotInstalled, NOT_INSTALLED.to_owned());
    };
    if let Some(unclear) = api::unclear(&observed.calico) {
        return blocked(Some(calico_api), held, unclear.reason, unclear.message);
    }
    if let Some(pause) = api::pause(&observed.calico) {
        let (reason, message) = describe(&pause);
        return blocked(Some(calico_api), held, reason, message);
    }
    let judged = ownership::judge(spec, observed, &held, flaps, now);
    let list = originals::next(&held, &judged, spec, observed);
    CalicoPlan {
        api: Some(calico_api),
        writes: writes::writes(&judged, observed, &held, &list),
        unknown: originals::unknown(&list, spec),
        originals: list,
        fit_for_agents: judged.findings.iter().all(|f| f.reason == Reason::ReportOnly),
        findings: judged.findings,
        given_up: judged.given_up,
        revisit: judged.revisit,
        judged: true,
        ..CalicoPlan::default()
    }
}

/// The VNI that agents use: that of `FelixConfiguration` after the writes of the plan.
pub fn agents_vni(spec: &WindowsNodeConfigSpec, observed: &Observed, plan: &CalicoPlan) -> i32 {
    let changes = plan.writes.iter().flat_map(|w| &w.changes);
    desired::agents_vni(spec, observed, changes, &plan.originals)
}

/// Where Calico only enforces policy, the fields of whatever networks the nodes are set instead of Calico's.
fn beside(
    profile: &NetworkProfile,
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    flaps: &FlapGuard,
    held: Vec<Original>,
    now: Timestamp,
) -> CalicoPlan {
    let calico_api = api::in_use(&observed.calico);
    let fields = profile.checks.settings(observed);
    let (judged, of_network) = match network::flannel::held(spec, observed, &fields) {
        Some(finding) => (judged::Judged::default(), vec![finding]),
        None => ownership::judge_fields(fields, spec, observed, &held, flaps, now),
    };
    let list = originals::next(&held, &judged, spec, observed);
    let mut findings = judged.findings.clone();
    let unclear = api::unclear(&observed.calico);
    let usable = calico_api.is_some() && unclear.is_none() && api::pause(&observed.calico).is_none();
    findings.extend(unclear);
    CalicoPlan {
        api: calico_api,
        writes: writes::writes(&judged, observed, &held, &list),
        unknown: originals::unknown(&list, spec),
        originals: list,
        fit_for_agents: usable,
        judged: true,
        policy_only: true,
        of_network,
        given_up: judged.given_up,
        revisit: judged.revisit,
        findings,
    }
}

const NOT_INSTALLED: &str = "neither crd.projectcalico.org nor projectcalico.org defines FelixConfiguration: install Calico; \
                             the operator continues by itself";

fn blocked(
    calico_api: Option<CalicoApi>,
    originals: Vec<Original>,
    reason: Reason,
    message: String,
) -> CalicoPlan {
    CalicoPlan {
        api: calico_api,
        originals,
        findings: vec![Finding { reason, message }],
        ..CalicoPlan::default()
    }
}

fn describe(pause: &api::Pause) -> (Reason, String) {
    match pause {
        api::Pause::Migration { name, phase } => (
            Reason::MigrationRunning,
            format!("DatastoreMigration {name} is {phase}: writes to Calico wait until it is over"),
        ),
        api::Pause::DatastoreNotReady => (
            Reason::DatastoreNotReady,
            "ClusterInformation default spec.datastoreReady is false: writes to Calico wait until it is true"
                .to_owned(),
        ),
    }
}
