//! A reboot takes HNS' networks along; both pods must have started since.

use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::deadlines::{CLOCK_SLACK, RECOVERED};
use crate::observed::PodFacts;

pub fn check(view: &View) -> Vec<Finding> {
    let Some(rebooted) = view.node.rebooted else {
        return Vec::new();
    };
    // What a pod is in trouble with says more, and is judged after this.
    let waits =
        |pod: &PodFacts| pod.trouble.is_none() && pod.started.is_none_or(|at| at + CLOCK_SLACK < rebooted);
    if !Component::ALL
        .map(|component| view.pods[component])
        .into_iter()
        .flatten()
        .any(waits)
    {
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
