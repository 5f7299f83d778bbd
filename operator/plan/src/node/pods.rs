//! The pod of each component: scheduled, pulled, started, ready, and staying so.

use jiff::{SignedDuration, Timestamp};
use wn_api::component::Component;
use wn_api::node_reasons::NodeReason;

use super::check::{Finding, View, find};
use super::cluster_context::Run;
use super::deadlines::{AGENT_READY, CRASH_WINDOW, PLACED, PROXY_READY, SET_UP, STARTED};
use crate::observed::{PodFacts, Trouble};

/// What differs between components.
struct Kind {
    what: &'static str,
    not_scheduled: NodeReason,
    image_pull_failed: NodeReason,
    crash_looping: NodeReason,
    not_ready: NodeReason,
    grace: SignedDuration,
    /// Last words that say more than that it crashed.
    words: &'static [(&'static str, NodeReason)],
}

/// Win32 error 1722 (`RPC_S_SERVER_UNAVAILABLE`) of any call to HNS; its words are localized.
pub const HNS_DOWN: (&str, NodeReason) = ("(0x6ba)", NodeReason::HNSUnavailable);

const AGENT: Kind = Kind {
    what: "Calico's node agent",
    not_scheduled: NodeReason::AgentNotScheduled,
    image_pull_failed: NodeReason::AgentImagePullFailed,
    crash_looping: NodeReason::AgentCrashLooping,
    not_ready: NodeReason::AgentNotReady,
    grace: AGENT_READY,
    words: &[
        HNS_DOWN,
        (
            "global strict affinity should not be false",
            NodeReason::StrictAffinityFalse,
        ),
    ],
};

const NETWORK_AGENT: Kind = Kind {
    what: "the network agent",
    not_scheduled: NodeReason::NetworkAgentNotScheduled,
    image_pull_failed: NodeReason::NetworkAgentImagePullFailed,
    crash_looping: NodeReason::NetworkAgentCrashLooping,
    not_ready: NodeReason::NetworkAgentNotReady,
    grace: SET_UP,
    // flannel `pkg/subnet/kube/kube.go`.
    words: &[HNS_DOWN, ("pod cidr not assigned", NodeReason::PodCIDRMissing)],
};

const PROXY: Kind = Kind {
    what: "kube-proxy",
    not_scheduled: NodeReason::KubeProxyNotScheduled,
    image_pull_failed: NodeReason::KubeProxyImagePullFailed,
    crash_looping: NodeReason::KubeProxyCrashLooping,
    not_ready: NodeReason::KubeProxyNotReady,
    grace: PROXY_READY,
    // `cmd/kube-proxy/app` and `pkg/proxy/winkernel/proxier.go`; the start script says the two with a small n.
    // Each but those two was seen from the Windows binary of every minor that says it: `e2e/windows/seen.tsv`.
    words: &[
        HNS_DOWN,
        ("unrecognized feature gate", NodeReason::KubeProxyFeatureGate),
        ("cannot set feature gate", NodeReason::KubeProxyFeatureGate),
        ("for \"--feature-gates\" flag", NodeReason::KubeProxyFeatureGate),
        ("feature gate not enabled", NodeReason::KubeProxyFeatureGate),
        ("source-vip flag not set", NodeReason::KubeProxyNoSourceVIP),
        ("HNS endpoint", NodeReason::KubeProxyNoSourceVIP),
        ("source VIP", NodeReason::KubeProxyNoSourceVIP),
        ("HNS network", NodeReason::KubeProxyNoHNSNetwork),
        // kube-proxy never ends because the network is missing: it waits until its liveness probe fails.
        ("Unable to find HNS Network", NodeReason::KubeProxyNoHNSNetwork),
        ("could not find host mac address", NodeReason::KubeProxyNoHostMAC),
        (
            "platform does not support feature Direct Server Return",
            NodeReason::OSBuildTooOldForDSR,
        ),
    ],
};

/// Checks the pod of a component.
pub fn check(view: &View, component: Component) -> Vec<Finding> {
    let kind = match component {
        Component::NetworkAgent => &NETWORK_AGENT,
        Component::NodeAgent => &AGENT,
        Component::KubeProxy => &PROXY,
    };
    let run = &view.cluster.components[component];
    find_in(view, view.pods[component], run, kind)
        .into_iter()
        .collect()
}

