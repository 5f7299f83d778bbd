//! What a verdict changes on the Node itself: the operator's condition and annotation, the taint if the spec asks for one, and the
//! label of the node's kube-proxy group. An update names only what differs from the Node.

use jiff::Timestamp;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::reasons::Reason;
use wn_api::spec::TaintMode;

use super::verdict::{State, Verdict};
use crate::observed::{NetworkCondition, NetworkMade, NodeFacts};

/// What to write to a Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeUpdate {
    /// The operator's condition, if it or `network_made` differs from what is stored.
    pub condition: Option<NetworkCondition>,
    /// Annotation `HNS_NETWORK`, which is written together with the condition.
    pub network_made: Option<NetworkMade>,
    /// Status or reason of the condition differ from what is stored, not only its message.
    pub news: bool,
    /// Publish an Event for the condition. Never for a node that is still progressing.
    pub event: bool,
    /// `Some(true)` sets the readiness taint, `Some(false)` removes it.
    pub taint: Option<bool>,
    /// `Some(Some(group))` sets label `KUBE_PROXY_GROUP`, `Some(None)` removes it.
    pub group: Option<Option<&'static str>>,
    /// Not a Windows node any more, or not selected: if there is still a node of that name, nothing of ours stays on it.
    pub remove_all: bool,
}

impl NodeUpdate {
    /// Does the Node already have everything?
    pub fn is_empty(&self) -> bool {
        self.condition.is_none() && self.taint.is_none() && self.group.is_none() && !self.remove_all
    }
}

/// Prefix of the message of a node that is still progressing.
const NOT_YET: &str = "within its usual time: ";

/// The update that makes a Node show its verdict.
///
/// `group` is the label of the node's group, see [`crate::workload::kube_proxy::Members`]. `since` is when the verdict's reason
/// appeared; it is used if the status differs from the stored one.
pub fn node_update(
    mode: TaintMode,
    group: Option<&'static str>,
    facts: &NodeFacts,
    verdict: &Verdict,
    since: Timestamp,
    now: Timestamp,
) -> NodeUpdate {
    if verdict.state == State::NotSelected {
        return NodeUpdate {
            remove_all: facts.is_marked(),
            ..NodeUpdate::default()
        };
    }
    let stored = facts.condition.as_ref();
    let mut condition = condition(verdict);
    let same = stored.filter(|s| s.status == condition.status);
    condition.since = same.map_or(Some(since), |s| s.since);
    // The time of the write, not a periodic heartbeat: nothing is written while nothing changes.
    condition.heartbeat = Some(now);
    // When a deadline passes, only the message changes.
    let waited = stored.is_some_and(|s| s.message.starts_with(NOT_YET));
    let news = stored.is_none_or(|s| (&s.status, &s.reason) != (&condition.status, &condition.reason));
    let differs = !facts.has_condition(&condition) || facts.network_made != verdict.network_made;
    NodeUpdate {
        condition: differs.then_some(condition),
        network_made: verdict.network_made.clone(),
        news,
        event: (news || waited) && verdict.state != State::Progressing,
        remove_all: false,
        taint: taint(mode, facts, verdict.state.works()),
        group: (group != facts.labels.get(KUBE_PROXY_GROUP)).then_some(group),
    }
}

/// Status of the Node's condition for a state. A node that is not selected has no condition.
pub const fn condition_status(state: State) -> &'static str {
    match state {
        State::Ready => "True",
        State::Unknown | State::NotSelected => "Unknown",
        State::Progressing | State::Failing => "False",
    }
}

fn condition(verdict: &Verdict) -> NetworkCondition {
    let status = condition_status(verdict.state);
    let (reason, message) = verdict.cause().map_or(
        (
            Reason::AsExpected.as_str(),
            "pods on this node have a network, as far as the API shows",
        ),
        |cause| (cause.reason.as_str(), cause.message.as_str()),
    );
    let not_yet = if verdict.state == State::Progressing {
        NOT_YET
    } else {
        ""
    };
    NetworkCondition {
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: format!("{not_yet}{message}"),
        since: None,
        heartbeat: None,
    }
}

/// A kubelet may register its node with our taint, hence a node that works loses it whoever set it, except
/// when the user wants nothing of the kind: then only ours goes.
fn taint(mode: TaintMode, facts: &NodeFacts, works: bool) -> Option<bool> {
    // A node without our condition is one we see for the first time.
    let fresh = facts.condition.is_none();
    let wanted = match mode {
        TaintMode::None => return (facts.tainted && facts.taint_is_ours).then_some(false),
        TaintMode::Startup => !works && (fresh || facts.tainted),
        TaintMode::Continuous => !works,
    };
    (wanted != facts.tainted).then_some(wanted)
}
