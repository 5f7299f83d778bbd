//! The network of the node: pods of Windows do not have it, HostProcess containers do.

use super::super::cluster::Cluster;
use super::super::hit::Hit;
use super::super::units::Unit;
use crate::findings::Code;

/// `hostNetwork` without HostProcess containers.
pub fn host_network(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    let hit = || {
        let message = "the pod has a network of its own on Windows, not that of the node";
        Hit::error(Code::HostNetworkIgnored, "hostNetwork", message)
    };
    let is_hit = unit.spec.host_network && !unit.has_host_process();
    is_hit.then(hit).into_iter().collect()
}

/// Ports of the node that are forwarded to a container.
pub fn host_port(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    if unit.spec.host_network {
        return Vec::new();
    }
    let mut hits = Vec::new();
    for (path, container) in unit.containers() {
        for (i, port) in container
            .ports
            .iter()
            .enumerate()
            .filter(|(_, port)| port.host_port != 0)
        {
            let message = format!("nothing listens at port {} of the node", port.host_port);
            hits.push(Hit::warning(
                Code::HostPortIgnored,
                format!("{path}.ports[{i}].hostPort"),
                message,
            ));
        }
    }
    hits
}

/// HostProcess containers beside others, or without the network of the node.
pub fn host_process(_: &Cluster<'_>, unit: &Unit<'_>) -> Vec<Hit> {
    if !unit.has_host_process() {
        return Vec::new();
    }
    let mut containers = unit.containers();
    let other = containers.find(|(_, container)| !unit.is_host_process(container));
    let hit = if let Some((path, _)) = other {
        let field = format!("{path}.securityContext.windowsOptions.hostProcess");
        let message = "the container is no HostProcess container, and others of the pod are";
        Some(Hit::error(Code::HostProcessRefused, field, message))
    } else if unit.spec.host_network {
        None
    } else {
        let message = "HostProcess containers need hostNetwork: true";
        Some(Hit::error(Code::HostProcessRefused, "hostNetwork", message))
    };
    hit.into_iter().collect()
}
