//! What is left on the Node itself: our condition, the taint if the user wants one, and the label of its group.

use jiff::Timestamp;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::reasons::Reason;
use wn_api::spec::TaintMode;

use super::verdict::{State, Verdict};
use crate::observed::{NetworkMade, NodeFacts, Said};

/// What is to be written to a Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Our condition, when what we wrote on the Node is to be written anew.
    pub condition: Option<Said>,
    /// What goes with the condition: what is to be remembered of the node's HNS network.
    pub network_made: Option<NetworkMade>,
    /// State or reason of the condition differ, not only its words.
    pub news: bool,
    /// News that deserves an Event: not that a node comes up.
    pub told: bool,
    /// To set our taint, or to take it off.
    pub taint: Option<bool>,
    /// To set label `KUBE_PROXY_GROUP`, or to take it off.
    pub group: Option<Option<&'static str>>,
    /// Not a Windows node any more, or not selected: if there is still a node of that name, nothing of ours stays on it.
    pub leave: bool,
}

impl Marks {
    pub fn is_nothing(&self) -> bool {
        self.condition.is_none() && self.taint.is_none() && self.group.is_none() && !self.leave
    }
}

/// What the message of a node that is still within its time begins with.
const NOT_YET: &str = "within its usual time: ";

/// `group` is the label of the node's group, see `wn_plan::workload::kube_proxy::Members`.
pub fn marks(
    mode: TaintMode,
    group: Option<&'static str>,
    facts: &NodeFacts,
    verdict: &Verdict,
    since: Timestamp,
    now: Timestamp,
) -> Marks {
    if verdict.state == State::NotSelected {
        return Marks {
            leave: facts.is_marked(),
            ..Marks::default()
        };
    }
    let said = facts.said.as_ref();
    let mut condition = condition(verdict);
    let same = said.filter(|s| s.status == condition.status);
    condition.since = same.map_or(Some(since), |s| s.since);
    // The time of the write and no beat: nothing is written while nothing changes.
    condition.heartbeat = Some(now);
    // A deadline that passed changes nothing else of the condition.
    let waited = said.is_some_and(|s| s.message.starts_with(NOT_YET));
    let news = said.is_none_or(|s| (&s.status, &s.reason) != (&condition.status, &condition.reason));
    let differs = !facts.says(&condition) || facts.network_made != verdict.network_made;
    Marks {
        condition: differs.then_some(condition),
        network_made: verdict.network_made.clone(),
        news,
        told: (news || waited) && verdict.state != State::Progressing,
        leave: false,
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

fn condition(verdict: &Verdict) -> Said {
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
    Said {
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
    let fresh = facts.said.is_none();
    let wanted = match mode {
        TaintMode::None => return (facts.tainted && facts.taint_is_ours).then_some(false),
        TaintMode::Startup => !works && (fresh || facts.tainted),
        TaintMode::Continuous => !works,
    };
    (wanted != facts.tainted).then_some(wanted)
}
