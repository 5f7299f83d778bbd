//! Sessions: connections of one client to one endpoint.

use super::super::hit::Hit;
use super::view::View;
use crate::findings::Code;

/// The timeout that the API server sets if the Service has none, in seconds.
const DEFAULT_TIMEOUT: i64 = 10_800;

/// Affinity on builds without it.
pub fn ignored(view: &View<'_>) -> Vec<Hit> {
    if !has_affinity(view) {
        return Vec::new();
    }
    let old = view.cluster.build_where(|build| !build.has_session_affinity());
    let hit = old.map(|build| {
        let message =
            format!("Windows {build} has no affinity by client: each connection goes to any endpoint");
        Hit::warning(Code::SessionAffinityIgnored, "spec.sessionAffinity", message)
    });
    hit.into_iter().collect()
}

/// A timeout of the affinity.
pub fn timeout(view: &View<'_>) -> Vec<Hit> {
    let timeout = view.spec().session_affinity_config.client_ip.timeout_seconds;
    let changed = timeout.filter(|seconds| *seconds != DEFAULT_TIMEOUT && has_affinity(view));
    let hit = changed.map(|seconds| {
        let message = format!("{seconds} seconds have no effect on Windows nodes");
        let field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        Hit::warning(Code::SessionAffinityTimeout, field, message)
    });
    hit.into_iter().collect()
}

fn has_affinity(view: &View<'_>) -> bool {
    view.is_balanced() && &*view.spec().session_affinity == "ClientIP"
}
