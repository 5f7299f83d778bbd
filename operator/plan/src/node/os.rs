//! Build and patch level of Windows. What is not known is Unknown, never a failure: a newer Windows than this
//! operator may well work.

use wn_api::component::Component;
use wn_api::node_reasons::{NodeReason, Weight};

use super::check::{Finding, View, find};
use crate::observed::WindowsBuild;
use wn_workloads::windows::{BUILDS, Build, DEFECTS, FLOORS, Fit, Floor, Need};

pub fn check(view: &View) -> Vec<Finding> {
    let kernel = &view.node.kernel_version;
    let Some(found) = view.node.build() else {
        let cause = format!("the node reports {kernel:?} as its build of Windows");
        return vec![find(NodeReason::OSBuildUnknown, cause)];
    };
    let Some(build) = BUILDS.iter().find(|b| b.number == found.build) else {
        return vec![find(
            NodeReason::OSBuildUnknown,
            format!("the operator does not know Windows build {kernel}"),
        )];
    };
    let mut findings: Vec<_> = fit(build, kernel).into_iter().collect();
    if build.fit != Fit::Unfit {
        findings.extend(listed_by_calico(view, build, kernel));
        findings.extend(listed_by_kubernetes(view, build, kernel));
    }
    // Without the patch level (kubelets before 1.18 do not say it) there is nothing to compare.
    if let WindowsBuild { ubr: Some(ubr), .. } = found {
        findings.extend(floor(view, found.build, ubr, kernel));
        findings.extend(defect(found.build, ubr, kernel));
    }
    findings
}

fn fit(build: &Build, kernel: &str) -> Option<Finding> {
    let name = build.name;
    match build.fit {
        Fit::Good => None,
        Fit::EndOfLife => Some(find(
            NodeReason::OSBuildOutdated,
            format!("{name} ({kernel}) no longer gets updates"),
        )),
        Fit::Unfit => Some(find(
            NodeReason::OSBuildUnsupported,
            format!("{name} ({kernel}) cannot run Calico's network"),
        )),
    }
}

/// Wherever Calico's agent runs.
fn listed_by_calico(view: &View, build: &Build, kernel: &str) -> Option<Finding> {
    let agent = Component::NodeAgent;
    let runs = view.calico_networks() || view.pods[agent].is_some() || view.cluster.components[agent].ours;
    (runs && !build.calico).then(|| {
        let cause = format!("{} ({kernel}) is not a version that Calico supports", build.name);
        find(NodeReason::OSBuildUnsupportedByCalico, cause)
    })
}

/// What runs on the node is the kubelet, whose version may be another than the API server's.
fn listed_by_kubernetes(view: &View, build: &Build, kernel: &str) -> Option<Finding> {
    let kubelet = view.node.kubelet()?;
    (!build.kubernetes.contains(&kubelet.minor)).then(|| {
        let cause = format!(
            "{} ({kernel}) is not a version that Kubernetes 1.{} supports",
            build.name, kubelet.minor
        );
        find(NodeReason::OSBuildUnsupportedByKubernetes, cause)
    })
}

/// The weightiest floor that is not reached, and all that are mere comfort in one.
fn floor(view: &View, build: u32, ubr: u32, kernel: &str) -> Vec<Finding> {
    let below: Vec<_> = FLOORS
        .iter()
        .filter(|f| f.build == build && ubr < f.ubr)
        .collect();
    let text = |f: &Floor| {
        format!(
            "Windows {kernel} is older than {}.{} ({}, {}): {}",
            f.build, f.ubr, f.kb, f.date, f.why
        )
    };
    let hard = below.iter().find_map(|f| match f.need {
        Need::Calico => Some(find(NodeReason::OSBuildUnsupported, text(f))),
        Need::Overlay if view.overlay() => Some(find(NodeReason::OSBuildTooOldForOverlay, text(f))),
        Need::Dsr if view.group().map_or(view.dsr() == Some(true), |g| g.dsr) => {
            Some(find(NodeReason::OSBuildTooOldForDSR, text(f)))
        }
        Need::Dsr => Some(find(NodeReason::OSBuildTooOldForDSR, text(f)).weighing(Weight::Advice)),
        Need::Overlay | Need::Comfort => None,
    });
    let comfort = below.iter().rev().find(|f| f.need == Need::Comfort);
    let outdated = comfort.map(|f| find(NodeReason::OSBuildOutdated, text(f)));
    hard.into_iter().chain(outdated).collect()
}

fn defect(build: u32, ubr: u32, kernel: &str) -> Option<Finding> {
    let found = DEFECTS
        .iter()
        .find(|d| d.build == build && (d.first..d.fixed).contains(&ubr))?;
    Some(find(
        NodeReason::OSBuildKnownBad,
        format!("Windows {kernel}: {}, fixed by {}", found.why, found.fixed_by),
    ))
}
