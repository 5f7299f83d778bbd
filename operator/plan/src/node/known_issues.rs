//! Defects of kube-proxy on Windows that a later patch of the same minor fixes.

use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use crate::version::Version;

struct Defect {
    what: &'static str,
    /// First minor that has it.
    since: u32,
    /// Minor and patch that fix it, each of its own line.
    fixed: &'static [(u32, u32)],
    source: &'static str,
    /// Of pools without an overlay only.
    bridge_only: bool,
}

/// From the CHANGELOG of each minor.
const DEFECTS: &[Defect] = &[
    Defect {
        what: "remote endpoints cannot be created",
        since: 31,
        fixed: &[(31, 9), (32, 5), (33, 1)],
        source: "kubernetes/kubernetes#131427",
        bridge_only: false,
    },
    Defect {
        what: "backends that change are not replaced in a load balancer",
        since: 32,
        fixed: &[(32, 6), (33, 2)],
        source: "kubernetes CHANGELOG-1.33",
        bridge_only: false,
    },
    Defect {
        what: "a Service with internalTrafficPolicy Local keeps stale endpoints",
        since: 24,
        fixed: &[(31, 14), (32, 10), (33, 6), (34, 2)],
        source: "kubernetes/kubernetes#134031",
        bridge_only: false,
    },
    Defect {
        what: "rules are not resynchronised",
        since: 34,
        fixed: &[(34, 4), (35, 1)],
        source: "kubernetes/kubernetes#135631",
        bridge_only: false,
    },
    Defect {
        what: "a pod's reused address keeps a stale remote endpoint",
        since: 24,
        fixed: &[(34, 8), (35, 5), (36, 1)],
        source: "kubernetes/kubernetes#138000",
        bridge_only: true,
    },
];

pub fn check(view: &View) -> Vec<Finding> {
    let Some(version) = view.pods[Component::KubeProxy].and_then(|p| p.version.as_ref()) else {
        return Vec::new();
    };
    let found: Vec<_> = DEFECTS
        .iter()
        .filter(|d| has(d, version) && !(d.bridge_only && view.overlay()))
        .map(|d| format!("{} ({}, fixed in {})", d.what, d.source, fixed_in(d)))
        .collect();
    let finding = || {
        find(
            NodeReason::KubeProxyKnownIssue,
            format!("kube-proxy {version}: {}", found.join("; ")),
        )
    };
    (!found.is_empty()).then(finding).into_iter().collect()
}

fn has(defect: &Defect, version: &Version) -> bool {
    let line = defect.fixed.iter().find(|(minor, _)| *minor == version.minor);
    let newest = defect
        .fixed
        .iter()
        .map(|(minor, _)| *minor)
        .max()
        .unwrap_or_default();
    version.major == 1
        && version.minor >= defect.since
        && line.map_or(version.minor < newest, |(_, patch)| version.patch < *patch)
}

fn fixed_in(defect: &Defect) -> String {
    let versions: Vec<_> = defect
        .fixed
        .iter()
        .map(|(minor, patch)| format!("v1.{minor}.{patch}"))
        .collect();
    versions.join(", ")
}
