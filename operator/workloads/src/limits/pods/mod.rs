//! Checks of pods.

mod capacity;
mod command;
mod disruption;
mod dns;
mod image;
mod network;
mod os;
mod security;
mod storage;

use super::cluster::Cluster;
use super::hit::Hit;
use super::units::Unit;
use crate::findings::Finding;

/// A check of the pods of one object.
type Check = fn(&Cluster<'_>, &Unit<'_>) -> Vec<Hit>;

/// Checks of pods for Windows nodes.
const OF_WINDOWS: &[Check] = &[
    network::host_network,
    network::host_port,
    network::host_process,
    dns::policy,
    dns::searches,
    image::build,
    image::no_node,
    os::name,
    command::linux,
    command::icmp,
    security::linux_fields,
    security::host_process,
    storage::volumes,
    storage::huge_pages,
];

/// Checks of all pods.
const OF_ALL: &[Check] = &[os::no_selector];

/// All findings about pods, and about nodes and budgets because of their pods.
pub fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = cluster
        .units
        .iter()
        .flat_map(|unit| of_unit(cluster, unit))
        .collect();
    findings.extend(dns::partial_names(cluster));
    findings.extend(disruption::findings(cluster));
    findings.extend(capacity::findings(cluster));
    findings
}

fn of_unit(cluster: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Finding> {
    let of_windows = OF_WINDOWS.iter().filter(|_| unit.is_on_windows);
    let checks = OF_ALL.iter().chain(of_windows);
    let hits = checks.flat_map(|check| check(cluster, unit));
    hits.map(|hit| hit.of(&unit.object, unit.path, unit.pod_names()))
        .collect()
}
