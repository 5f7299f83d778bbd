//! The kinds of objects that findings are made from, as an API server serves them.

/// A kind as it is served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version of the group.
    pub version: &'static str,
    /// The object's `kind`.
    pub kind: &'static str,
    /// Name of the resource, as in a path and in a role.
    pub plural: &'static str,
    /// Whether objects have a namespace.
    pub is_namespaced: bool,
}

/// Group of Calico's API where Calico's own API server or a native installation serves it.
pub const CALICO_V3_GROUP: &str = "projectcalico.org";
/// Group of Calico's API as its custom resources store it.
pub const CALICO_V1_GROUP: &str = "crd.projectcalico.org";

/// Kinds of Kubernetes.
pub static KUBERNETES: [Kind; 17] = [
    global("", "v1", "Node", "nodes"),
    global("", "v1", "Namespace", "namespaces"),
    namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
    namespaced("", "v1", "Pod", "pods"),
    namespaced("", "v1", "Service", "services"),
    namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
    global(
        "policy.networking.k8s.io",
        "v1alpha2",
        "ClusterNetworkPolicy",
        "clusternetworkpolicies",
    ),
    namespaced("apps", "v1", "Deployment", "deployments"),
    namespaced("apps", "v1", "StatefulSet", "statefulsets"),
    namespaced("apps", "v1", "DaemonSet", "daemonsets"),
    namespaced("apps", "v1", "ReplicaSet", "replicasets"),
    namespaced("", "v1", "ReplicationController", "replicationcontrollers"),
    namespaced("batch", "v1", "Job", "jobs"),
    namespaced("batch", "v1", "CronJob", "cronjobs"),
    namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    global("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
];

/// Kinds of Calico as `crd.projectcalico.org/v1`.
pub static CALICO_V1: [Kind; 11] = calico(CALICO_V1_GROUP, "v1");
/// Kinds of Calico as `projectcalico.org/v3`, in the order of [`CALICO_V1`].
pub static CALICO_V3: [Kind; 11] = calico(CALICO_V3_GROUP, "v3");

const fn calico(group: &'static str, version: &'static str) -> [Kind; 11] {
    [
        global(group, version, "Tier", "tiers"),
        global(group, version, "GlobalNetworkPolicy", "globalnetworkpolicies"),
        namespaced(group, version, "NetworkPolicy", "networkpolicies"),
        global(
            group,
            version,
            "StagedGlobalNetworkPolicy",
            "stagedglobalnetworkpolicies",
        ),
        namespaced(group, version, "StagedNetworkPolicy", "stagednetworkpolicies"),
        namespaced(
            group,
            version,
            "StagedKubernetesNetworkPolicy",
            "stagedkubernetesnetworkpolicies",
        ),
        global(group, version, "GlobalNetworkSet", "globalnetworksets"),
        namespaced(group, version, "NetworkSet", "networksets"),
        global(group, version, "HostEndpoint", "hostendpoints"),
        global(group, version, "IPPool", "ippools"),
        global(group, version, "BGPConfiguration", "bgpconfigurations"),
    ]
}

const fn global(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Kind {
    Kind {
        group,
        version,
        kind,
        plural,
        is_namespaced: false,
    }
}

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Kind {
    Kind {
        is_namespaced: true,
        ..global(group, version, kind, plural)
    }
}

impl Kind {
    /// The kind of a group; `None` for one that no finding is made from.
    pub fn find(group: &str, kind: &str) -> Option<&'static Self> {
        let mut all = KUBERNETES.iter().chain(&CALICO_V1).chain(&CALICO_V3);
        all.find(|known| (known.group, known.kind) == (group, kind))
    }

    /// The same kind in a form of Calico's API; kinds of Kubernetes as they are.
    pub fn in_group(&'static self, calico: &str) -> &'static Self {
        match self.group {
            CALICO_V1_GROUP | CALICO_V3_GROUP => Self::find(calico, self.kind).unwrap_or(self),
            _ => self,
        }
    }

    /// The object's `apiVersion`, such as `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_calicos_api_have_the_same_kinds() {
        for (v1, v3) in CALICO_V1.iter().zip(&CALICO_V3) {
            assert_eq!(v1.in_group(CALICO_V3_GROUP), v3);
            assert_eq!(v3.in_group(CALICO_V1_GROUP), v1);
        }
        let pod = Kind::find("", "Pod");
        assert_eq!(pod.map(|kind| kind.in_group(CALICO_V1_GROUP)), pod);
    }

    #[test]
    fn the_core_group_is_not_in_an_api_version() {
        let version = |group, kind| Kind::find(group, kind).map(Kind::api_version);
        assert_eq!(version("", "Pod").as_deref(), Some("v1"));
        assert_eq!(
            version(CALICO_V1_GROUP, "Tier").as_deref(),
            Some("crd.projectcalico.org/v1")
        );
        assert_eq!(version("", "Secret"), None);
    }
}
