//! The checks.

use std::collections::BTreeMap;

use wn_api::reasons::nodes as reasons;

use crate::observed::{App, NodeFacts, Observed, PodFacts};
use crate::standing::Standing;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    Ready,
    NotReady { reason: &'static str, message: String },
}

impl Verdict {
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }
}

/// What one node is judged from.
struct Facts<'a> {
    node: &'a NodeFacts,
    pods: &'a [&'a PodFacts],
    agent_is_ours: bool,
    proxy_is_ours: bool,
}

type Failure = (&'static str, String);
type Check = fn(&Facts) -> Option<Failure>;

/// In order of rank: a cause stands before its consequences.
const CHECKS: &[Check] = &[agent, proxy, network, node_ready];

/// The verdict on every Windows node.
pub fn verdicts<'a>(
    observed: &'a Observed,
    agent: &Standing,
    proxy: &Standing,
) -> Vec<(&'a str, &'a NodeFacts, Verdict)> {
    let mut pods: BTreeMap<&str, Vec<&PodFacts>> = BTreeMap::new();
    for pod in observed.pods.values().filter(|p| !p.deleting) {
        pods.entry(&pod.node).or_default().push(pod);
    }
    let judge = |(name, node): (&'a String, &'a NodeFacts)| {
        let facts = Facts {
            node,
            pods: pods.get(name.as_str()).map_or(&[], Vec::as_slice),
            agent_is_ours: *agent == Standing::Managed,
            proxy_is_ours: *proxy == Standing::Managed,
        };
        (name.as_str(), node, verdict(&facts))
    };
    observed.nodes.iter().map(judge).collect()
}

fn verdict(facts: &Facts) -> Verdict {
    CHECKS
        .iter()
        .find_map(|check| check(facts))
        .map_or(Verdict::Ready, |(reason, message)| Verdict::NotReady {
            reason,
            message,
        })
}

/// Felix is ready: HNS was programmed once. The pod of someone else's agent is judged too if it
/// carries Calico's label, but not missed: theirs may be a service of the node.
fn agent(facts: &Facts) -> Option<Failure> {
    workload(
        facts,
        App::NodeAgent,
        facts.agent_is_ours,
        [reasons::NODE_AGENT_MISSING, reasons::NODE_AGENT_NOT_READY],
        "Calico's node agent",
    )
}

/// kube-proxy answers on its health port: Services work on the node.
fn proxy(facts: &Facts) -> Option<Failure> {
    workload(
        facts,
        App::KubeProxy,
        facts.proxy_is_ours,
        [reasons::KUBE_PROXY_MISSING, reasons::KUBE_PROXY_NOT_READY],
        "kube-proxy",
    )
}

fn workload(
    facts: &Facts,
    app: App,
    ours: bool,
    [missing, not_ready]: [&'static str; 2],
    what: &str,
) -> Option<Failure> {
    let Some(pod) = facts.pods.iter().find(|p| p.app == app) else {
        return ours.then(|| {
            (
                missing,
                format!("no pod of {what} runs on the node: see the DaemonSet's events"),
            )
        });
    };
    (!pod.ready).then(|| {
        let why = if pod.trouble.is_empty() {
            "it runs but is not ready: see its logs"
        } else {
            &pod.trouble
        };
        (not_ready, format!("the pod of {what} is not ready: {why}"))
    })
}

/// Set and cleared by calico-node (`node/pkg/lifecycle/utils`).
fn network(facts: &Facts) -> Option<Failure> {
    facts.node.network_unavailable.then(|| {
        (
            reasons::NETWORK_UNAVAILABLE,
            "the Node's condition NetworkUnavailable is True: Calico has not set up its network".to_owned(),
        )
    })
}

fn node_ready(facts: &Facts) -> Option<Failure> {
    let why = if facts.node.ready_message.is_empty() {
        "the kubelet does not say why"
    } else {
        &facts.node.ready_message
    };
    (!facts.node.ready).then(|| (reasons::NODE_NOT_READY, format!("the Node is not Ready: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn pod(app: App, ready: bool, trouble: &str) -> PodFacts {
        PodFacts {
            app,
            node: "win-0".into(),
            ready,
            deleting: false,
            trouble: trouble.into(),
        }
    }

    fn reason(node: &NodeFacts, pods: &[PodFacts], ours: bool) -> Option<&'static str> {
        let pods: Vec<_> = pods.iter().collect();
        match verdict(&Facts {
            node,
            pods: &pods,
            agent_is_ours: ours,
            proxy_is_ours: ours,
        }) {
            Verdict::Ready => None,
            Verdict::NotReady { reason, .. } => Some(reason),
        }
    }

    #[rstest]
    #[case(true, true, false, true, None)]
    #[case(false, true, false, true, Some(reasons::NODE_AGENT_NOT_READY))]
    #[case(true, false, false, true, Some(reasons::KUBE_PROXY_NOT_READY))]
    #[case(true, true, true, true, Some(reasons::NETWORK_UNAVAILABLE))]
    #[case(true, true, false, false, Some(reasons::NODE_NOT_READY))]
    #[case(false, false, true, false, Some(reasons::NODE_AGENT_NOT_READY))]
    fn first_failure_is_the_reason(
        #[case] agent: bool,
        #[case] proxy: bool,
        #[case] network_unavailable: bool,
        #[case] ready: bool,
        #[case] expected: Option<&str>,
    ) {
        let node = NodeFacts {
            ready,
            network_unavailable,
            ..NodeFacts::default()
        };
        let pods = [pod(App::NodeAgent, agent, ""), pod(App::KubeProxy, proxy, "")];
        assert_eq!(reason(&node, &pods, true), expected);
    }

    #[test]
    fn a_missing_pod_matters_only_when_it_is_ours() {
        let node = NodeFacts {
            ready: true,
            ..NodeFacts::default()
        };
        assert_eq!(reason(&node, &[], true), Some(reasons::NODE_AGENT_MISSING));
        assert_eq!(reason(&node, &[], false), None);
    }
}
