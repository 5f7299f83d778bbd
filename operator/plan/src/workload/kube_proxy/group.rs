//! Groups of nodes: the nodes of a group run one and the same kube-proxy, from a DaemonSet of its own.
//!
//! A node is in exactly one group. The nodes of all groups but one carry a label that we set; the selector of
//! `Members::Rest` excludes whatever carries it, so that it stays as it is when another group comes or goes. The
//! kubelet's label `node.kubernetes.io/windows-build` cannot decide it: it has no patch level, and no build older than
//! 17763 has HostProcess containers.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec,
};
use wn_api::names::{kube_proxy as names, labels};

use crate::observed::NodeFacts;
use crate::version::Version;

/// Nodes that run the same kube-proxy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// Which nodes they are.
    pub members: Members,
    /// Version of kube-proxy.
    pub version: Version,
    /// kube-proxy uses direct server return.
    pub dsr: bool,
}

/// Which nodes a group is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Members {
    /// Those of no other group.
    Rest,
    /// Those whose build is known not to do DSR.
    UnableToDsr,
}

impl Members {
    /// Name of the DaemonSet of the group.
    pub const fn daemon_set(self) -> &'static str {
        match self {
            Self::Rest => names::DAEMON_SET,
            Self::UnableToDsr => names::NO_DSR_DAEMON_SET,
        }
    }

    /// Value of label `KUBE_PROXY_GROUP` on its nodes; `None` where they do not have the label.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Rest => None,
            Self::UnableToDsr => Some(names::NO_DSR),
        }
    }

    /// Does the node belong to the group, if it belongs to no earlier one?
    pub fn take(self, node: &NodeFacts) -> bool {
        match self {
            Self::Rest => true,
            Self::UnableToDsr => node.build().is_some_and(|b| !b.can_dsr()),
        }
    }

    /// Confines a pod to the nodes of the group.
    pub fn select(self, pod: &mut PodSpec) {
        match self.label() {
            Some(value) => {
                let selector = pod.node_selector.get_or_insert_with(BTreeMap::new);
                selector.insert(labels::KUBE_PROXY_GROUP.to_owned(), value.to_owned());
            }
            None => pod.affinity = Some(without_label()),
        }
    }
}

impl Group {
    /// The group of a node: the first that takes it, the rest last.
    pub fn of<'a>(groups: &'a [Self], node: &NodeFacts) -> Option<&'a Self> {
        let special = groups.iter().filter(|g| g.members != Members::Rest);
        let rest = groups.iter().filter(|g| g.members == Members::Rest);
        special.chain(rest).find(|g| g.members.take(node))
    }
}

fn without_label() -> Affinity {
    let unlabelled = NodeSelectorRequirement {
        key: labels::KUBE_PROXY_GROUP.to_owned(),
        operator: "DoesNotExist".to_owned(),
        values: None,
    };
    let selector = NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: Some(vec![unlabelled]),
            match_fields: None,
        }],
    };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(selector),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}
