//! Names: a pod on Windows has one DNS suffix.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::references::Form;
use super::super::units::Unit;
use crate::findings::{Code, Finding};

/// `dnsPolicy: ClusterFirstWithHostNet`.
pub fn policy(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let hit = || {
        let message = "ClusterFirstWithHostNet is not supported on Windows nodes";
        Hit::warning(Code::HostDnsPolicy, "dnsPolicy", message)
    };
    let is_hit = unit.spec.dns_policy == "ClusterFirstWithHostNet";
    is_hit.then(hit).into_iter().collect()
}

/// Search domains that are not used.
pub fn searches(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let used = usize::from(unit.spec.dns_policy == "None");
    let unused = unit.spec.dns_config.searches.get(used);
    let hit = unused.filter(|_| !unit.has_host_process()).map(|domain| {
        let message =
            format!("{domain} is not searched on Windows nodes, which use the first search domain only");
        Hit::warning(
            Code::SearchDomains,
            format!("dnsConfig.searches[{used}]"),
            message,
        )
    });
    hit.into_iter().collect()
}

/// Names of Services that need a search domain. HostProcess containers have the names of their node.
pub fn partial_names(cluster: &Cluster<'_>) -> Vec<Finding> {
    let partial = cluster
        .references
        .iter()
        .filter(|reference| reference.form == Form::Partial);
    let found = partial.filter_map(|reference| {
        let unit = cluster.units.get(reference.unit)?;
        let (namespace, name) = reference.service;
        let message = format!(
            "{} is not resolved on Windows nodes; write {name}.{namespace}.svc and the domain of the cluster",
            reference.host
        );
        let hit = Hit::error(Code::PartialName, reference.field.clone(), message);
        Some(hit.of(&unit.object, unit.path, unit.pod_names()))
    });
    found.collect()
}
