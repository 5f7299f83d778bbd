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

use crate::input::Objects;
use crate::input::calico as v3;
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

/// Every policy of the objects in Calico's form, in no particular order. Staged policies that stage a
/// deletion are left out.
pub fn policies(objects: &Objects) -> Vec<Converted> {
    let kubernetes = objects
        .network_policies
        .iter()
        .map(|((namespace, name), policy)| {
            kubernetes::converted(PolicyKind::Kubernetes, namespace, name, &policy.spec)
        });
    let cluster = objects
        .cluster_network_policies
        .iter()
        .filter_map(|((_, name), policy)| cluster_policy::converted(name, policy));
    let calico = objects
        .calico_policies
        .iter()
        .filter(|(_, policy)| policy.spec.staged_action != "Delete")
        .map(|((kind, (namespace, name)), policy)| match kind {
            v3::PolicyKind::StagedKubernetesNetworkPolicy => {
                kubernetes::converted(PolicyKind::StagedKubernetes, namespace, name, &policy.kubernetes)
            }
            _ => calico::converted(*kind, namespace, name, policy),
        });
    kubernetes.chain(cluster).chain(calico).collect()
}
