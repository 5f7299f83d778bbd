//! The components: what Windows nodes run as DaemonSets, whoever owns it. One row of names each; a new component is a new
//! variant and its row.

use std::ops::{Index, IndexMut};

use crate::names::{kube_proxy, managers, network_agent, node_agent};
use crate::reasons::conditions;

/// In the order of cause and consequence.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Component {
    /// Networks the nodes where neither Calico nor the platform does.
    NetworkAgent,
    /// Calico's node agent.
    NodeAgent,
    /// kube-proxy for Windows.
    KubeProxy,
}

/// What a component is called in the cluster.
#[derive(Debug)]
pub struct Names {
    /// Its field of `spec` and of `status`.
    pub field: &'static str,
    /// Its condition on the `WindowsNodeConfig`.
    pub condition: &'static str,
    /// Field manager of its objects.
    pub manager: &'static str,
    /// Value of label `app.kubernetes.io/component` on its objects and pods.
    pub label: &'static str,
    /// Every DaemonSet of it that the operator may run.
    pub daemon_sets: &'static [&'static str],
    /// Every ConfigMap of it.
    pub config_maps: &'static [&'static str],
    /// ServiceAccounts of its pods.
    pub service_accounts: &'static [&'static str],
}

const NETWORK_AGENT: Names = Names {
    field: "networkAgent",
    condition: conditions::NETWORK_AGENT_AVAILABLE,
    manager: managers::NETWORK_AGENT,
    label: "network-agent",
    daemon_sets: &[
        network_agent::FLANNEL_DAEMON_SET,
        network_agent::STATIC_ROUTES_DAEMON_SET,
    ],
    config_maps: &[
        network_agent::FLANNEL_CONFIG_MAP,
        network_agent::STATIC_ROUTES_CONFIG_MAP,
        network_agent::STATIC_ROUTES_NODES,
    ],
    service_accounts: &[
        network_agent::FLANNEL_SERVICE_ACCOUNT,
        network_agent::STATIC_ROUTES_SERVICE_ACCOUNT,
    ],
};

const NODE_AGENT: Names = Names {
    field: "nodeAgent",
    condition: conditions::NODE_AGENT_AVAILABLE,
    manager: managers::NODE_AGENT,
    label: "node-agent",
    daemon_sets: &[node_agent::DAEMON_SET],
    config_maps: &[node_agent::CONFIG_MAP],
    service_accounts: &[node_agent::SERVICE_ACCOUNT, node_agent::CNI_SERVICE_ACCOUNT],
};

const KUBE_PROXY: Names = Names {
    field: "kubeProxy",
    condition: conditions::KUBE_PROXY_AVAILABLE,
    manager: managers::KUBE_PROXY,
    label: "kube-proxy",
    daemon_sets: &[kube_proxy::DAEMON_SET, kube_proxy::NO_DSR_DAEMON_SET],
    config_maps: &[kube_proxy::CONFIG_MAP],
    service_accounts: &[kube_proxy::SERVICE_ACCOUNT],
};

impl Component {
    /// Every component, in the order above.
    pub const ALL: [Self; 3] = [Self::NetworkAgent, Self::NodeAgent, Self::KubeProxy];

    /// The component's row of names.
    pub const fn names(self) -> &'static Names {
        match self {
            Self::NetworkAgent => &NETWORK_AGENT,
            Self::NodeAgent => &NODE_AGENT,
            Self::KubeProxy => &KUBE_PROXY,
        }
    }

    /// Names of all its objects.
    pub fn objects(self) -> impl Iterator<Item = &'static str> {
        let names = self.names();
        names.daemon_sets.iter().chain(names.config_maps).copied()
    }
}

/// A value for each component.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerComponent<T> {
    network_agent: T,
    node_agent: T,
    kube_proxy: T,
}

impl<T> PerComponent<T> {
    /// Makes the values in the order of `Component::ALL`.
    pub fn new(mut make: impl FnMut(Component) -> T) -> Self {
        Self {
            network_agent: make(Component::NetworkAgent),
            node_agent: make(Component::NodeAgent),
            kube_proxy: make(Component::KubeProxy),
        }
    }
}

impl<T> Index<Component> for PerComponent<T> {
    type Output = T;

    fn index(&self, component: Component) -> &T {
        match component {
            Component::NetworkAgent => &self.network_agent,
            Component::NodeAgent => &self.node_agent,
            Component::KubeProxy => &self.kube_proxy,
        }
    }
}

impl<T> IndexMut<Component> for PerComponent<T> {
    fn index_mut(&mut self, component: Component) -> &mut T {
        match component {
            Component::NetworkAgent => &mut self.network_agent,
            Component::NodeAgent => &mut self.node_agent,
            Component::KubeProxy => &mut self.kube_proxy,
        }
    }
}
