//! Objects as users write them, read from YAML or JSON text.

pub(crate) mod calico;
pub(crate) mod cluster_policy;
mod documents;
pub(crate) mod kubernetes;
mod number_or_text;
pub(crate) mod pod;
pub mod position;
mod problem;
mod read;
pub(crate) mod service;
pub(crate) mod slice;
mod store;
mod texts;
pub(crate) mod workload;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(crate) use number_or_text::{NumberOrText, Port, Protocol};
pub use problem::InputError;
pub use read::Manifest;

use calico::{BgpConfiguration, CalicoPolicy, HostEndpoint, IpPool, NetworkSet, Tier};
use cluster_policy::ClusterNetworkPolicy;
use kubernetes::{Namespace, NetworkPolicy, Node, ServiceAccount};
use pod::{Pod, PodClass};
use service::Service;
use slice::EndpointSlice;
use workload::{DisruptionBudget, RuntimeClass, Workload, WorkloadKind};

/// Namespace (empty for cluster-scoped objects) and name.
pub(crate) type Key = (Arc<str>, Arc<str>);

/// The key of an object.
pub(crate) fn key(namespace: &str, name: &str) -> Key {
    (namespace.into(), name.into())
}

/// The objects of a cluster that are evaluated. A later object replaces an earlier one of the same kind and
/// name.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub(crate) nodes: BTreeMap<Key, Node>,
    pub(crate) namespaces: BTreeMap<Key, Namespace>,
    pub(crate) service_accounts: BTreeMap<Key, ServiceAccount>,
    pub(crate) pods: BTreeMap<Key, Pod>,
    pub(crate) services: BTreeMap<Key, Box<Service>>,
    pub(crate) endpoint_slices: BTreeMap<Key, Box<EndpointSlice>>,
    pub(crate) network_policies: BTreeMap<Key, Arc<NetworkPolicy>>,
    pub(crate) cluster_network_policies: BTreeMap<Key, Arc<ClusterNetworkPolicy>>,
    pub(crate) calico_policies: BTreeMap<(calico::PolicyKind, Key), Arc<CalicoPolicy>>,
    pub(crate) tiers: BTreeMap<Key, Tier>,
    pub(crate) network_sets: BTreeMap<Key, NetworkSet>,
    pub(crate) host_endpoints: BTreeMap<Key, HostEndpoint>,
    pub(crate) ip_pools: BTreeMap<Key, IpPool>,
    pub(crate) bgp_configurations: BTreeMap<Key, BgpConfiguration>,
    pub(crate) workloads: BTreeMap<(WorkloadKind, Key), Workload>,
    pub(crate) disruption_budgets: BTreeMap<Key, DisruptionBudget>,
    pub(crate) runtime_classes: BTreeMap<Key, RuntimeClass>,
    /// Objects of other kinds, as `kind name`.
    pub ignored: Vec<String>,
    shared: Shared,
}

/// What objects have in common, each once.
#[derive(Clone, Debug, Default)]
struct Shared {
    pod_classes: HashSet<Arc<PodClass>>,
    /// Names of namespaces and nodes.
    names: HashSet<Arc<str>>,
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
        all.ip_pools.extend(new.ip_pools);
        all.bgp_configurations.extend(new.bgp_configurations);
        all.workloads.extend(new.workloads);
        all.disruption_budgets.extend(new.disruption_budgets);
        all.runtime_classes.extend(new.runtime_classes);
        all.ignored.extend(new.ignored);
        all
    }
}
