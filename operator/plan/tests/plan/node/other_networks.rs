//! Networks other than Calico's.

use super::*;

#[test]
fn nothing_of_calico_is_asked_of_another_network() {
    assert_eq!(on_flannel().found(), (State::Ready, vec![]));
    for network in [
        NetworkType::StaticRoutes,
        NetworkType::FlannelHostGateway,
        NetworkType::CloudProvider,
    ] {
        assert_eq!(
            on_flannel().cluster(|s| s.network = network).found(),
            (State::Ready, vec![])
        );
    }
    // An overlay needs what an overlay needs, whoever makes it.
    let old = on_flannel()
        .node(|n| (n.kernel_version, n.kubelet_version) = ("10.0.26100.1".into(), "v1.36.3".into()));
    assert_eq!(old.found(), (State::Failing, vec![R::OSBuildTooOldForOverlay]));
    let cloud = on_flannel()
        .cluster(|s| s.network = NetworkType::CloudProvider)
        .node(|n| n.pod_cidr = None);
    assert_eq!(cloud.found(), (State::Ready, vec![]));
}

#[rstest]
#[case::crash(|w: World| w.pod(Component::NetworkAgent, |p| crash(p, "panic")), State::Failing, R::NetworkAgentCrashLooping)]
#[case::pod_cidr(|w: World| w.pod(Component::NetworkAgent, |p| crash(p, "node \"win-0\" pod cidr not assigned")), State::Failing, R::PodCIDRMissing)]
#[case::no_cidr(|w: World| w.node(|n| n.pod_cidr = None), State::Failing, R::PodCIDRMissing)]
#[case::no_cidr_yet(|w: World| w.node(|n| n.pod_cidr = None).at(239), State::Progressing, R::PodCIDRMissing)]
#[case::not_ready_yet(|w: World| w.pod(Component::NetworkAgent, |p| p.ready = false).at(239), State::Progressing, R::NetworkAgentNotReady)]
#[case::not_ready(|w: World| w.pod(Component::NetworkAgent, |p| p.ready = false).at(240), State::Failing, R::NetworkAgentNotReady)]
#[case::missing(|mut w: World| { w.observed.pods.remove(&key("NetworkAgent")); w.before = Some((R::NetworkAgentNotScheduled, at(0))); w }, State::Failing, R::NetworkAgentNotScheduled)]
#[case::source_vip(|w: World| w.pod(Component::KubeProxy, |p| crash(p, "host-local ADD of kube-proxy's source VIP failed")), State::Failing, R::KubeProxyNoSourceVIP)]
fn network_agent(#[case] spoil: fn(World) -> World, #[case] state: State, #[case] reason: R) {
    let (found, reasons) = spoil(on_flannel()).found();
    assert_eq!((found, reasons.first()), (state, Some(&reason)), "{reasons:?}");
}
