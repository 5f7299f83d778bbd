//! The conditions of the whole: `Ready`, `Reconciling`, `Stalled` and `Configured`.
//!
//! kstatus, by which Flux, Argo CD and Helm wait, reads the first three: an object that is ready neither reconciles nor stalls, and
//! nothing does both. An object that is none of the three waits for something that comes without a person, such as the nodes in
//! mode `Observe`.

use wn_api::reasons::Reason;

use super::conditions::Verdict as Condition;

/// `Ready`, `Reconciling`, `Stalled` and `Configured`, from the conditions of single concerns in the order of cause and consequence.
///
/// `own` is a failed write to our own object: without finalizer and originals nothing may be written, whatever else there is to say.
pub fn whole(
    concerns: &[Condition],
    own: Option<Condition>,
    write: bool,
    is_stuck: impl Fn() -> bool,
) -> [Condition; 4] {
    let configured = own.clone().unwrap_or_else(|| configured(concerns));
    let stalled = stalled(concerns, configured.is_true() && is_stuck());
    match own {
        Some(own) => {
            let reconciling = Condition::yes(own.reason, own.message.clone());
            [own, reconciling, stalled, configured]
        }
        None => {
            let reconciling = reconciling(concerns, stalled.is_true(), write);
            [ready(concerns, &stalled), reconciling, stalled, configured]
        }
    }
}

/// The first concern that is not met: they are in the order of cause and consequence. What the API server forbids comes
/// before them, because nothing planned after it was tried.
fn cause(concerns: &[Condition], which: impl Fn(&Condition) -> bool) -> Option<&Condition> {
    let forbidden = concerns.iter().find(|c| c.reason == Reason::Forbidden);
    forbidden.or_else(|| concerns.iter().find(|c| !c.is_true() && which(c)))
}

/// Is the concern about nodes, not about what the operator sets?
fn is_of_nodes(concern: &Condition) -> bool {
    matches!(concern.reason, Reason::RolloutIncomplete | Reason::NodesNotReady)
}

fn configured(concerns: &[Condition]) -> Condition {
    match cause(concerns, |c| !is_of_nodes(c)) {
        Some(concern) => Condition::no(concern.reason, concern.message.clone()),
        None => Condition::yes(
            Reason::AsExpected,
            "everything that Windows nodes need is in place",
        ),
    }
}

/// With `mode: Observe` the work is done when differences are reported.
fn ready(concerns: &[Condition], stalled: &Condition) -> Condition {
    match cause(concerns, |_| true) {
        Some(concern) if concern.reason == Reason::ObserveOnly => {
            if stalled.is_true() {
                Condition::no(stalled.reason, stalled.message.clone())
            } else {
                Condition::yes(concern.reason, concern.message.clone())
            }
        }
        Some(concern) => Condition::no(concern.reason, concern.message.clone()),
        None => enough(concerns),
    }
}

fn enough(concerns: &[Condition]) -> Condition {
    let of = |reason| concerns.iter().find(|c| c.reason == reason);
    if of(Reason::NoWindowsNodes).is_some() {
        return Condition::yes(
            Reason::NoWindowsNodes,
            "everything is in place for the first Windows node",
        );
    }
    // The condition of nodes is the last one, and names them.
    let nodes = concerns.last();
    let minimum = nodes.filter(|c| c.reason == Reason::MinimumNodesReady);
    if let Some(concern) = minimum.or_else(|| of(Reason::MinimumNodesReady)) {
        return Condition::yes(concern.reason, concern.message.clone());
    }
    let message = nodes.map(|c| c.message.clone()).unwrap_or_default();
    Condition::yes(Reason::AsExpected, message)
}

/// Stalled in kstatus' sense: no progress until a person does something.
fn stalled(concerns: &[Condition], is_stuck: bool) -> Condition {
    let nodes = || concerns.iter().rev().find(|c| !c.is_true()).filter(|_| is_stuck);
    match cause(concerns, |c| c.reason.needs_a_person()).or_else(nodes) {
        Some(concern) => Condition::yes(concern.reason, concern.message.clone()),
        None => Condition::no(Reason::AsExpected, "no problem needs a person"),
    }
}

fn reconciling(concerns: &[Condition], stalled: bool, write: bool) -> Condition {
    match concerns.iter().find(|c| !c.is_true()) {
        Some(concern) if write && !stalled => Condition::yes(Reason::Progressing, concern.message.clone()),
        _ => Condition::no(Reason::AsExpected, "no change is in progress"),
    }
}
