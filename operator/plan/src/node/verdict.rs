//! From findings to one verdict.

use jiff::Timestamp;
use wn_api::component::Component;
use wn_api::node_reasons::{NodeReason, Weight};

use super::check::{Finding, View};
use super::{conditions, dsr, ipam, known_issues, network_made, os, pods, reboot, runtime, sandbox, tunnel};
use crate::observed::NetworkMade;
use crate::selection;

/// How a node is, best first of those that are judged.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum State {
    /// Not judged: `spec.nodeSelector` does not select it.
    NotSelected,
    /// Its pods have a network, as far as the API shows.
    Ready,
    /// Nothing is known to be wrong, but its health is only partly known.
    Unknown,
    /// Not yet, within the time it usually takes.
    Progressing,
    /// It does not work.
    Failing,
}

impl State {
    /// Every state, best first of those that are judged.
    pub const ALL: [Self; 5] = [
        Self::NotSelected,
        Self::Ready,
        Self::Unknown,
        Self::Progressing,
        Self::Failing,
    ];

    /// The state as the status and metrics have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotSelected => "NotSelected",
            Self::Ready => "Ready",
            Self::Unknown => "Unknown",
            Self::Progressing => "Progressing",
            Self::Failing => "Failing",
        }
    }

    /// Do its pods have a network, as far as the API shows?
    pub const fn works(self) -> bool {
        matches!(self, Self::Ready | Self::Unknown)
    }
}

/// The result of all checks of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// State of the node.
    pub state: State,
    /// By rank. The first one is the reason, unless the node is Ready and all are advice.
    pub findings: Vec<Finding>,
    /// When time alone may change the verdict.
    pub recheck: Option<Timestamp>,
    /// What is to be remembered of the node's HNS network.
    pub network_made: Option<NetworkMade>,
}

type Check = fn(&View) -> Vec<Finding>;

/// The chain, in the order of `NodeReason`, which is the rank: each check beside the first reason that it is for. A check may also
/// find reasons of other ranks; of two findings of one reason the first is kept.
const CHECKS: &[(NodeReason, Check)] = &[
    (NodeReason::KubeletNotReporting, runtime::silent),
    (NodeReason::OSBuildUnsupported, os::check),
    (NodeReason::HostProcessUnsupported, runtime::containers),
    (NodeReason::RecoveringAfterReboot, reboot::check),
    (NodeReason::StrictAffinityFalse, ipam::configuration),
    (NodeReason::AgentNotScheduled, |view| {
        pods::check(view, Component::NodeAgent)
    }),
    (NodeReason::PodCIDRMissing, ipam::pod_cidr),
    (NodeReason::NetworkAgentNotScheduled, |view| {
        pods::check(view, Component::NetworkAgent)
    }),
    (NodeReason::KubeProxyNotScheduled, |view| {
        pods::check(view, Component::KubeProxy)
    }),
    (NodeReason::NoIPAMBlock, ipam::check),
    (NodeReason::TunnelAddressMissing, tunnel::check),
    (NodeReason::NodeRebuildRequired, network_made::check),
    (NodeReason::NetworkUnavailable, conditions::network),
    (NodeReason::StartupNotFinished, conditions::startup),
    (NodeReason::CNINotInitialized, conditions::ready),
    (NodeReason::CNITokenInvalid, sandbox::check),
    (NodeReason::VersionSkew, runtime::skew),
    (NodeReason::KubeProxyVersionSkew, runtime::proxy_skew),
    (NodeReason::ClusterIPPolicyNotEnforced, dsr::check),
    (NodeReason::KubeProxyKnownIssue, known_issues::check),
];

/// Each check, by the first reason that it is for, with what it finds.
pub fn chain(view: &View) -> impl Iterator<Item = (NodeReason, Vec<Finding>)> {
    CHECKS.iter().map(|(reason, check)| (*reason, check(view)))
}

/// Runs every check on a node.
pub fn verdict(view: &View) -> Verdict {
    if !selection::selects(&view.cluster.node_selector, view.node) {
        return Verdict {
            state: State::NotSelected,
            findings: Vec::new(),
            recheck: None,
            network_made: None,
        };
    }
    let mut findings: Vec<_> = chain(view).flat_map(|(_, findings)| findings).collect();
    let recheck = findings
        .iter()
        .filter_map(|f| f.until)
        .filter(|at| *at > view.now)
        .min();
    // Failures before unknowns before advice; within each, by rank.
    findings.sort_by_key(|f| {
        let weight = match f.weight {
            Weight::Failing | Weight::Progressing => 0,
            Weight::Unknown => 1,
            Weight::Advice => 2,
        };
        (weight, f.reason)
    });
    findings.dedup_by_key(|f| f.reason);
    // The cause decides: what fails because of something that is still under way is under way, too.
    let state = match findings.first().map(|f| f.weight) {
        Some(Weight::Failing) => State::Failing,
        Some(Weight::Progressing) => State::Progressing,
        Some(Weight::Unknown) => State::Unknown,
        Some(Weight::Advice) | None => State::Ready,
    };
    Verdict {
        state,
        findings,
        recheck,
        network_made: network_made::record(view),
    }
}

impl Verdict {
    /// Do its pods still have to start after a boot?
    pub fn is_of_a_boot(&self) -> bool {
        let of_a_boot = [NodeReason::RecoveringAfterReboot, NodeReason::NotRecovered];
        self.findings.iter().any(|f| of_a_boot.contains(&f.reason))
    }

    /// What the verdict rests on; `None` for Ready.
    pub fn cause(&self) -> Option<&Finding> {
        self.findings.first().filter(|f| f.weight != Weight::Advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation lists reasons by rank: a check that runs before one of a higher rank would contradict it.
    #[test]
    fn the_chain_is_in_the_order_of_rank() {
        let reasons: Vec<_> = CHECKS.iter().map(|(reason, _)| reason).collect();
        assert!(reasons.is_sorted_by(|a, b| a < b), "{reasons:?}");
    }
}
