//! Are there the Linux nodes that Windows nodes depend on?

use wn_api::names::{TYPHA, tigera};
use wn_api::reasons::Reason;

use crate::finding::Finding;
use crate::observed::Observed;

/// Linux nodes that Typha, kube-controllers or DNS need and the cluster does not have.
pub fn findings(observed: &Observed) -> Vec<Finding> {
    if observed.linux.is_empty() {
        return vec![Finding {
            reason: Reason::NoLinuxNodes,
            message: "the cluster has no node with kubernetes.io/os=linux: Calico's kube-controllers and Typha, and the cluster's \
                      DNS, run on Linux only; add a Linux node"
                .to_owned(),
        }];
    }
    // tigera/operator counts before it makes its Typha, and makes nothing of Calico while there are too few.
    let operator = observed.installation.is_some() || observed.typha.contains_key(tigera::CALICO_NAMESPACE);
    let operator = operator.then(|| (tigera::CALICO_NAMESPACE, scale(schedulable(observed))));
    // Elsewhere there are as many as its author wrote.
    let others = observed
        .typha
        .iter()
        .filter(|(n, _)| *n != tigera::CALICO_NAMESPACE);
    let others = others.map(|(namespace, typha)| (namespace.as_str(), typha.replicas));
    operator
        .into_iter()
        .chain(others)
        .filter_map(|(namespace, wanted)| {
            let missing = !observed.typha.contains_key(namespace);
            too_few(namespace, wanted, linux(observed), missing)
        })
        .collect()
}

/// One replica a node, on Linux nodes: each has the port of the host.
fn too_few(namespace: &str, wanted: usize, have: usize, missing: bool) -> Option<Finding> {
    let stops = if missing {
        "; tigera/operator creates neither Typha nor other missing parts of Calico until there are enough"
    } else {
        ""
    };
    (have < wanted).then(|| Finding {
        reason: Reason::TooFewLinuxNodes,
        message: format!(
            "Typha (Deployment {namespace}/{TYPHA}) needs {wanted} schedulable Linux nodes, and there are {have}: the number \
             includes Windows nodes, which cannot run it; add Linux nodes{stops}"
        ),
    })
}

/// Replicas for a number of nodes: tigera/operator `pkg/common/autoscale.go`, `GetExpectedTyphaScale`.
fn scale(nodes: usize) -> usize {
    match nodes {
        0..=2 => 1,
        3..=4 => 2,
        _ => (nodes / 200 + 2).max(3),
    }
}

/// Nodes of either system that take pods.
fn schedulable(observed: &Observed) -> usize {
    let windows = observed.nodes.values().filter(|n| n.schedulable);
    linux(observed) + windows.count()
}

fn linux(observed: &Observed) -> usize {
    observed.linux.values().filter(|n| n.schedulable).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_as_tigera_operator_scales_them() {
        let expected = [
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (199, 3),
            (200, 3),
            (400, 4),
            (2000, 12),
        ];
        for (nodes, replicas) in expected {
            assert_eq!(scale(nodes), replicas, "{nodes} nodes");
        }
    }
}
