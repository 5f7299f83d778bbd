//! What `/metrics` says: counts of what the operator did, and how the nodes are.
//!
//! Invariant: no label's values grow with the cluster without a limit. Names of nodes and pools are in the status and in Events.

mod client;
mod findings;
mod labels;
mod round;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use wn_api::calico::ConfigKind;
use wn_api::node_reasons::NodeReason;
use wn_api::reasons::conditions;
use wn_api::status::Severity;
use wn_plan::advice;
use wn_plan::lint::Series;
use wn_plan::node::State;
use wn_plan::observed::tigera;

use crate::error::Error;

use findings::Found;
use labels::{
    ByAdvisory, ByClass, ByCondition, ByField, ByKind, ByReason, ByRequest, ByState, ByTopic, Class,
};
use round::{Age, Round};
use watches::Watched;

pub use labels::Pass;
pub use watches::Pulse;

/// What the text of [`Metrics::text`] is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Field of a repaired object that is ours as a whole.
pub const WHOLE_OBJECT: &str = "object";

/// From a pass over facts alone to one that waits for a slow API server.
const SECONDS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0];

/// What can drift. A counter that is not there before its first event has no increase at that event.
const FIELDS: [(&str, &[&str]); 7] = [
    (ConfigKind::IpamConfiguration.as_str(), &["strictAffinity"]),
    (ConfigKind::IpPool.as_str(), &["ipipMode", "vxlanMode"]),
    (
        ConfigKind::FelixConfiguration.as_str(),
        &["ipipEnabled", "vxlanEnabled", "vxlanVNI", "vxlanPort"],
    ),
    (
        ConfigKind::Installation.as_str(),
        &[
            tigera::WINDOWS_DATAPLANE,
            tigera::BGP,
            tigera::POOLS,
            tigera::SERVICE_CIDRS,
        ],
    ),
    (
        ConfigKind::FlannelConfiguration.as_str(),
        &["Backend.VNI", "Backend.Port"],
    ),
    ("DaemonSet", &[WHOLE_OBJECT]),
    ("ConfigMap", &[WHOLE_OBJECT]),
];

/// Every metric of the operator.
pub struct Metrics {
    registry: Registry,
    nodes: Family<ByState, Gauge>,
    by_reason: Family<ByReason, Gauge>,
    /// A reason that was seen stays, as zero: a series that ends looks like a lost scrape.
    reasons: Mutex<BTreeSet<NodeReason>>,
    advisories: Family<ByAdvisory, Gauge>,
    /// As with `reasons`.
    advised: Mutex<BTreeSet<(&'static str, Severity)>>,
    found: Arc<Found>,
    conditions: Family<ByCondition, Gauge>,
    /// Of each type what it was last: that series is 1, and goes to zero when another one takes its place.
    shown: Mutex<BTreeMap<&'static str, ByCondition>>,
    drift_repairs: Family<ByField, Counter>,
    apply_errors: Family<ByClass, Counter>,
    reconciles: Family<ByKind, Histogram, fn() -> Histogram>,
    requests: Family<ByRequest, Counter>,
    watched: Arc<Watched>,
    watch_restarts: Family<ByTopic, Counter>,
    /// The rounds of the loop.
    pub round: Arc<Round>,
    status_writes: Counter,
    node_condition_writes: Counter,
    leader: Gauge,
    succeeded: Gauge,
}

impl Metrics {
    /// Registers every metric, with zero for every label value that is known.
    pub fn new() -> Arc<Self> {
        let metrics = Self {
            registry: Registry::with_prefix("windows_node_operator"),
            nodes: Family::default(),
            by_reason: Family::default(),
            reasons: Mutex::default(),
            advisories: Family::default(),
            advised: Mutex::new(advice::rules().map(|rule| (rule.code, rule.severity)).collect()),
            found: Arc::default(),
            conditions: Family::default(),
            shown: Mutex::default(),
            drift_repairs: Family::default(),
            apply_errors: Family::default(),
            reconciles: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            requests: Family::default(),
            watched: Arc::default(),
            watch_restarts: Family::default(),
            round: Arc::default(),
            status_writes: Counter::default(),
            node_condition_writes: Counter::default(),
            leader: Gauge::default(),
            succeeded: Gauge::default(),
        };
        metrics.begin();
        Arc::new(metrics.registered())
    }

