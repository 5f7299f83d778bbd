//! The addresses and protocols of a Service.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::hit::Hit;
use super::view::View;
use crate::findings::Code;
use crate::input::calico::Block;
use crate::input::key;

/// IPv6 addresses.
pub fn ipv6(view: &View<'_>) -> Vec<Hit> {
    let spec = view.spec();
    let is_version_6 = |family: &str| family == "IPv6";
    let has_families = spec.ip_families.iter().any(|family| is_version_6(family));
    let is_alone = !spec.ip_families.is_empty() && spec.ip_families.iter().all(|family| is_version_6(family));
    let is_required = &*spec.ip_family_policy == "RequireDualStack";
    let hit = if is_alone && !is_required && &*spec.ip_family_policy != "PreferDualStack" {
        let message = "IPv6 is its only family, and Calico for Windows supports IPv4 only";
        Some(Hit::error(Code::ServiceIpv6, "spec.ipFamilies", message))
    } else if has_families || is_required {
        let field = if has_families {
            "spec.ipFamilies"
        } else {
            "spec.ipFamilyPolicy"
        };
        let message = "pods on Windows nodes are no endpoints of its IPv6 address, and cannot use it";
        Some(Hit::warning(Code::ServiceIpv6, field, message))
    } else {
        None
    };
    hit.into_iter().collect()
}

/// Ports of protocol SCTP.
pub fn sctp(view: &View<'_>) -> Vec<Hit> {
    let ports = view.spec().ports.iter().enumerate();
    let sctp = ports.filter(|(_, port)| &*port.protocol == "SCTP");
    sctp.map(|(i, port)| {
        let message = format!(
            "port {} does not work at Windows nodes, which have no SCTP",
            port.port
        );
        Hit::error(Code::SctpService, format!("spec.ports[{i}].protocol"), message)
    })
    .collect()
}

/// Addresses that BGP advertises from nodes with a pod of the Service, if these are all Windows nodes.
pub fn not_advertised(view: &View<'_>) -> Vec<Hit> {
    let is_local = &*view.spec().external_traffic_policy == "Local";
    if !is_local || !view.has_windows_backends_only() {
        return Vec::new();
    }
    let hit = advertised(view).map(|(address, field)| {
        let message = format!(
            "BGPConfiguration advertises {address} from nodes with a pod of the Service: all are Windows nodes, which advertise nothing ({field})"
        );
        Hit::error(Code::NotAdvertised, "spec.externalTrafficPolicy", message)
    });
    hit.into_iter().collect()
}

/// The first address of the Service in a block of the BGP configuration, with the field of the block.
fn advertised(view: &View<'_>) -> Option<(String, &'static str)> {
    let key = key("", "default");
    let bgp = &view.cluster.objects.bgp_configurations.get(&key)?.spec;
    let spec = view.spec();
    let ingress = view
        .service
        .status
        .load_balancer
        .ingress
        .iter()
        .map(|ingress| &ingress.ip);
    let of_balancer: Vec<&Box<str>> = ingress.chain([&spec.load_balancer_ip]).collect();
    let of_cluster: Vec<&Box<str>> = spec.cluster_ips.iter().chain([&spec.cluster_ip]).collect();
    let of_outside: Vec<&Box<str>> = spec.external_ips.iter().collect();
    let lists = [
        (
            "spec.serviceLoadBalancerIPs",
            &bgp.service_load_balancer_ips,
            of_balancer,
        ),
        ("spec.serviceExternalIPs", &bgp.service_external_ips, of_outside),
        ("spec.serviceClusterIPs", &bgp.service_cluster_ips, of_cluster),
    ];
    lists.into_iter().find_map(|(field, blocks, addresses)| {
        let mut addresses = addresses.into_iter();
        let address = addresses.find(|address| is_inside(address, blocks))?;
        Some((address.to_string(), field))
    })
}

fn is_inside(address: &str, blocks: &[Block]) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let nets = blocks.iter().filter_map(|block| block.cidr.parse::<IpNet>().ok());
    nets.into_iter().any(|net| net.contains(&address))
}
