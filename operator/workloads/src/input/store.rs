//! The objects of one kind, whatever their type.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calico::PolicyKind;
use super::workload::WorkloadKind;
use super::{Key, Objects, Shared};
use crate::kinds::{CALICO_V1_GROUP, CALICO_V3_GROUP, Kind};

/// A map with the objects of a kind.
trait Store {
    /// Whether there was such an object.
    fn remove(&mut self, kind: &Kind, key: &Key) -> bool;
    fn keys(&self, kind: &Kind) -> Vec<Key>;
}

/// Namespaced and cluster-scoped kinds may share a map: the latter have no namespace.
impl<T> Store for BTreeMap<Key, T> {
    fn remove(&mut self, _: &Kind, key: &Key) -> bool {
        Self::remove(self, key).is_some()
    }

    fn keys(&self, kind: &Kind) -> Vec<Key> {
        let keys = Self::keys(self);
        let of_kind = keys.filter(|(namespace, _)| namespace.is_empty() != kind.is_namespaced);
        of_kind.cloned().collect()
    }
}

/// A kind that shares a map with others.
trait OneOfMany: Copy + Ord {
    fn of(kind: &Kind) -> Option<Self>;
}

impl OneOfMany for PolicyKind {
    fn of(kind: &Kind) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind.kind)
    }
}

impl OneOfMany for WorkloadKind {
    fn of(kind: &Kind) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| (known.group(), known.as_str()) == (kind.group, kind.kind))
    }
}

impl<K: OneOfMany, T> Store for BTreeMap<(K, Key), T> {
    fn remove(&mut self, kind: &Kind, key: &Key) -> bool {
        let of_kind = K::of(kind).map(|kind| (kind, key.clone()));
        of_kind.is_some_and(|key| Self::remove(self, &key).is_some())
    }

    fn keys(&self, kind: &Kind) -> Vec<Key> {
        let of_kind = K::of(kind);
        let keys = Self::keys(self).filter(|(kind, _)| Some(*kind) == of_kind);
        keys.map(|(_, key)| key.clone()).collect()
    }
}

/// The map of a kind, borrowed with the tokens in parentheses.
macro_rules! store {
    ($objects:ident, $kind:ident, ($($borrow:tt)+)) => {
        match ($kind.group, $kind.kind) {
            ("", "Node") => $($borrow)+ $objects.nodes,
            ("", "Namespace") => $($borrow)+ $objects.namespaces,
            ("", "ServiceAccount") => $($borrow)+ $objects.service_accounts,
            ("", "Pod") => $($borrow)+ $objects.pods,
            ("", "Service") => $($borrow)+ $objects.services,
            ("discovery.k8s.io", _) => $($borrow)+ $objects.endpoint_slices,
            ("networking.k8s.io", _) => $($borrow)+ $objects.network_policies,
            ("policy.networking.k8s.io", _) => $($borrow)+ $objects.cluster_network_policies,
            ("policy", _) => $($borrow)+ $objects.disruption_budgets,
            ("node.k8s.io", _) => $($borrow)+ $objects.runtime_classes,
            (CALICO_V1_GROUP | CALICO_V3_GROUP, "Tier") => $($borrow)+ $objects.tiers,
            (CALICO_V1_GROUP | CALICO_V3_GROUP, "NetworkSet" | "GlobalNetworkSet") => {
                $($borrow)+ $objects.network_sets
            }
            (CALICO_V1_GROUP | CALICO_V3_GROUP, "HostEndpoint") => $($borrow)+ $objects.host_endpoints,
            (CALICO_V1_GROUP | CALICO_V3_GROUP, "IPPool") => $($borrow)+ $objects.ip_pools,
            (CALICO_V1_GROUP | CALICO_V3_GROUP, "BGPConfiguration") => {
                $($borrow)+ $objects.bgp_configurations
            }
            (CALICO_V1_GROUP | CALICO_V3_GROUP, _) => $($borrow)+ $objects.calico_policies,
            _ => $($borrow)+ $objects.workloads,
        }
    };
}

impl Objects {
    /// Frees what no object uses any longer.
    pub(crate) fn forget_unused(&mut self) {
        let Shared { pod_classes, names } = &mut self.shared;
        pod_classes.retain(|class| Arc::strong_count(class) > 1);
        names.retain(|name| Arc::strong_count(name) > 1);
    }

    /// Removes an object. Returns whether there was one.
    pub(crate) fn remove(&mut self, kind: &Kind, key: &Key) -> bool {
        let store: &mut dyn Store = store!(self, kind, (&mut));
        store.remove(kind, key)
    }

    /// Namespace and name of every object of a kind.
    pub(crate) fn keys(&self, kind: &Kind) -> Vec<Key> {
        let store: &dyn Store = store!(self, kind, (&));
        store.keys(kind)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::input::key;
    use crate::kinds::{CALICO_V1, CALICO_V3, KUBERNETES};

    /// Every kind of the table is read, found and removed as itself only.
    #[test]
    fn each_kind_has_its_own_objects() {
        for form in [&CALICO_V1, &CALICO_V3] {
            let kinds = || KUBERNETES.iter().chain(form);
            let mut objects = Objects::default();
            for kind in kinds() {
                let namespace = if kind.is_namespaced { "n" } else { "" };
                let key = key(namespace, kind.plural);
                objects
                    .put(kind, key, json!({"metadata": {"name": kind.plural}}))
                    .unwrap();
            }
            assert!(objects.ignored.is_empty(), "{:?}", objects.ignored);
            for kind in kinds() {
                let keys = objects.keys(kind);
                let [key] = keys.as_slice() else {
                    panic!("{kind:?}: {keys:?}");
                };
                assert_eq!(&*key.1, kind.plural);
                assert!(objects.remove(kind, key));
                assert!(!objects.remove(kind, key));
            }
        }
    }
}
