//! Converts users' objects to the model, as libcalico-go's converters and update processors do.

mod calico;
mod cluster_policy;
mod endpoints;
mod kubernetes;
mod ports;
mod selectors;
mod tiers;

pub use calico::{id, model};
pub use endpoints::{Item, Pod, items, local_addresses};
pub use tiers::tiers;

use std::sync::Arc;

use crate::input::Objects;
use crate::input::calico::{self as v3, CalicoPolicy};
use crate::input::cluster_policy::ClusterNetworkPolicy;
use crate::input::kubernetes::NetworkPolicy;
use crate::model::{Origin, PolicyId, PolicyKind};

/// A policy in the form of `projectcalico.org/v3`, with the origins of its rules.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Kind, namespace and name.
    pub id: PolicyId,
    /// The spec.
    pub spec: v3::PolicySpec,
    /// Origins of the rules of ingress and of egress.
    pub origins: [Vec<Origin>; 2],
    /// Whether Calico validates the policy. False for kinds that Kubernetes validates.
    pub validated: bool,
}

/// The user's object of a policy.
#[derive(Clone, Debug)]
pub enum Source {
    /// A `NetworkPolicy` of Kubernetes.
    Kubernetes(Arc<NetworkPolicy>),
    /// A `ClusterNetworkPolicy`.
    Cluster(Arc<ClusterNetworkPolicy>),
    /// A policy of Calico.
    Calico(Arc<CalicoPolicy>),
}

impl Source {
    /// Whether both are the same object, not only equal ones.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kubernetes(a), Self::Kubernetes(b)) => Arc::ptr_eq(a, b),
            (Self::Cluster(a), Self::Cluster(b)) => Arc::ptr_eq(a, b),
            (Self::Calico(a), Self::Calico(b)) => Arc::ptr_eq(a, b),
            (Self::Kubernetes(_) | Self::Cluster(_) | Self::Calico(_), _) => false,
        }
    }

    /// The policy in Calico's form; `None` for one that Calico skips.
    pub fn converted(&self, id: &PolicyId) -> Option<Converted> {
        let PolicyId {
            name,
            namespace,
            kind,
        } = id;
        match self {
            Self::Kubernetes(policy) => Some(kubernetes::converted(*kind, namespace, name, &policy.spec)),
            Self::Cluster(policy) => cluster_policy::converted(name, policy),
            Self::Calico(policy) => Some(match policy.kind {
                v3::PolicyKind::StagedKubernetesNetworkPolicy => {
                    kubernetes::converted(*kind, namespace, name, &policy.kubernetes)
                }
                _ => calico::converted(policy.kind, namespace, name, policy),
            }),
        }
    }
}

/// Every policy of the objects, by kind and name. Staged policies that stage a deletion are left out.
pub fn sources(objects: &Objects) -> impl Iterator<Item = (PolicyId, Source)> {
    let kubernetes = objects
        .network_policies
        .iter()
        .map(|((namespace, name), policy)| {
            let id = PolicyId {
                name: name.to_string(),
                namespace: namespace.to_string(),
                kind: PolicyKind::Kubernetes,
            };
            (id, Source::Kubernetes(policy.clone()))
        });
    let cluster = objects
        .cluster_network_policies
        .iter()
        .map(|((_, name), policy)| {
            let id = PolicyId {
                name: name.to_string(),
                namespace: String::new(),
                kind: PolicyKind::ClusterNetworkPolicy,
            };
            (id, Source::Cluster(policy.clone()))
        });
    let calico = objects
        .calico_policies
        .iter()
        .filter(|(_, policy)| policy.spec.staged_action != "Delete")
        .map(|((kind, (namespace, name)), policy)| {
            (id(*kind, namespace, name), Source::Calico(policy.clone()))
        });
    kubernetes.chain(cluster).chain(calico)
}