fn find_in(view: &View, pod: Option<&PodFacts>, run: &Run, kind: &Kind) -> Option<Finding> {
    let Some(pod) = pod else {
        // Someone else's may be a service of the node.
        return run.ours.then(|| missing(view, run, kind));
    };
    if let Some(why) = &pod.unscheduled {
        let cause = format!(
            "the pod of {} is not scheduled on the node: {}",
            kind.what,
            or_unsaid(why)
        );
        return Some(find(kind.not_scheduled, cause).due(since(pod.created) + PLACED, view.now));
    }
    if pod.ready {
        unsteady(view, pod, kind)
    } else {
        Some(unready(view, pod, kind))
    }
}

fn missing(view: &View, run: &Run, kind: &Kind) -> Finding {
    if let Some(reason) = run.blocked {
        let cause = format!(
            "the DaemonSet of {} is not rolled out: {reason}, see the conditions of the WindowsNodeConfig",
            kind.what
        );
        return find(kind.not_scheduled, cause);
    }
    // A pod may be missing for a moment while it is replaced: the time counts from when it was missed.
    let missed = view
        .before
        .filter(|(reason, _)| *reason == kind.not_scheduled)
        .map_or(view.now, |(_, at)| at);
    let from = missed.max(since(view.node.created)).max(since(run.created));
    let cause = format!("no pod of {} runs on the node", kind.what);
    find(kind.not_scheduled, cause).due(from + PLACED, view.now)
}

/// Ready now, and yet in a loop.
fn unsteady(view: &View, pod: &PodFacts, kind: &Kind) -> Option<Finding> {
    let end = pod.crashed? + CRASH_WINDOW;
    let cause = format!("{} crashed again and again, last within ten minutes", kind.what);
    (view.now < end).then(|| find(kind.crash_looping, cause).until(end))
}

fn unready(view: &View, pod: &PodFacts, kind: &Kind) -> Finding {
    match &pod.trouble {
        Some(trouble) => troubled(view, pod, trouble, kind),
        None => starting(view, pod, "it runs but is not ready", kind),
    }
}

fn troubled(view: &View, pod: &PodFacts, trouble: &Trouble, kind: &Kind) -> Finding {
    let words = kind.words.iter().find(|(text, _)| trouble.message.contains(text));
    let cause = |state: &str| format!("{} {state} ({trouble})", kind.what);
    match trouble.reason.as_str() {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "RegistryUnavailable" => {
            // The kubelet alternates between the first two; one name keeps the message still.
            let cause = format!(
                "{}: the image of container {} cannot be pulled (ImagePullBackOff)",
                kind.what, trouble.container
            );
            find(kind.image_pull_failed, cause)
        }
        "CrashLoopBackOff" => find(
            words.map_or(kind.crash_looping, |(_, reason)| *reason),
            crash(trouble, kind),
        ),
        // It runs again after a crash: the same finding as while it waited, so that nothing flaps.
        "Restarted" => match words {
            Some((_, reason)) => find(*reason, crash(trouble, kind)),
            None if pod.crashed.is_some_and(|at| view.now < at + CRASH_WINDOW) => {
                find(kind.crash_looping, crash(trouble, kind))
            }
            None => starting(view, pod, "it was restarted once", kind),
        },
        _ => find(kind.not_ready, cause("cannot start")),
    }
}

fn crash(trouble: &Trouble, kind: &Kind) -> String {
    format!(
        "{} is crash-looping (container {}: {})",
        kind.what,
        trouble.container,
        or_unsaid(&trouble.message)
    )
}

/// Within its time, or over it. A pod that was ready before and is not any more has had its probe's grace.
fn starting(view: &View, pod: &PodFacts, state: &str, kind: &Kind) -> Finding {
    let (deadline, stage) = match pod.started {
        Some(started) => (started + kind.grace, state),
        None => (
            since(pod.created.max(pod.turned)) + STARTED,
            "its containers are not started yet",
        ),
    };
    find(
        kind.not_ready,
        format!("the pod of {} is not ready: {stage}", kind.what),
    )
    .due(deadline, view.now)
}

fn since(at: Option<Timestamp>) -> Timestamp {
    at.unwrap_or(Timestamp::UNIX_EPOCH)
}

fn or_unsaid(why: &str) -> &str {
    if why.is_empty() {
        "it does not say why"
    } else {
        why
    }
}
