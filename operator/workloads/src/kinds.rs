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
    pub(crate) readers: Readers,
}

/// The findings that depend on objects of a kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Readers {
    /// Those about policies.
    Policies,
    /// Those about Services and pods.
    Limits,
    /// All findings.
    All,
}

/// Group of Calico's API where Calico's own API server or a native installation serves it.
pub const CALICO_V3_GROUP: &str = "projectcalico.org";
/// Group of Calico's API as its custom resources store it.
pub const CALICO_V1_GROUP: &str = "crd.projectcalico.org";

/// Kinds of Kubernetes.
pub static KUBERNETES: [Kind; 17] = [
    global("", "v1", "Node", "nodes"),
    global("", "v1", "Namespace", "namespaces"),
    namespaced("", "v1", "ServiceAccount", "serviceaccounts").of_policies(),
    namespaced("", "v1", "Pod", "pods"),
    namespaced("", "v1", "Service", "services").of_limits(),
    namespaced("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies").of_policies(),
    global(
        "policy.networking.k8s.io",
        "v1alpha2",
        "ClusterNetworkPolicy",
        "clusternetworkpolicies",
    )
    .of_policies(),
    namespaced("apps", "v1", "Deployment", "deployments").of_limits(),
    namespaced("apps", "v1", "StatefulSet", "statefulsets").of_limits(),
    namespaced("apps", "v1", "DaemonSet", "daemonsets").of_limits(),
    namespaced("apps", "v1", "ReplicaSet", "replicasets").of_limits(),
    namespaced("", "v1", "ReplicationController", "replicationcontrollers").of_limits(),
    namespaced("batch", "v1", "Job", "jobs").of_limits(),
    namespaced("batch", "v1", "CronJob", "cronjobs").of_limits(),
    namespaced("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets").of_limits(),
    global("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses").of_limits(),
];

/// Kinds of Calico as `crd.projectcalico.org/v1`.
pub static CALICO_V1: [Kind; 11] = calico(CALICO_V1_GROUP, "v1");
/// Kinds of Calico as `projectcalico.org/v3`, in the order of [`CALICO_V1`].
pub static CALICO_V3: [Kind; 11] = calico(CALICO_V3_GROUP, "v3");

const fn calico(group: &'static str, version: &'static str) -> [Kind; 11] {
    [
        global(group, version, "Tier", "tiers").of_policies(),
        global(group, version, "GlobalNetworkPolicy", "globalnetworkpolicies").of_policies(),
        namespaced(group, version, "NetworkPolicy", "networkpolicies").of_policies(),
        global(
            group,
            version,
            "StagedGlobalNetworkPolicy",
            "stagedglobalnetworkpolicies",
        )
        .of_policies(),
        namespaced(group, version, "StagedNetworkPolicy", "stagednetworkpolicies").of_policies(),
        namespaced(
            group,
            version,
            "StagedKubernetesNetworkPolicy",
            "stagedkubernetesnetworkpolicies",
        )
        .of_policies(),
        global(group, version, "GlobalNetworkSet", "globalnetworksets").of_policies(),
        namespaced(group, version, "NetworkSet", "networksets").of_policies(),
        global(group, version, "HostEndpoint", "hostendpoints").of_policies(),
        global(group, version, "IPPool", "ippools").of_limits(),
        global(group, version, "BGPConfiguration", "bgpconfigurations").of_limits(),
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
        readers: Readers::All,
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
    const fn of_policies(self) -> Self {
        Self {
            readers: Readers::Policies,
            ..self
        }
    }

    const fn of_limits(self) -> Self {
        Self {
            readers: Readers::Limits,
            ..self
        }
    }

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