    /// Series whose labels are known from the start begin at zero.
    fn begin(&self) {
        self.no_nodes();
        self.advisories(std::iter::empty());
        for (kind, fields) in FIELDS {
            for field in fields {
                drop(self.drift_repairs.get_or_create(&ByField::new(kind, field)));
            }
        }
        for class in Class::ALL {
            drop(self.apply_errors.get_or_create(&ByClass { class }));
        }
        for method in client::METHODS {
            let code = client::NO_ANSWER.to_owned();
            drop(self.requests.get_or_create(&ByRequest { method, code }));
        }
        for kind in Pass::ALL {
            drop(self.reconciles.get_or_create(&ByKind { kind }));
        }
    }

    fn registered(mut self) -> Self {
        let Self {
            registry,
            nodes,
            by_reason,
            reasons: _,
            advisories,
            advised: _,
            found,
            conditions,
            shown: _,
            drift_repairs,
            apply_errors,
            reconciles,
            requests,
            watched,
            watch_restarts,
            round,
            status_writes,
            node_condition_writes,
            leader,
            succeeded,
        } = &mut self;
        registry.register("nodes", "Windows nodes by state", nodes.clone());
        registry.register(
            "nodes_by_reason",
            "Windows nodes on which a reason was found; one node may have several",
            by_reason.clone(),
        );
        registry.register(
            "advisories",
            "Limits of Windows nodes that the cluster runs into, by code and severity",
            advisories.clone(),
        );
        registry.register(
            "condition",
            "1 for the current status and reason of each condition of the WindowsNodeConfig, 0 for earlier ones",
            conditions.clone(),
        );
        registry.register_with_unit(
            "last_successful_pass_timestamp",
            "Last time at which the last pass and the last write of the status had succeeded and none was due",
            Unit::Seconds,
            succeeded.clone(),
        );
        registry.register(
            "drift_repairs",
            "Changes made by others that were reverted, by kind and field below spec, or the whole object",
            drift_repairs.clone(),
        );
        registry.register(
            "apply_errors",
            "Writes that failed, by class; a conflict is retried at once",
            apply_errors.clone(),
        );
        registry.register_with_unit(
            "reconcile_duration",
            "Time of a pass, over the whole cluster (full) or over nodes that changed (nodes)",
            Unit::Seconds,
            reconciles.clone(),
        );
        registry.register(
            "api_requests",
            "Requests to the API server by method and status code",
            requests.clone(),
        );
        registry.register(
            "watch_restarts",
            "Watches that ended because of a defect of this program and were started again",
            watch_restarts.clone(),
        );
        registry.register("status_writes", "Writes of the status", status_writes.clone());
        registry.register(
            "node_condition_writes",
            "Writes of conditions of Nodes",
            node_condition_writes.clone(),
        );
        registry.register(
            "leader",
            "1 for the replica that holds the lease and writes, 0 for the others",
            leader.clone(),
        );
        registry.register(
            "build",
            "What runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register_collector(Box::new(found.clone()));
        registry.register_collector(Box::new(watched.clone()));
        registry.register_collector(Box::new(Age(round.clone())));
        self
    }

    /// Everything, as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.registry) {
            tracing::warn!(%error, "metrics could not be written");
        }
        text
    }

