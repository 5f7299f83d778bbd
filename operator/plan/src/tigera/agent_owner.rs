//! Who runs Calico's agent on Windows nodes, we or tigera/operator.

use serde_json::json;
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::component::Component;
use wn_api::names::{node_agent, tigera};
use wn_api::reasons::Reason;
use wn_api::spec::{Management, Policy, WindowsNodeConfigSpec};
use wn_api::status::Original;

use super::fields;
use crate::calico::held::held;
use crate::field::{FieldId, is_met};
use crate::finding::Finding;
use crate::network;
use crate::observed::tigera::WINDOWS_DATAPLANE;
use crate::observed::{ConfigObject, DaemonSetFacts, Key, Observed};
use crate::platform;

/// Who runs Calico's agent on Windows nodes beside tigera/operator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentOwner {
    /// tigera/operator has no part in it: there is no Installation, or a third one runs the agent.
    NoOperator,
    /// This operator.
    Ours,
    /// tigera/operator's, as soon as its Installation is prepared; ours runs until then.
    OursForNow,
    /// tigera/operator's, whether it runs it already or not.
    Theirs,
}

/// `Installation` `default`, as an object whose fields are set.
pub fn installation_object(observed: &Observed) -> Option<&ConfigObject> {
    observed.object(ConfigKind::Installation, DEFAULT)
}

/// Decides who runs the agent.
pub fn agent_owner(spec: &WindowsNodeConfigSpec, observed: &Observed) -> AgentOwner {
    let Some(installation) = installation_object(observed).filter(|_| applies(spec)) else {
        return AgentOwner::NoOperator;
    };
    let hns = hns(observed);
    match (spec.node_agent.management, spec.calico.installation) {
        (Management::Managed, _) => AgentOwner::Ours,
        // A third one's agent, or a platform's, has the right of way.
        (Management::Auto | Management::External, _) if !hns && third_party(spec, observed) => {
            AgentOwner::NoOperator
        }
        (Management::External, _) => AgentOwner::Theirs,
        (Management::Auto, Policy::Enforce) => {
            let prepared = || {
                let fields = fields::prepared(spec, observed, installation);
                fields
                    .iter()
                    .all(|d| is_met(d, installation.spec.get(&d.id.field)))
            };
            if hns || !ours_present(observed) || prepared() {
                AgentOwner::Theirs
            } else {
                AgentOwner::OursForNow
            }
        }
        (Management::Auto, Policy::Report) if hns && !set_by_us(observed, installation) => AgentOwner::Theirs,
        (Management::Auto, Policy::Report) => AgentOwner::Ours,
    }
}

/// With the other types tigera/operator does not install Calico on Windows nodes.
fn applies(spec: &WindowsNodeConfigSpec) -> bool {
    network::of(spec.network.type_).tigera_operator
}

pub(super) fn hns(observed: &Observed) -> bool {
    observed.installation.as_ref().is_some_and(|i| i.windows_hns)
}

/// Did we switch theirs on, so that switching it off again is ours?
pub(super) fn set_by_us(observed: &Observed, installation: &ConfigObject) -> bool {
    let Some(original) = original(observed) else {
        return false;
    };
    original.applied == json!("HNS")
        && !original.unknown
        && original.previous.as_ref() != Some(&original.applied)
        && installation.is_ours(&original)
}

fn original(observed: &Observed) -> Option<Original> {
    let id = windows_dataplane();
    held(observed).into_iter().find(|o| id.is_of(o))
}

fn windows_dataplane() -> FieldId {
    FieldId {
        kind: ConfigKind::Installation,
        name: DEFAULT.to_owned(),
        field: WINDOWS_DATAPLANE.to_owned(),
    }
}

