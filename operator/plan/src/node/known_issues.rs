//! Defects of kube-proxy on Windows that a later patch of the same minor fixes.

use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;
use wn_workloads::windows::KUBE_PROXY_DEFECTS;

use super::check::{Finding, View, find};

pub fn check(view: &View) -> Vec<Finding> {
    let Some(version) = view.pods[Component::KubeProxy].and_then(|p| p.version.as_ref()) else {
        return Vec::new();
    };
    let found: Vec<_> = KUBE_PROXY_DEFECTS
        .iter()
        .filter(|defect| defect.is_in(version) && !(defect.bridge_only && view.overlay()))
        .map(|defect| {
            format!(
                "{} ({}, fixed in {})",
                defect.what,
                defect.source,
                defect.fixed_in()
            )
        })
        .collect();
    let finding = || {
        find(
            NodeReason::KubeProxyKnownIssue,
            format!("kube-proxy {version}: {}", found.join("; ")),
        )
    };
    (!found.is_empty()).then(finding).into_iter().collect()
}
