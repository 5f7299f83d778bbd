//! BGP, nodes and host endpoints.

use super::*;

pub(super) fn table() -> Vec<Case> {
    vec![
        (
            "WN1040",
            vec![
                (
                    advertised(|b| b.service_cluster_ips.push("10.96.0.0/12".into())),
                    "BGPConfiguration default",
                    "spec.serviceClusterIPs",
                ),
                (
                    advertised(|b| b.service_external_ips.push("192.0.2.0/24".into())),
                    "BGPConfiguration default",
                    "spec.serviceExternalIPs",
                ),
                (
                    advertised(|b| b.service_lb_ips.push("198.51.100.0/24".into())),
                    "BGPConfiguration default",
                    "spec.serviceLoadBalancerIPs",
                ),
            ],
            vec![
                quiet(),
                of_type(
                    "CloudProvider",
                    advertised(|b| b.service_lb_ips.push("198.51.100.0/24".into())),
                ),
            ],
        ),
        (
            "WN1050",
            vec![(
                windows_node_with(|n| n.misplaced = vec![Misplaced::RouteReflector]),
                NODES,
                "metadata.annotations[projectcalico.org/RouteReflectorClusterID]",
            )],
            vec![windows_node_with(|n| {
                n.misplaced = vec![Misplaced::Ipip, Misplaced::Wireguard];
            })],
        ),
        (
            "WN1051",
            vec![(
                windows_node_with(|n| n.misplaced = vec![Misplaced::Ipip]),
                NODES,
                "metadata.annotations[projectcalico.org/IPv4IPIPTunnelAddr]",
            )],
            vec![windows_node_with(|n| n.misplaced = vec![Misplaced::Wireguard])],
        ),
        (
            "WN1052",
            vec![(
                windows_node_with(|n| n.misplaced = vec![Misplaced::Wireguard]),
                NODES,
                "metadata.annotations[projectcalico.org/WireguardPublicKey]",
            )],
            vec![windows_node_with(|n| n.misplaced = vec![Misplaced::Ipip])],
        ),
        (
            "WN1053",
            vec![(windows_node_with(|n| n.dual_stack = true), NODES, "spec.podCIDRs")],
            vec![
                quiet(),
                of_type("CloudProvider", windows_node_with(|n| n.dual_stack = true)),
            ],
        ),
        (
            "WN1054",
            vec![(
                windows_node_with(|n| n.kernel_version = "10.0.26100.6899".into()),
                NODES,
                "status.nodeInfo.kernelVersion",
            )],
            vec![
                quiet(),
                windows_node_with(|n| n.kernel_version = "10.0.99999.1".into()),
                of_type(
                    "CloudProvider",
                    windows_node_with(|n| n.kernel_version = "10.0.14393.1".into()),
                ),
            ],
        ),
        (
            "WN1060",
            vec![(endpoint("win-0"), "HostEndpoints", "spec.node")],
            vec![endpoint("linux-0"), endpoint("elsewhere")],
        ),
        (
            "WN1061",
            vec![(
                with(|c| c.observed.calico.auto_host_endpoints = true),
                "KubeControllersConfiguration default",
                "spec.controllers.node.hostEndpoint.autoCreate",
            )],
            vec![quiet()],
        ),
        (
            "WN1062",
            vec![(endpoint("elsewhere"), "HostEndpoints", "spec.node")],
            vec![endpoint("linux-0"), endpoint("win-0")],
        ),
    ]
}