/// The field that is to be restored because we run the agent again.
pub fn being_restored(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<FieldId> {
    let installation = installation_object(observed)?;
    let ours = agent_owner(spec, observed) == AgentOwner::Ours;
    (ours && hns(observed) && set_by_us(observed, installation)).then(windows_dataplane)
}

/// Is the DaemonSet the one tigera/operator renders? With Windows switched off it leaves it behind
/// (`windows_controller.go:215-218`).
pub fn is_theirs((namespace, name): &Key, facts: &DaemonSetFacts, hns: bool) -> bool {
    namespace == tigera::CALICO_NAMESPACE
        && name == node_agent::DAEMON_SET
        && facts.component == Component::NodeAgent
        && !facts.ours
        && (hns || facts.of_installation)
}

fn third_party(spec: &WindowsNodeConfigSpec, observed: &Observed) -> bool {
    let of_platform =
        platform::of(spec, observed).is_some_and(|found| platform::behaviour(found.platform).node_agent);
    let mut agents = observed
        .daemon_sets
        .iter()
        .filter(|(_, f)| f.component == Component::NodeAgent);
    of_platform
        || agents.any(|(key, facts)| {
            let here = key.0 == observed.namespace && key.1 == node_agent::DAEMON_SET;
            let ours = facts.ours && here;
            !ours && !is_theirs(key, facts, false)
        })
}

/// Is anything left of our agent?
pub fn ours_present(observed: &Observed) -> bool {
    let key = (observed.namespace.clone(), node_agent::DAEMON_SET.to_owned());
    observed.daemon_sets.get(&key).is_some_and(|d| d.ours) || observed.agent_pods_in(&observed.namespace)
}

/// Why ours must not run now: theirs does, or may at any moment.
pub fn overlap(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<Finding> {
    if !matches!(
        agent_owner(spec, observed),
        AgentOwner::Ours | AgentOwner::OursForNow
    ) {
        return None;
    }
    let key = (
        tigera::CALICO_NAMESPACE.to_owned(),
        node_agent::DAEMON_SET.to_owned(),
    );
    let daemon_set = observed.daemon_sets.get(&key);
    let theirs = daemon_set.is_some_and(|facts| is_theirs(&key, facts, hns(observed)));
    let (reason, message) = if being_restored(spec, observed).is_some() {
        (
            Reason::WaitingForPrecondition,
            "waits until spec.calicoNetwork.windowsDataplane of Installation default is restored".to_owned(),
        )
    } else if hns(observed) {
        (Reason::AgentsOverlap, MANAGED_BESIDE_HNS.to_owned())
    } else if theirs {
        (Reason::AgentsOverlap, LEFT_BEHIND.to_owned())
    } else if daemon_set.is_none() && observed.agent_pods_in(tigera::CALICO_NAMESPACE) {
        (
            Reason::WaitingForPrecondition,
            "waits until the last pod of DaemonSet calico-system/calico-node-windows is gone".to_owned(),
        )
    } else {
        return None;
    };
    Some(Finding { reason, message })
}

const MANAGED_BESIDE_HNS: &str = "Installation default has spec.calicoNetwork.windowsDataplane HNS, so tigera/operator runs the agent \
     on Windows nodes, and spec.nodeAgent.management is Managed: two agents on one node delete each other's HNS networks, so ours does \
     not run; set windowsDataplane to Disabled, remove spec.windowsNodes and delete DaemonSet calico-system/calico-node-windows, or set \
     management to Auto";
const LEFT_BEHIND: &str = "tigera/operator does not remove its DaemonSet calico-system/calico-node-windows when windowsDataplane is \
     switched off, and two agents on one node delete each other's HNS networks: `kubectl delete daemonset -n calico-system \
     calico-node-windows`; this operator creates its own when the last pod is gone";

/// What a user who has tigera/operator should know while we run the agent.
pub fn note(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<&'static str> {
    match agent_owner(spec, observed) {
        AgentOwner::Ours if spec.node_agent.management == Management::Auto => Some(
            "tigera/operator runs no agent on Windows nodes; to have it run the agent, set spec.calico.installation to Enforce, or \
             windowsDataplane of Installation default to HNS",
        ),
        AgentOwner::OursForNow => Some(
            "tigera/operator takes over as soon as Installation default is prepared for it: see CalicoConfigured",
        ),
        AgentOwner::Ours | AgentOwner::Theirs | AgentOwner::NoOperator => None,
    }
}
