//! What is written on Windows Nodes and has no place there.

use wn_api::component::Component;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::observed::{Misplaced, NodeFacts};
use wn_workloads::windows::{BUILDS, Fit};

const NODES: &str = "Windows nodes";
const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1050",
        severity: Severity::Error,
        title: "A Windows node is configured as a route reflector",
        limit: "The BGP of Windows (RemoteAccess) cannot reflect routes: nodes that peer with this node alone learn no routes.",
        reads: "Node annotation projectcalico.org/RouteReflectorClusterID of Windows nodes",
        fix: "remove the annotation, and make Linux nodes the route reflectors",
        source: "tigera/docs windows-calico/requirements.mdx",
        check: route_reflector,
    },
    Rule {
        code: "WN1051",
        severity: Severity::Warning,
        title: "A Windows node announces an IPIP tunnel",
        limit: "Windows has no IPIP. The annotation is from a Linux node that had this name, and other nodes may send packets to the \
                tunnel.",
        reads: "Node annotation projectcalico.org/IPv4IPIPTunnelAddr of Windows nodes",
        fix: "remove the annotation",
        source: LIMITATIONS,
        check: ipip,
    },
    Rule {
        code: "WN1052",
        severity: Severity::Warning,
        title: "A Windows node announces WireGuard",
        limit: "Windows nodes have no WireGuard: Linux nodes that find a key send packets there that are never decrypted.",
        reads: "Node annotations projectcalico.org/WireguardPublicKey, projectcalico.org/IPv4WireguardInterfaceAddr of Windows nodes",
        fix: "remove the annotations",
        source: LIMITATIONS,
        check: wireguard,
    },
    Rule {
        code: "WN1053",
        severity: Severity::Warning,
        title: "Windows nodes have pod CIDRs of IPv4 and IPv6",
        limit: "Calico for Windows supports IPv4 only: pods on Windows nodes get no IPv6 address in a dual-stack cluster.",
        reads: "Node spec.podCIDRs of Windows nodes",
        fix: "run pods that need IPv6, and the pods of IPv6 Services, on Linux nodes",
        source: LIMITATIONS,
        check: dual_stack,
    },
    Rule {
        code: "WN1054",
        severity: Severity::Warning,
        title: "Calico does not support the version of Windows",
        limit: "Calico is tested on Windows Server 2019 and 2022 only, and defects on other versions are not fixed.",
        reads: "Node status.nodeInfo.kernelVersion of Windows nodes",
        fix: "run critical workloads on Windows Server 2022 until Calico supports the version",
        source: "tigera/docs windows-calico/requirements.mdx; projectcalico/calico#11691",
        check: unsupported_builds,
    },
];

fn annotated(cluster: &Cluster, wanted: Misplaced, field: &'static str, what: &str) -> Vec<Hit> {
    let nodes = cluster.observed.nodes.iter();
    let names = nodes
        .filter(|(_, n)| n.misplaced.contains(&wanted))
        .map(|(name, _)| name.as_str());
    Hit::of_many(NODES, field, names, |names| format!("{names} {what}"))
        .into_iter()
        .collect()
}

fn route_reflector(cluster: &Cluster) -> Vec<Hit> {
    let field = "metadata.annotations[projectcalico.org/RouteReflectorClusterID]";
    annotated(
        cluster,
        Misplaced::RouteReflector,
        field,
        "cannot reflect routes, but have the annotation of a route reflector",
    )
}

fn ipip(cluster: &Cluster) -> Vec<Hit> {
    let field = "metadata.annotations[projectcalico.org/IPv4IPIPTunnelAddr]";
    annotated(
        cluster,
        Misplaced::Ipip,
        field,
        "announce an IPIP tunnel that Windows does not have",
    )
}

fn wireguard(cluster: &Cluster) -> Vec<Hit> {
    let field = "metadata.annotations[projectcalico.org/WireguardPublicKey]";
    annotated(
        cluster,
        Misplaced::Wireguard,
        field,
        "announce WireGuard, which Windows does not have",
    )
}

fn dual_stack(cluster: &Cluster) -> Vec<Hit> {
    let nodes = cluster.observed.nodes.iter();
    let names = nodes.filter(|(_, n)| n.dual_stack).map(|(name, _)| name.as_str());
    let hit = Hit::of_many(NODES, "spec.podCIDRs", names, |names| {
        format!("{names} have pod CIDRs of IPv4 and IPv6, but pods get IPv4 addresses only")
    });
    hit.filter(|_| cluster.backend.is_some()).into_iter().collect()
}

fn unsupported_builds(cluster: &Cluster) -> Vec<Hit> {
    let unsupported = |n: &NodeFacts| {
        let found = n.build();
        let build = BUILDS.iter().find(|b| found.is_some_and(|f| f.build == b.number));
        build.is_some_and(|b| !b.calico && b.fit != Fit::Unfit)
    };
    let nodes = cluster.observed.nodes.iter().filter(|(_, n)| unsupported(n));
    let names = nodes.map(|(name, _)| name.as_str());
    let hit = Hit::of_many(NODES, "status.nodeInfo.kernelVersion", names, |names| {
        format!("{names} run a version of Windows that Calico does not support")
    });
    let calico = cluster.backend.is_some() || cluster.runs_ours(Component::NodeAgent);
    hit.filter(|_| calico).into_iter().collect()
}
