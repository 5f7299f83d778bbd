//! Checks of Services.

mod addresses;
mod affinity;
mod backends;
mod traffic;
mod view;

use super::cluster::Cluster;
use super::hit::Hit;
use crate::findings::Finding;
use view::{Index, View};

/// A check of one Service.
type Check = fn(&View<'_>) -> Vec<Hit>;

/// Checks of Services that kube-proxy programs on every Windows node: those with endpoints on Windows nodes, and those
/// that pods on Windows nodes use.
const OF_CLIENTS: &[Check] = &[
    affinity::ignored,
    affinity::timeout,
    backends::too_many,
    backends::named_port,
    backends::terminating,
    addresses::ipv6,
    addresses::sctp,
    traffic::internal,
    traffic::topology,
];

/// Checks of Services with endpoints on Windows nodes.
const OF_BACKENDS: &[Check] = &[
    traffic::external,
    traffic::preserve_destination,
    traffic::node_port,
    traffic::source_ranges,
    addresses::not_advertised,
];

/// All findings about Services.
pub fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let index = Index::new(cluster);
    let services = cluster.objects.services.iter();
    let views = services.filter_map(|(key, service)| View::new(cluster, &index, key, service));
    views.flat_map(|view| of_view(&view)).collect()
}

fn of_view(view: &View<'_>) -> Vec<Finding> {
    let of_backends = OF_BACKENDS.iter().filter(|_| view.has_windows_backends());
    let checks = OF_CLIENTS.iter().chain(of_backends);
    let hits = checks.flat_map(|check| check(view));
    let with_user = hits.map(|hit| match view.user() {
        Some(user) if !view.has_windows_backends() => hit.used_by(user),
        _ => hit,
    });
    let mut with_user = with_user.peekable();
    if with_user.peek().is_none() {
        return Vec::new();
    }
    let (object, pods) = (view.object(), view.pod_names());
    with_user.map(|hit| hit.of(&object, "", pods.clone())).collect()
}
