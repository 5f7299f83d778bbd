//! BGP that Windows nodes do not take part in.

use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::finding::names_of;

pub const RULES: &[Rule] = &[Rule {
    code: "WN1040",
    severity: Severity::Warning,
    title: "Windows nodes do not advertise Services",
    limit: "Only Linux nodes advertise the addresses of Services. A Service with externalTrafficPolicy Local whose pods all run on \
                Windows nodes gets no traffic.",
    reads: "BGPConfiguration `default` spec.serviceClusterIPs, spec.serviceExternalIPs, spec.serviceLoadBalancerIPs",
    fix: "use externalTrafficPolicy Cluster for Services with pods on Windows nodes",
    source: "tigera/docs windows-calico/limitations.mdx",
    check: services,
}];

fn services(cluster: &Cluster) -> Vec<Hit> {
    if cluster.backend.is_none() {
        return Vec::new();
    }
    let bgp = &cluster.observed.bgp;
    let fields = [
        ("spec.serviceClusterIPs", &bgp.service_cluster_ips),
        ("spec.serviceExternalIPs", &bgp.service_external_ips),
        ("spec.serviceLoadBalancerIPs", &bgp.service_lb_ips),
    ];
    let set = fields.into_iter().filter(|(_, cidrs)| !cidrs.is_empty());
    set.map(|(field, cidrs)| {
        let cidrs = names_of(cidrs.iter().map(String::as_str));
        let message = format!("Linux nodes advertise {cidrs}, Windows nodes do not");
        Hit::new("BGPConfiguration default", field, message)
    })
    .collect()
}
