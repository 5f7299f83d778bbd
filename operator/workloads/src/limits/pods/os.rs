//! The operating system that pods ask for.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::placement::Target;
use super::super::units::Unit;
use crate::findings::Code;

/// Windows pods without `os.name`.
pub fn name(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let hit = || {
        let message = "the pod runs on Windows nodes, and its operating system is not named";
        Hit::info(Code::OsNameMissing, "os.name", message)
    };
    let is_hit = unit.spec.os.name.is_empty() && unit.placement.target == Target::Windows;
    is_hit.then(hit).into_iter().collect()
}

/// Pods that the scheduler may send to a Windows node although they select no operating system.
pub fn no_selector(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let host = unit
        .placement
        .reachable
        .and_then(|position| cluster.windows.get(position));
    let hit = host.filter(|_| unit.placement.target == Target::Any).map(|host| {
        let then = if unit.spec.os.name == "linux" {
            "whose kubelet rejects it"
        } else {
            "where a Linux image does not start"
        };
        let message = format!("nothing keeps the pod off Windows node {}, {then}", host.name);
        Hit::warning(Code::NoOsSelector, "nodeSelector", message)
    });
    hit.into_iter().collect()
}
