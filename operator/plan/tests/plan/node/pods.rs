//! Pods of the components, and sandboxes that fail.

use super::*;

#[rstest]
#[case("ErrImagePull", "", R::AgentImagePullFailed, R::KubeProxyImagePullFailed)]
#[case("ImagePullBackOff", "", R::AgentImagePullFailed, R::KubeProxyImagePullFailed)]
#[case("InvalidImageName", "", R::AgentImagePullFailed, R::KubeProxyImagePullFailed)]
#[case("CrashLoopBackOff", "bang", R::AgentCrashLooping, R::KubeProxyCrashLooping)]
#[case("CreateContainerError", "", R::AgentNotReady, R::KubeProxyNotReady)]
#[case(
    "CrashLoopBackOff",
    "unrecognized feature gate: IPv6DualStack",
    R::AgentCrashLooping,
    R::KubeProxyFeatureGate
)]
#[case(
    "CrashLoopBackOff",
    "failed complete: cannot set feature gate WinDSR to false, feature is locked to true",
    R::AgentCrashLooping,
    R::KubeProxyFeatureGate
)]
#[case(
    "CrashLoopBackOff",
    "WinDSR feature gate not enabled",
    R::AgentCrashLooping,
    R::KubeProxyFeatureGate
)]
#[case(
    "CrashLoopBackOff",
    "source-vip flag not set",
    R::AgentCrashLooping,
    R::KubeProxyNoSourceVIP
)]
#[case(
    "CrashLoopBackOff",
    "HNS endpoint Calico_ep did not appear within 300 s: see",
    R::AgentCrashLooping,
    R::KubeProxyNoSourceVIP
)]
#[case(
    "CrashLoopBackOff",
    "could not find HNS network Calico",
    R::AgentCrashLooping,
    R::KubeProxyNoHNSNetwork
)]
#[case(
    "Restarted",
    "HNS network Calico did not appear within 300 s: see",
    R::AgentNotReady,
    R::KubeProxyNoHNSNetwork
)]
#[case(
    "CrashLoopBackOff",
    "\"Unable to find HNS Network specified, please check network name and CNI deployment\"",
    R::AgentCrashLooping,
    R::KubeProxyNoHNSNetwork
)]
#[case(
    "CrashLoopBackOff",
    "unable to create proxier: platform does not support feature Direct Server Return (DSR)",
    R::AgentCrashLooping,
    R::OSBuildTooOldForDSR
)]
#[case(
    "CrashLoopBackOff",
    "Error: invalid argument \"WinDSR\" for \"--feature-gates\" flag: malformed pair, expect string=bool",
    R::AgentCrashLooping,
    R::KubeProxyFeatureGate
)]
#[case(
    "CrashLoopBackOff",
    "could not find host mac address for 0.0.0.0",
    R::AgentCrashLooping,
    R::KubeProxyNoHostMAC
)]
#[case(
    "CrashLoopBackOff",
    "global strict affinity should not be false for Windows node",
    R::StrictAffinityFalse,
    R::KubeProxyCrashLooping
)]
fn pods_in_trouble(#[case] reason: &str, #[case] message: &str, #[case] agent: R, #[case] proxy: R) {
    for (component, expected) in [(Component::NodeAgent, agent), (Component::KubeProxy, proxy)] {
        let node = works().pod(component, |p| {
            (p.ready, p.trouble) = (false, trouble(reason, message))
        });
        assert_eq!(node.found(), (State::Failing, vec![expected]), "{component:?}");
    }
}

#[rstest]
#[case(Component::NodeAgent, 69, State::Progressing)]
#[case(Component::NodeAgent, 70, State::Failing)]
#[case(Component::KubeProxy, 419, State::Progressing)]
#[case(Component::KubeProxy, 420, State::Failing)]
fn a_pod_has_its_probes_grace(#[case] component: Component, #[case] now: i64, #[case] expected: State) {
    let node = works().pod(component, |p| p.ready = false).at(now);
    assert_eq!(node.found().0, expected);
    let recheck = node.verdict().recheck;
    assert_eq!(recheck.is_some(), expected == State::Progressing, "{recheck:?}");
}

