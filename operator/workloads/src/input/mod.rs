//! Objects as users write them, read from YAML or JSON text.

pub(crate) mod calico;
pub(crate) mod cluster_policy;
pub(crate) mod kubernetes;
mod number_or_text;
mod read;

use std::collections::BTreeMap;

pub(crate) use number_or_text::{Port, Protocol};
pub use read::{InputError, Manifest};

use calico::{CalicoPolicy, HostEndpoint, NetworkSet, Tier};
use cluster_policy::ClusterNetworkPolicy;
use kubernetes::{EndpointSlice, Namespace, NetworkPolicy, Node, Pod, Service, ServiceAccount};

/// Namespace (empty for cluster-scoped objects) and name.
pub(crate) type Key = (String, String);

/// The objects of a cluster that policies use. A later object replaces an earlier one of the same kind and
/// name.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub(crate) nodes: BTreeMap<Key, Node>,
    pub(crate) namespaces: BTreeMap<Key, Namespace>,
    pub(crate) service_accounts: BTreeMap<Key, ServiceAccount>,
    pub(crate) pods: BTreeMap<Key, Pod>,
    pub(crate) services: BTreeMap<Key, Service>,
    pub(crate) endpoint_slices: BTreeMap<Key, EndpointSlice>,
    pub(crate) network_policies: BTreeMap<Key, NetworkPolicy>,
    pub(crate) cluster_network_policies: BTreeMap<Key, ClusterNetworkPolicy>,
    pub(crate) calico_policies: BTreeMap<(calico::PolicyKind, Key), CalicoPolicy>,
    pub(crate) tiers: BTreeMap<Key, Tier>,
    pub(crate) network_sets: BTreeMap<Key, NetworkSet>,
    pub(crate) host_endpoints: BTreeMap<Key, HostEndpoint>,
    /// Objects of kinds that do not affect policies, as `kind name`.
    pub ignored: Vec<String>,
}

impl Objects {
    /// The objects after `update` is applied to the cluster.
    pub fn updated(&self, update: &Self) -> Self {
        let mut all = self.clone();
        let new = update.clone();
        all.nodes.extend(new.nodes);
        all.namespaces.extend(new.namespaces);
        all.service_accounts.extend(new.service_accounts);
        all.pods.extend(new.pods);
        all.services.extend(new.services);
        all.endpoint_slices.extend(new.endpoint_slices);
        all.network_policies.extend(new.network_policies);
        all.cluster_network_policies.extend(new.cluster_network_policies);
        all.calico_policies.extend(new.calico_policies);
        all.tiers.extend(new.tiers);
        all.network_sets.extend(new.network_sets);
        all.host_endpoints.extend(new.host_endpoints);
        all.ignored.extend(new.ignored);
        all
    }
}
