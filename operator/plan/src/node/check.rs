//! What a check sees, and what it says.

use std::borrow::Cow;

use jiff::Timestamp;
use wn_api::component::{Component, PerComponent};
use wn_api::node_reasons::{NodeReason, Weight};

use super::cluster_context::ClusterContext;
use crate::network::{self, NetworkProfile};
use crate::observed::{AffinityFacts, Announced, BlockFacts, NodeFacts, Observed, PodFacts, SandboxFailure};
use crate::version::Version;
use crate::workload::kube_proxy::Group;

/// One node, and what of the cluster is its.
pub struct View<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Facts of the Node.
    pub node: &'a NodeFacts,
    /// What calico-node announced of it.
    pub announced: Cow<'a, Announced>,
    /// It did so in etcd.
    pub in_etcd: bool,
    /// The pod of each component.
    pub pods: PerComponent<Option<&'a PodFacts>>,
    /// Blocks that are affine to the node.
    pub blocks: Vec<&'a BlockFacts>,
    /// Claims of blocks by the node.
    pub affinities: Vec<&'a AffinityFacts>,
    /// Pods of the node without a sandbox.
    pub failures: Vec<&'a SandboxFailure>,
    /// Cluster-wide facts.
    pub cluster: &'a ClusterContext,
    /// The reason of the last verdict, and since when it holds.
    pub before: Option<(NodeReason, Timestamp)>,
    /// The time of the check.
    pub now: Timestamp,
}

impl<'a> View<'a> {
    /// The view of one node. `before`: reason of the last verdict, and since when.
    pub fn of(
        name: &'a str,
        node: &'a NodeFacts,
        observed: &'a Observed,
        cluster: &'a ClusterContext,
        before: Option<(NodeReason, Timestamp)>,
        now: Timestamp,
    ) -> Self {
        // While a pod is replaced the old one still counts, until the new one is there.
        let pod = |component: Component| {
            let pods = observed.pods.of(name).filter(|p| p.component == component);
            pods.min_by_key(|p| (p.deleting, p.unscheduled.is_some()))
        };
        Self {
            name,
            node,
            announced: observed.calico.announced(name, node),
            in_etcd: observed.calico.etcd.is_some(),
            pods: PerComponent::new(pod),
            blocks: observed.calico.blocks.of(name).collect(),
            affinities: observed.calico.affinities.of(name).collect(),
            failures: observed.failures.of(name).collect(),
            cluster,
            before,
            now,
        }
    }

    /// What the network type of the node is.
    pub fn profile(&self) -> &'static NetworkProfile {
        network::of(self.cluster.network)
    }

    /// Is the node on an overlay network?
    pub fn overlay(&self) -> bool {
        self.profile().is_overlay()
    }

    /// Does Calico network the node, with addresses, tunnels and announcements of its own?
    pub fn calico_networks(&self) -> bool {
        self.profile().calico.backend().is_some()
    }

    /// Has Calico's startup succeeded since its container started? `None` if that is unknown: without a pod of the
    /// agent, while its container waits, and where Calico does not network the node. Both times are of the node's clock.
    pub fn started_up(&self) -> Option<bool> {
        let began = self.pods[Component::NodeAgent]
            .filter(|_| self.calico_networks())?
            .startup?;
        Some(self.node.network_up? >= began)
    }

    /// Group of the node; `None` where somebody else runs kube-proxy.
    pub fn group(&self) -> Option<&'a Group> {
        Group::of(&self.cluster.groups, self.node)
    }

    /// Does kube-proxy of the node do DSR, as far as the API shows?
    pub fn dsr(&self) -> Option<bool> {
        let configured = self.pods[Component::KubeProxy].and_then(|p| p.dsr);
        configured
            .or_else(|| self.group().map(|group| group.dsr))
            .or_else(|| self.cluster.theirs.as_ref().and_then(|t| t.dsr))
            .or_else(|| self.node.dsr_of_rke2())
    }

    /// Version of kube-proxy on the node, read from the tag of its image.
    pub fn proxy_version(&self) -> Option<&'a Version> {
        let running = self.pods[Component::KubeProxy].and_then(|p| p.version.as_ref());
        running.or_else(|| self.cluster.theirs.as_ref().and_then(|t| t.version.as_ref()))
    }

    /// Since when the node has had what it needs to set up its network.
    pub fn began(&self) -> Timestamp {
        let networks = if self.calico_networks() {
            Component::NodeAgent
        } else {
            Component::NetworkAgent
        };
        let agent = self.pods[networks].and_then(|p| p.started);
        agent.max(self.node.created).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The reason.
    pub reason: NodeReason,
    /// How much it weighs now.
    pub weight: Weight,
    /// What is wrong and what to do, as one sentence.
    pub message: String,
    /// When time alone changes it.
    pub until: Option<Timestamp>,
}

/// A finding of the reason's usual weight.
pub fn find(reason: NodeReason, cause: impl Into<String>) -> Finding {
    Finding {
        reason,
        weight: reason.entry().usually,
        message: format!("{}; {}", cause.into(), reason.entry().fix),
        until: None,
    }
}

impl Finding {
    /// The finding with another weight.
    #[must_use]
    pub const fn weighing(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// Not yet failing before the deadline.
    #[must_use]
    pub fn due(self, deadline: Timestamp, now: Timestamp) -> Self {
        if now < deadline {
            Self {
                weight: Weight::Progressing,
                until: Some(deadline),
                ..self
            }
        } else {
            self
        }
    }

    /// Over at that time, unless it is found again.
    #[must_use]
    pub const fn until(mut self, end: Timestamp) -> Self {
        self.until = Some(end);
        self
    }
}