    /// How the nodes are: of each its state, and every reason that was found on it.
    pub fn nodes<R>(&self, nodes: impl IntoIterator<Item = (State, R)>)
    where
        R: IntoIterator<Item = NodeReason>,
    {
        let mut states: BTreeMap<State, i64> = State::ALL.map(|state| (state, 0)).into();
        let mut seen = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reasons: BTreeMap<NodeReason, i64> = seen.iter().map(|reason| (*reason, 0)).collect();
        for (state, found) in nodes {
            *states.entry(state).or_default() += 1;
            for reason in found {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        for (state, count) in states {
            let state = state.as_str();
            self.nodes.get_or_create(&ByState { state }).set(count);
        }
        for (reason, count) in reasons {
            seen.insert(reason);
            let reason = reason.as_str();
            self.by_reason.get_or_create(&ByReason { reason }).set(count);
        }
    }

    /// What limits Windows nodes: code and severity of each advisory.
    pub fn advisories(&self, found: impl Iterator<Item = (&'static str, Severity)>) {
        let mut seen = self.advised.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: BTreeMap<_, i64> = seen.iter().map(|of| (*of, 0)).collect();
        for of in found {
            *counts.entry(of).or_default() += 1;
        }
        for ((code, severity), count) in counts {
            seen.insert((code, severity));
            let of = ByAdvisory::new(code, severity);
            self.advisories.get_or_create(&of).set(count);
        }
    }

    /// Findings about policies, Services and pods, of which there are now.
    pub fn findings(&self, series: Vec<Series>) {
        self.found.set(series);
    }

    /// What the status says of each condition; without any, there is no status.
    pub fn conditions(&self, found: &[Condition]) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for type_ in conditions::ALL.iter().copied() {
            let condition = found.iter().find(|condition| condition.type_ == type_);
            let new = condition.map(|condition| ByCondition::new(type_, condition));
            let old = shown.remove(type_);
            if let Some(old) = old.filter(|old| Some(old) != new.as_ref()) {
                self.conditions.get_or_create(&old).set(0);
            }
            if let Some(new) = new {
                self.conditions.get_or_create(&new).set(1);
                shown.insert(type_, new);
            }
        }
    }

    /// Everything there was to do is done.
    pub fn succeeded(&self) {
        self.succeeded.set(Timestamp::now().as_second());
    }

    /// No node is judged any more.
    pub fn no_nodes(&self) {
        self.nodes(std::iter::empty::<(State, [NodeReason; 0])>());
    }

    /// Somebody changed what is ours, and it is right again. A pool of an Installation is named in the field, by its CIDR.
    pub fn drift_repaired(&self, kind: &str, field: &str) {
        let field = field.split_once('[').map_or(field, |(list, _)| list);
        self.drift_repairs.get_or_create(&ByField::new(kind, field)).inc();
    }

    /// A write failed.
    pub fn apply_error(&self, error: &Error) {
        let class = Class::of(error);
        self.apply_errors.get_or_create(&ByClass { class }).inc();
    }

    /// A pass ended, well or not.
    pub fn reconciled(&self, kind: Pass, took: Duration) {
        self.reconciles
            .get_or_create(&ByKind { kind })
            .observe(took.as_secs_f64());
    }

    /// Whether this replica holds the lease.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Counts a write of the status.
    pub fn status_written(&self) {
        self.status_writes.inc();
    }

    /// Counts a write of a Node's condition.
    pub fn node_condition_written(&self) {
        self.node_condition_writes.inc();
    }

    /// A watch begins; it is listed for as long as its pulse is kept.
    pub fn watch(&self, topic: String) -> Arc<Pulse> {
        let series = ByTopic { topic: topic.clone() };
        drop(self.watch_restarts.get_or_create(&series));
        self.watched.begin(topic)
    }

    /// A watch ended and is started again.
    pub fn watch_restarted(&self, topic: &str) {
        let topic = topic.to_owned();
        self.watch_restarts.get_or_create(&ByTopic { topic }).inc();
    }

    fn requested(&self, method: &'static str, code: Option<u16>) {
        let code = code.map_or_else(|| client::NO_ANSWER.to_owned(), |code| code.to_string());
        self.requests.get_or_create(&ByRequest { method, code }).inc();
    }
}

#[cfg(test)]
mod tests;
