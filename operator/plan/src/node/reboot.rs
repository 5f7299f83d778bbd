//! A reboot takes HNS' networks along; both pods must have started since.

use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::deadlines::{CLOCK_SLACK, RECOVERED};
use crate::observed::PodFacts;

pub fn check(view: &View) -> Vec<Finding> {
    let Some(rebooted) = view.node.rebooted else {
        return Vec::new();
    };
    let restarted = |pod: &PodFacts| pod.ready && pod.started.is_some_and(|at| at + CLOCK_SLACK >= rebooted);
    if [view.agent, view.proxy].into_iter().flatten().all(restarted) {
        return Vec::new();
    }
    let end = rebooted + RECOVERED;
    let cause = "the node was rebooted, and not all of its networking pods restarted since";
    vec![if view.now < end {
        find(NodeReason::RecoveringAfterReboot, cause).until(end)
    } else {
        find(NodeReason::NotRecovered, cause)
    }]
}
