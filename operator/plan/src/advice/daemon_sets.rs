//! DaemonSets that do not say for which operating system they are.

use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};

pub const RULES: &[Rule] = &[Rule {
    code: "WN1080",
    severity: Severity::Warning,
    title: "DaemonSets that select nodes of any operating system",
    limit: "A DaemonSet that does not select kubernetes.io/os has a pod on each Windows node, where an image for Linux cannot run. The \
                pod waits there for ever, and a rollout of the DaemonSet does not end.",
    reads: "DaemonSet spec.template.spec: os, nodeSelector, nodeAffinity, tolerations; Node spec.taints of Windows nodes",
    fix: "give the DaemonSet nodeSelector kubernetes.io/os: linux, or taint Windows nodes with os=windows:NoSchedule",
    source: "kubernetes/kubernetes#94366; flannel-io/flannel#1459",
    check: anywhere,
}];

fn anywhere(cluster: &Cluster) -> Vec<Hit> {
    let open = cluster.observed.nodes.values().any(|n| !n.guarded);
    if cluster.observed.nodes.is_empty() {
        return Vec::new();
    }
    let all = cluster.observed.anywhere.iter();
    let places: Vec<_> = all
        .filter(|(_, tolerant)| open || **tolerant)
        .map(|((namespace, name), _)| format!("{namespace}/{name}"))
        .collect();
    Hit::of_many(
        "DaemonSets",
        "spec.template.spec.nodeSelector",
        places.iter().map(String::as_str),
        |names| format!("{names} have pods on Windows nodes, because they do not select an operating system"),
    )
    .into_iter()
    .collect()
}
