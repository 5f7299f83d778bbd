//! The condition of the agent that tigera/operator runs: its own status, what it waits for, and whether its pods run. Its status
//! alone is not enough: `Available` means that it rendered the DaemonSet, not that a pod is ready
//! (`windows_controller.go:404` hands its component handler no status manager).

use wn_api::names::{node_agent, tigera};
use wn_api::reasons::Reason;

use super::conditions::Verdict as Condition;
use super::progress::{Counts, lagging, rolled_out};
use crate::decide::Plan;
use crate::observed::Observed;

pub fn agent(by: &str, observed: &Observed, plan: &Plan, counts: &Counts) -> Condition {
    let key = (
        tigera::CALICO_NAMESPACE.to_owned(),
        node_agent::DAEMON_SET.to_owned(),
    );
    let place = format!("{}/{}", key.0, key.1);
    let daemon_set = observed.daemon_sets.get(&key).filter(|d| !d.ours);
    let status = |name: &str| observed.tigera_statuses.get(name);
    let degraded = |name: &str| status(name).is_some_and(|s| s.is("Degraded"));
    // Of Calico as a whole only trouble is worth a word.
    let names = [tigera::WINDOWS_STATUS, tigera::STATUS].into_iter();
    let reported: String = names
        .filter(|name| *name == tigera::WINDOWS_STATUS || degraded(name))
        .filter_map(|name| Some(format!("; TigeraStatus {name} is {}", status(name)?)))
        .collect();
    let needs = needs(&plan.tigera.unmet);
    if degraded(tigera::WINDOWS_STATUS) || crate::tigera::refused(observed).is_some() {
        return Condition::no(
            Reason::OperatorDegraded,
            format!("not run by this operator: {by}{reported}{needs}"),
        );
    }
    let Some(daemon_set) = daemon_set else {
        let message = format!("tigera/operator has not created DaemonSet {place}{reported}{needs}");
        return Condition::no(Reason::WaitingForPrecondition, message);
    };
    if observed.nodes.is_empty() {
        let message = format!("DaemonSet {place} waits for the first Windows node: {by}{reported}");
        return Condition::yes(Reason::NoWindowsNodes, message);
    }
    if daemon_set.desired > 0 && rolled_out(daemon_set, counts.allowed) {
        let pods = if lagging(daemon_set) == 0 {
            "every pod"
        } else {
            "enough pods"
        };
        let verb = if lagging(daemon_set) == 0 { "is" } else { "are" };
        let message = format!(
            "not run by this operator: {by}; {pods} of DaemonSet {place} {verb} updated and ready{reported}"
        );
        return Condition::yes(Reason::External, message);
    }
    Condition::no(
        Reason::RolloutIncomplete,
        format!("not every pod of DaemonSet {place} is updated and ready: see status.nodes{reported}"),
    )
}

/// What is missing, or that nothing we can see is.
fn needs(unmet: &[String]) -> String {
    if unmet.is_empty() {
        return "; every requirement that the operator can read is met (it cannot read the TLS Secrets of Typha and of the nodes)".to_owned();
    }
    format!("; it needs: {}", unmet.join("; "))
}