#[rstest]
#[case(15 * 60 - 11, State::Progressing)]
#[case(15 * 60 - 10, State::Failing)]
fn images_take_their_time(#[case] now: i64, #[case] expected: State) {
    let node = works()
        .pod(Component::NodeAgent, |p| {
            (p.ready, p.started, p.turned) = (false, None, None)
        })
        .at(now);
    assert_eq!(node.found().0, expected);
}

#[rstest]
#[case(599, &[R::AgentCrashLooping])]
#[case(600, &[])]
fn a_pod_that_crashes_often_and_is_ready_in_between(#[case] now: i64, #[case] expected: &[R]) {
    let node = works()
        .pod(Component::NodeAgent, |p| p.crashed = Some(at(0)))
        .at(now);
    assert_eq!(node.found().1, expected);
}

#[rstest]
#[case(109, State::Progressing)]
#[case(110, State::Failing)]
fn a_pod_that_is_not_placed(#[case] now: i64, #[case] expected: State) {
    let why = "0/21 nodes are available: 1 Insufficient memory.";
    let node = works()
        .pod(Component::NodeAgent, |p| {
            (p.ready, p.unscheduled) = (false, Some(why.into()))
        })
        .at(now);
    assert_eq!(
        (node.found().0, node.found().1[0]),
        (expected, R::AgentNotScheduled)
    );
    assert!(node.verdict().findings[0].message.contains(why));
}

/// The time counts from when it was missed, so that a replaced pod is no failure.
#[rstest]
#[case(None, State::Progressing)]
#[case(Some((R::AgentNotScheduled, 3600 - 119)), State::Progressing)]
#[case(Some((R::AgentNotScheduled, 3600 - 120)), State::Failing)]
#[case(Some((R::AgentNotReady, 0)), State::Progressing)]
fn a_pod_that_is_missing(#[case] before: Option<(R, i64)>, #[case] expected: State) {
    let mut node = works();
    node.observed.pods.remove(&key("NodeAgent"));
    node.before = before.map(|(reason, since)| (reason, at(since)));
    assert_eq!(node.found(), (expected, vec![R::AgentNotScheduled]));
    node.cluster.components[Component::NodeAgent].ours = false;
    assert_eq!(
        node.found(),
        (State::Ready, vec![]),
        "someone else's may be a service"
    );
}

#[test]
fn a_daemon_set_that_waits_is_the_cause() {
    let mut node = works();
    node.observed.pods.remove(&key("KubeProxy"));
    node.cluster.components[Component::KubeProxy].blocked = Some("DSRUnsupported");
    let message = node.verdict().findings[0].message.clone();
    assert!(message.contains("DSRUnsupported"), "{message}");
}

/// A stopped HNS service has its own reason, whatever error text it causes.
#[rstest]
#[case("failed to create HNSNetwork Calico: hnsCall failed in Win32: The RPC server is unavailable. (0x6ba)")]
#[case(
    "failed to delete existing remote HNSEndpoint Calico_ep: hnsCall failed in Win32: Der RPC-Server ist nicht verfügbar. (0x6ba)"
)]
fn hns_that_is_down(#[case] message: &str) {
    assert_eq!(
        works().fails(message, 3599).found(),
        (State::Failing, vec![R::HNSUnavailable])
    );
    for component in [Component::NodeAgent, Component::KubeProxy] {
        let node = works().pod(component, |p| crash(p, message));
        assert_eq!(
            node.found(),
            (State::Failing, vec![R::HNSUnavailable]),
            "{component:?}"
        );
    }
}

#[test]
fn a_claim_must_be_confirmed() {
    let mut node = works();
    let mut affinity = node.observed.calico.affinities.remove(&key(NODE)).unwrap();
    affinity.confirmed = false;
    node.observed.calico.affinities.insert(key(NODE), affinity);
    assert_eq!(node.found().1, [R::NoIPAMBlock]);
}

