//! Calico's version on Windows nodes.

use wn_api::component::Component;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::network;
use crate::version::Version;

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1070",
        severity: Severity::Warning,
        title: "Connections break when policies change",
        limit: "Before v3.31, Calico on Windows programs all policies of a pod again at each change and when Felix restarts, which \
                resets TCP connections.",
        reads: "the image of calico-node or Typha on Linux nodes; Installation `default` status.calicoVersion; ClusterInformation `default` \
                spec.calicoVersion",
        fix: "upgrade Calico to v3.31 or later",
        source: "projectcalico/calico#10199, fixed by #10437",
        check: resets,
    },
    Rule {
        code: "WN1071",
        severity: Severity::Warning,
        title: "The agent is of another release than Calico",
        limit: "Calico is upgraded as a whole: an agent on Windows nodes of another minor version may not understand what the other \
                components write.",
        reads: "the image of calico-node or Typha on Linux nodes; Installation `default` status.calicoVersion; ClusterInformation `default` \
                spec.calicoVersion; the image of the agent's DaemonSet; spec.nodeAgent.image.tag of the \
                WindowsNodeConfig",
        fix: "run the same release on all nodes",
        source: "tigera/docs windows-calico: manual upgrade",
        check: skew,
    },
    Rule {
        code: "WN1072",
        severity: Severity::Warning,
        title: "Calico's policy on flannel's VXLAN",
        limit: "Calico for Windows is tested with its own networks and those of clouds. Nobody upstream tests its network policy on \
                flannel's overlay.",
        reads: "spec.network.type of the WindowsNodeConfig; whether Calico is installed",
        fix: "test your policies on Windows pods before you rely on them, or set spec.network.type to CalicoVXLAN",
        source: "tigera/docs windows-calico: requirements",
        check: untested_overlay,
    },
    Rule {
        code: "WN1073",
        severity: Severity::Warning,
        title: "Several HNS networks on a node",
        limit: "With windows_use_single_network off, Calico creates an HNS network for each block of a node. kube-proxy serves one of \
                them: pods of the others reach no Service.",
        reads: "spec.nodeAgent.useSingleNetwork of the WindowsNodeConfig",
        fix: "keep useSingleNetwork true and give the IPPool larger blocks (blockSize), or do without Services in pods of further \
                blocks; change it on a node without pods only, because HNS endpoints are left behind otherwise",
        source: "tigera/docs windows-calico: limitations, Single IP block per host",
        check: several_networks,
    },
];

fn several_networks(cluster: &Cluster) -> Vec<Hit> {
    let hit = || {
        Hit::new(
            "WindowsNodeConfig default",
            "spec.nodeAgent.useSingleNetwork",
            "pods of a node's second block and later ones reach no Service, because kube-proxy serves one HNS network",
        )
    };
    let several =
        cluster.spec.node_agent.use_single_network == Some(false) && cluster.runs_ours(Component::NodeAgent);
    several.then(hit).into_iter().collect()
}

fn untested_overlay(cluster: &Cluster) -> Vec<Hit> {
    let untested = network::of(cluster.spec.network.type_).policy_untested;
    let calico = cluster.observed.calico.cluster_information.is_some();
    let hit = |network: &str| {
        Hit::new(
            "WindowsNodeConfig default",
            "spec.network.type",
            format!("Calico's network policy on {network} is not tested on Windows nodes"),
        )
    };
    untested.filter(|_| calico).map(hit).into_iter().collect()
}

const FIXED: (u32, u32) = (3, 31);

fn minor(version: &Version) -> (u32, u32) {
    (version.major, version.minor)
}

fn resets(cluster: &Cluster) -> Vec<Hit> {
    let old = cluster.calico().filter(|calico| minor(&calico.version) < FIXED);
    old.map(|calico| {
        let message = format!(
            "Calico is {}, where a change of policy resets TCP connections on Windows nodes",
            calico.version
        );
        Hit::new(calico.object, calico.field, message)
    })
    .into_iter()
    .collect()
}

fn skew(cluster: &Cluster) -> Vec<Hit> {
    let Some(calico) = cluster.calico().map(|calico| calico.version) else {
        return Vec::new();
    };
    if cluster.runs_ours(Component::NodeAgent) {
        // The operator's agent follows Calico unless the spec pins its tag.
        let asked: Option<Version> = cluster
            .spec
            .node_agent
            .image
            .tag
            .as_deref()
            .and_then(|t| t.parse().ok());
        return asked
            .filter(|v| minor(v) != minor(&calico))
            .map(|agent| {
                let message =
                    format!("spec.nodeAgent.image.tag selects an agent of {agent}, but Calico is {calico}");
                Hit::new("WindowsNodeConfig default", "spec.nodeAgent.image.tag", message)
            })
            .into_iter()
            .collect();
    }
    let agents = cluster
        .observed
        .daemon_sets
        .iter()
        .filter(|(_, d)| d.component == Component::NodeAgent && !d.ours);
    agents
        .filter_map(|((namespace, name), facts)| {
            let agent = facts.version.as_ref().filter(|v| minor(v) != minor(&calico))?;
            let message = format!("the agent is {agent}, but Calico is {calico}");
            Some(Hit::new(
                format!("DaemonSet {namespace}/{name}"),
                "spec.template.spec.containers",
                message,
            ))
        })
        .collect()
}
