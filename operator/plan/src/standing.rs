//! Who runs each DaemonSet: we, or someone we must not fight. Two node agents on one node delete each
//! other's HNS networks; two kube-proxies each other's load balancers.

use wn_api::names::{kube_proxy, node_agent};
use wn_api::spec::{Management, WindowsNodeConfigSpec};

use crate::calico;
use crate::network;
use crate::network::role::CalicoRole;
use crate::observed::{App, Observed};
use crate::platform::{self, Behaviour};
use crate::tigera::{self, Turn};

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    Managed,
    External {
        by: String,
    },
    /// Nobody runs it, because the network type has no use for it.
    NotNeeded {
        why: String,
    },
}

impl Standing {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Managed => "Managed",
            Self::External { .. } => "External",
            Self::NotNeeded { .. } => "NotNeeded",
        }
    }
}

pub fn node_agent(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Standing {
    let standing = decide(
        spec.node_agent.management,
        "spec.nodeAgent.management",
        || match tigera::turn(spec, observed) {
            Turn::Theirs => Some(theirs(observed)),
            Turn::Ours | Turn::OursForNow => None,
            Turn::NoOperator => foreign(observed, App::NodeAgent, &[node_agent::DAEMON_SET])
                .or_else(|| platform_runs(spec, observed, "the Calico agent", |b| b.node_agent)),
        },
    );
    let option = network::of(spec.network.type_);
    let policy_only = matches!(option.calico(), CalicoRole::Policy { .. });
    let absent = calico::api::form(&observed.calico).is_none();
    if policy_only && absent && standing == Standing::Managed {
        return Standing::NotNeeded {
            why: format!(
                "network type {} does without Calico, which is not installed: nothing enforces network policy on Windows nodes",
                spec.network.type_.as_str()
            ),
        };
    }
    standing
}

/// What Calico or the platform networks has no use for another agent.
pub fn network_agent(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Standing {
    let Some(agent) = network::of(spec.network.type_).agent() else {
        return Standing::NotNeeded {
            why: format!("network type {} needs none", spec.network.type_.as_str()),
        };
    };
    decide(
        spec.network_agent.management,
        "spec.networkAgent.management",
        || {
            foreign(observed, App::NetworkAgent, &[agent.daemon_set()])
                .or_else(|| platform_runs(spec, observed, "the network", |b| b.node_agent))
        },
    )
}

pub fn kube_proxy(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Standing {
    if network::of(spec.network.type_).hns_network(observed).is_none() {
        return Standing::External {
            by: format!(
                "with network type {} the platform runs kube-proxy",
                spec.network.type_.as_str()
            ),
        };
    }
    decide(spec.kube_proxy.management, "spec.kubeProxy.management", || {
        foreign(observed, App::KubeProxy, kube_proxy::DAEMON_SETS)
            .or_else(|| platform_runs(spec, observed, "kube-proxy", |b| b.kube_proxy))
    })
}

fn decide(management: Management, field: &str, someone: impl FnOnce() -> Option<String>) -> Standing {
    match management {
        Management::Managed => Standing::Managed,
        Management::External => Standing::External {
            by: format!("{field} is External"),
        },
        Management::Auto => someone().map_or(Standing::Managed, |by| Standing::External { by }),
    }
}

fn theirs(observed: &Observed) -> String {
    let hns = observed.installation.as_ref().is_some_and(|i| i.windows_hns);
    if hns {
        "tigera/operator runs it: Installation default has spec.calicoNetwork.windowsDataplane HNS"
    } else {
        "tigera/operator is to run it: spec.calico.installation is Enforce"
    }
    .to_owned()
}

/// A DaemonSet for the same purpose that we did not make, even under a name of ours.
fn foreign(observed: &Observed, app: App, our_names: &[&str]) -> Option<String> {
    let daemon_sets = observed.daemon_sets.iter();
    let mut others = daemon_sets.filter(|((namespace, name), facts)| {
        let place = namespace == &observed.namespace && our_names.contains(&name.as_str());
        // A network agent of ours under another name is of another network type, and goes.
        let former = app == App::NetworkAgent && namespace == &observed.namespace;
        facts.app == app && !(facts.ours && (place || former))
    });
    others
        .next()
        .map(|((namespace, name), _)| format!("DaemonSet {namespace}/{name} runs it"))
}

fn platform_runs(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    what: &str,
    runs: impl Fn(Behaviour) -> bool,
) -> Option<String> {
    let found = platform::of(spec, observed)?;
    let name = platform::name(found.platform);
    runs(platform::behaviour(found.platform)).then(|| format!("{name} runs {what} itself ({})", found.source))
}
