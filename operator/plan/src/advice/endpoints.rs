//! Host endpoints: policy for nodes themselves, which Windows nodes do not enforce.

use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};

const ENDPOINTS: &str = "HostEndpoints";
const LIMITATIONS: &str = "tigera/docs windows-calico/limitations.mdx";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1060",
        severity: Severity::Warning,
        title: "Host endpoints of Windows nodes",
        limit: "Calico for Windows enforces no policy on the nodes themselves, so a HostEndpoint of a Windows node has no effect.",
        reads: "HostEndpoint spec.node; those that calico-kube-controllers creates are not counted here",
        fix: "protect the nodes with the firewall of Windows",
        source: LIMITATIONS,
        check: of_windows,
    },
    Rule {
        code: "WN1061",
        severity: Severity::Warning,
        title: "Automatic host endpoints do not protect Windows nodes",
        limit: "calico-kube-controllers creates a HostEndpoint for every node, and those of Windows nodes have no effect.",
        reads: "KubeControllersConfiguration `default` spec.controllers.node.hostEndpoint.autoCreate",
        fix: "protect the Windows nodes with the firewall of Windows",
        source: LIMITATIONS,
        check: automatic,
    },
    Rule {
        code: "WN1062",
        severity: Severity::Warning,
        title: "Hosts outside the cluster",
        limit: "Calico protects hosts outside the cluster on Linux only.",
        reads: "HostEndpoint spec.node that names no Node",
        fix: "if it is a Windows machine, protect it with the firewall of Windows; if it was a node, delete the HostEndpoint",
        source: LIMITATIONS,
        check: outside,
    },
];

fn of_windows(cluster: &Cluster) -> Vec<Hit> {
    let nodes = &cluster.observed.nodes;
    hits(
        cluster,
        |node| nodes.contains_key(node),
        "are of Windows nodes, where they have no effect",
    )
}

fn outside(cluster: &Cluster) -> Vec<Hit> {
    let (windows, linux) = (&cluster.observed.nodes, &cluster.observed.linux);
    hits(
        cluster,
        |node| !windows.contains_key(node) && !linux.contains_key(node),
        "are of hosts outside the cluster",
    )
}

fn hits(cluster: &Cluster, of: impl Fn(&str) -> bool, what: &str) -> Vec<Hit> {
    let endpoints = cluster.observed.calico.host_endpoints.iter();
    let names = endpoints
        .filter(|(_, node)| of(node))
        .map(|(name, _)| name.as_str());
    Hit::of_many(ENDPOINTS, "spec.node", names, |names| format!("{names} {what}"))
        .into_iter()
        .collect()
}

fn automatic(cluster: &Cluster) -> Vec<Hit> {
    let on = cluster.observed.calico.auto_host_endpoints;
    on.then(|| {
        Hit::new(
            "KubeControllersConfiguration default",
            "spec.controllers.node.hostEndpoint.autoCreate",
            "autoCreate is Enabled, but host endpoints of Windows nodes have no effect",
        )
    })
    .into_iter()
    .collect()
}
