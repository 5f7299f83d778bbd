//! Who runs each component: we, or someone we must not fight. Two node agents on one node delete each
//! other's HNS networks; two kube-proxies each other's load balancers.

use wn_api::component::Component;
use wn_api::spec::{Management, WindowsNodeConfigSpec};

use crate::calico;
use crate::network;
use crate::observed::Observed;
use crate::platform;
use crate::tigera::{self, AgentOwner};

/// Who runs a component.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ownership {
    /// This operator.
    Managed,
    /// Somebody else.
    External {
        /// Who, and how that is known.
        by: String,
    },
    /// Nobody runs it, because the network type has no use for it.
    NotNeeded {
        /// Why, for the condition.
        why: String,
    },
}

impl Ownership {
    /// The value of `management` in the status of the component.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Managed => "Managed",
            Self::External { .. } => "External",
            Self::NotNeeded { .. } => "NotNeeded",
        }
    }
}

/// Decides who runs a component: by the network type, then by the spec, then by what was found.
pub fn of(component: Component, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Ownership {
    if let Some(ownership) = by_network(component, spec) {
        return ownership;
    }
    let ownership = match spec.component(component).management {
        Management::Managed => Ownership::Managed,
        Management::External => Ownership::External {
            by: format!("spec.{}.management is External", component.names().field),
        },
        Management::Auto => someone_else(component, spec, observed)
            .map_or(Ownership::Managed, |by| Ownership::External { by }),
    };
    if component == Component::NodeAgent
        && ownership == Ownership::Managed
        && let Some(why) = no_calico(spec, observed)
    {
        return Ownership::NotNeeded { why };
    }
    ownership
}

/// What the network type alone decides.
fn by_network(component: Component, spec: &WindowsNodeConfigSpec) -> Option<Ownership> {
    let profile = network::of(spec.network.type_);
    let network = spec.network.type_.as_str();
    match component {
        Component::NetworkAgent => profile.agent.is_none().then(|| Ownership::NotNeeded {
            why: format!("network type {network} needs none"),
        }),
        Component::NodeAgent => None,
        Component::KubeProxy => profile.is_of_platform().then(|| Ownership::External {
            by: format!("with network type {network} the platform runs kube-proxy"),
        }),
    }
}

/// Without Calico there is no policy to enforce in a network that is not Calico's.
fn no_calico(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<String> {
    let optional = network::of(spec.network.type_).calico.backend().is_none();
    (optional && calico::api::in_use(&observed.calico).is_none()).then(|| {
        format!(
            "network type {} does without Calico, which is not installed: nothing enforces network policy on Windows nodes",
            spec.network.type_.as_str()
        )
    })
}

/// Who else runs the component, and how we know.
fn someone_else(component: Component, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<String> {
    if component == Component::NodeAgent {
        match tigera::agent_owner(spec, observed) {
            AgentOwner::Theirs => return Some(tigera_operator(observed)),
            AgentOwner::Ours | AgentOwner::OursForNow => return None,
            AgentOwner::NoOperator => {}
        }
    }
    foreign(component, observed).or_else(|| platform_runs(component, spec, observed))
}

fn tigera_operator(observed: &Observed) -> String {
    let hns = observed.installation.as_ref().is_some_and(|i| i.windows_hns);
    if hns {
        "tigera/operator runs it: Installation default has spec.calicoNetwork.windowsDataplane HNS"
    } else {
        "tigera/operator is to run it: spec.calico.installation is Enforce"
    }
    .to_owned()
}

/// A DaemonSet for the same purpose that we did not make, even under a name of ours. A network agent of ours in our
/// namespace is ours under any name: that of another network type is deleted.
fn foreign(component: Component, observed: &Observed) -> Option<String> {
    let mut daemon_sets = observed.daemon_sets.iter();
    let ours = |namespace: &str, name: &str| {
        let known = match component {
            Component::NetworkAgent => true,
            Component::NodeAgent | Component::KubeProxy => component.names().daemon_sets.contains(&name),
        };
        known && namespace == observed.namespace
    };
    let other = daemon_sets.find(|((namespace, name), facts)| {
        facts.component == component && !(facts.ours && ours(namespace, name))
    });
    other.map(|((namespace, name), _)| format!("DaemonSet {namespace}/{name} runs it"))
}

fn platform_runs(component: Component, spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<String> {
    let found = platform::of(spec, observed)?;
    let behaviour = platform::behaviour(found.platform);
    let (runs, what) = match component {
        // A platform that runs Calico's agent brings the network with it.
        Component::NetworkAgent => (behaviour.node_agent, "the network"),
        Component::NodeAgent => (behaviour.node_agent, "the Calico agent"),
        Component::KubeProxy => (behaviour.kube_proxy, "kube-proxy"),
    };
    let name = platform::name(found.platform);
    runs.then(|| format!("{name} runs {what} itself ({})", found.source))
}
