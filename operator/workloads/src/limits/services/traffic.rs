//! Which endpoints receive the traffic, and with which addresses.

use super::super::hit::Hit;
use super::view::View;
use crate::findings::Code;
use crate::input::service::{PRESERVE_DESTINATION, TOPOLOGY};
use crate::windows::KubeProxyDefect;

/// Value of both policies for endpoints of the same node.
const LOCAL: &str = "Local";

/// `externalTrafficPolicy: Local` without direct server return.
pub fn external(view: &View<'_>) -> Vec<Hit> {
    if !view.has_node_ports() || &*view.spec().external_traffic_policy != LOCAL {
        return Vec::new();
    }
    let old = view.cluster.build_where(|build| !build.can_dsr());
    let hit = old.map(|build| {
        let message = format!(
            "Windows {build} has no direct server return: traffic goes to pods of other nodes, too, and the address of the client is lost"
        );
        Hit::warning(Code::ExternalTrafficLocal, "spec.externalTrafficPolicy", message)
    });
    hit.into_iter().collect()
}

/// The annotation `preserve-destination`.
pub fn preserve_destination(view: &View<'_>) -> Vec<Hit> {
    let annotations = &view.service.metadata.annotations;
    if annotations
        .get(PRESERVE_DESTINATION)
        .is_none_or(|value| value != "true")
    {
        return Vec::new();
    }
    let old = view
        .cluster
        .build_where(|build| !build.can_preserve_destination() || !build.can_dsr());
    let hit = old.map(|build| {
        let message = format!("Windows {build} ignores it: pods see their own address as the destination");
        let field = format!("metadata.annotations[{PRESERVE_DESTINATION}]");
        Hit::warning(Code::PreserveDestination, field, message)
    });
    hit.into_iter().collect()
}

/// `internalTrafficPolicy: Local` with a kube-proxy that has the defect.
pub fn internal(view: &View<'_>) -> Vec<Hit> {
    if !view.is_balanced() || &*view.spec().internal_traffic_policy != LOCAL {
        return Vec::new();
    }
    let defect = KubeProxyDefect::INTERNAL_TRAFFIC;
    let mut versions = view.cluster.kube_proxies.iter();
    let hit = versions
        .find(|(_, version)| defect.is_in(version))
        .map(|(source, version)| {
            let message = format!(
                "kube-proxy {version} ({source}) keeps endpoints that are gone; fixed in {}",
                defect.fixed_in()
            );
            Hit::warning(Code::InternalTrafficLocal, "spec.internalTrafficPolicy", message)
        });
    hit.into_iter().collect()
}

/// Hints of zones and nodes.
pub fn topology(view: &View<'_>) -> Vec<Hit> {
    if !view.is_balanced() {
        return Vec::new();
    }
    let annotations = &view.service.metadata.annotations;
    let is_set = |name: &&str| {
        let value = annotations.get(name);
        !matches!(value, None | Some("" | "Disabled" | "disabled"))
    };
    let field = if view.spec().traffic_distribution.is_empty() {
        let annotation = TOPOLOGY.into_iter().find(is_set);
        annotation.map(|name| format!("metadata.annotations[{name}]"))
    } else {
        Some("spec.trafficDistribution".to_owned())
    };
    let hit = field.map(|field| {
        let message = "pods on Windows nodes use the endpoints of every zone";
        Hit::info(Code::TopologyIgnored, field, message)
    });
    hit.into_iter().collect()
}

/// Ports on Windows nodes.
pub fn node_port(view: &View<'_>) -> Vec<Hit> {
    let hit = || {
        let message = "a Windows node does not reach the node ports at its own address";
        Hit::info(Code::NodePortFromNode, "spec.type", message)
    };
    view.has_node_ports().then(hit).into_iter().collect()
}

/// `loadBalancerSourceRanges`.
pub fn source_ranges(view: &View<'_>) -> Vec<Hit> {
    let spec = view.spec();
    let hit = || {
        let message =
            "kube-proxy on Windows nodes lets through what the load balancer sends, from every address";
        Hit::warning(
            Code::SourceRangesIgnored,
            "spec.loadBalancerSourceRanges",
            message,
        )
    };
    let is_used = &*spec.r#type == "LoadBalancer" && !spec.load_balancer_source_ranges.is_empty();
    is_used.then(hit).into_iter().collect()
}