#[rstest]
#[case(239, State::Progressing)]
#[case(240, State::Failing)]
fn calico_and_containerd_have_their_time(#[case] now: i64, #[case] expected: State) {
    let network = works().node(|n| n.network_unavailable = true).at(now);
    assert_eq!(network.found(), (expected, vec![R::NetworkUnavailable]));
    let message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    let cni = works()
        .node(|n| (n.ready, n.ready_message) = (false, message.into()))
        .at(now);
    assert_eq!(cni.found(), (expected, vec![R::CNINotInitialized]));
    assert!(cni.verdict().findings[0].message.contains("/etc/cni/net.d"));
}

/// Felix is ready without a network, and what an earlier boot left is there: only what startup writes again counts.
#[rstest]
#[case(0, 239, State::Progressing)]
#[case(0, 240, State::Failing)]
#[case(-1, 240, State::Failing)]
fn startup_that_does_not_succeed(#[case] began: i64, #[case] now: i64, #[case] expected: State) {
    let node = works()
        .node(|n| n.network_up = Some(at(began - 1)))
        .pod(Component::NodeAgent, |p| p.startup = Some(at(began)))
        .at(now);
    assert_eq!(node.found(), (expected, vec![R::StartupNotFinished]));
    // Who does not write the condition (policy only), or runs no pod, cannot be judged by it.
    for spoil in [
        |w: World| w.node(|n| n.network_up = None),
        |w: World| w.pod(Component::NodeAgent, |p| p.startup = None),
        |w: World| w.node(|n| n.network_up = Some(at(3600))),
    ] {
        assert_eq!(
            spoil(works().pod(Component::NodeAgent, |p| p.startup = Some(at(10))))
                .found()
                .1,
            []
        );
    }
}

#[rstest]
#[case(
    "… global strict affinity should not be false for Windows node",
    R::StrictAffinityFalse
)]
#[case("… cannot allocate new block due to per host block limit", R::BlockExhausted)]
#[case("… cannot find a qualified ippool", R::NoQualifiedPool)]
#[case("… no configured Calico pools for node win-0", R::NoPoolForNode)]
#[case(
    "… error getting ClusterInformation: connection is unauthorized: Unauthorized",
    R::CNITokenInvalid
)]
#[case("… timeout acquiring mutex", R::CNIStalled)]
#[case("… Could not find vxlan0 in V2", R::HNSNetworkInconsistent)]
#[case("… Windows does not support VXLANVNI < 4096", R::VNITooLow)]
#[case(
    "… Calico CNI panicked during ADD: runtime error: invalid memory address or nil pointer dereference",
    R::HNSManagementIPMissing
)]
#[case(
    "… timeout, failed to get net interface for HNSNetwork Calico (172.20.0.5): couldn't find an interface matching management IP 172.20.0.5",
    R::HNSManagementIPMissing
)]
#[case(
    "… error creating calico client: error loading config file \"c:/etc/cni/net.d/calico-kubeconfig\": yaml: line 7: mapping values are not allowed in this context",
    R::APIServerEndpointMissing
)]
#[case(
    "… timed out waiting for interface matching the management IP",
    R::HNSManagementIPMissing
)]
#[case("… failed to delete existing remote HNSEndpoint", R::HNSEndpointStale)]
#[case("… failed to create HNSNetwork", R::HNSNetworkCreateFailed)]
#[case("… Calico is currently not ready to process requests", R::DatastoreNotReady)]
#[case("… host must be a URL or a host:port pair: \"\"", R::APIServerEndpointMissing)]
#[case("… something new", R::SandboxCreationFailed)]
fn sandboxes(#[case] message: &str, #[case] reason: R) {
    let at_end = works().fails(message, 3600 - 599);
    assert_eq!(at_end.found(), (State::Failing, vec![reason]));
    assert_eq!(
        at_end.verdict().recheck,
        Some(at(3601)),
        "and then it is looked at again"
    );
    assert_eq!(works().fails(message, 3600 - 600).found().0, State::Ready);
}

/// What differs from try to try must not reach a condition.
#[test]
fn ids_do_not_make_news() {
    let message = |id: &str| {
        let text = format!("failed to setup network for sandbox \"{id}\": plugin type=\"x\" failed");
        works().fails(&text, 3590).verdict().findings[0].message.clone()
    };
    assert_eq!(message("4af3c07be1d0"), message("0123456789abcdef"));
    assert!(message("4af3c07be1d0").contains("plugin type"));
}
