//! Builds of Windows, runtimes, kubelets, known defects.

use super::*;

#[rstest]
#[case("10.0.14393.5000", State::Failing, &[R::OSBuildUnsupported])]
#[case("10.0.17134.1", State::Failing, &[R::OSBuildUnsupported])]
#[case("10.0.17763.378", State::Failing, &[R::OSBuildUnsupported, R::OSBuildOutdated])]
#[case("10.0.17763.379", State::Failing, &[R::OSBuildTooOldForDSR, R::OSBuildOutdated])]
#[case("10.0.17763.1431", State::Failing, &[R::OSBuildTooOldForDSR, R::OSBuildOutdated])]
#[case("10.0.17763.1432", State::Ready, &[R::OSBuildOutdated])]
#[case("10.0.17763.1578", State::Ready, &[R::OSBuildOutdated])]
#[case("10.0.17763.1579", State::Failing, &[R::OSBuildKnownBad, R::OSBuildOutdated])]
#[case("10.0.17763.1580", State::Ready, &[R::OSBuildOutdated])]
#[case("10.0.17763.1637", State::Failing, &[R::OSBuildKnownBad, R::OSBuildOutdated])]
#[case("10.0.17763.3649", State::Ready, &[R::OSBuildOutdated])]
#[case("10.0.17763.3650", State::Ready, &[])]
#[case("10.0.17763", State::Ready, &[])]
#[case("10.0.19042.1", State::Ready, &[R::OSBuildUnsupportedByCalico, R::OSBuildUnsupportedByKubernetes, R::OSBuildOutdated])]
#[case("10.0.20348.168", State::Failing, &[R::OSBuildUnsupported, R::OSBuildOutdated])]
#[case("10.0.20348.169", State::Ready, &[R::OSBuildOutdated])]
#[case("10.0.20348.1249", State::Ready, &[])]
#[case("10.0.20348.2581", State::Ready, &[])]
#[case("10.0.20348.2582", State::Failing, &[R::OSBuildKnownBad])]
#[case("10.0.20348.2761", State::Failing, &[R::OSBuildKnownBad])]
#[case("10.0.20348.2762", State::Ready, &[])]
#[case("10.0.25398.1", State::Ready, &[R::OSBuildUnsupportedByCalico, R::OSBuildUnsupportedByKubernetes])]
#[case("10.0.26100.6898", State::Failing, &[R::OSBuildTooOldForOverlay, R::OSBuildUnsupportedByCalico])]
#[case("10.0.26100.6899", State::Ready, &[R::OSBuildUnsupportedByCalico])]
#[case("10.0.29000.1", State::Unknown, &[R::OSBuildUnknown])]
#[case("", State::Unknown, &[R::OSBuildUnknown])]
fn windows_builds(#[case] kernel: &str, #[case] state: State, #[case] reasons: &[R]) {
    let kubelet = if kernel.starts_with("10.0.17763") {
        "v1.34.9"
    } else {
        "v1.36.3"
    };
    let found = works()
        .node(|n| (n.kernel_version, n.kubelet_version) = (kernel.into(), kubelet.into()))
        .found();
    assert_eq!(found, (state, reasons.to_vec()));
}

/// Kubernetes' own table: kubernetes.io, Windows OS version support.
#[rstest]
#[case("10.0.17763.9999", "v1.34.9", true)]
#[case("10.0.17763.9999", "v1.35.0", false)]
#[case("10.0.20348.9999", "v1.33.0", true)]
#[case("10.0.20348.9999", "v1.37.0", true)]
#[case("10.0.26100.9999", "v1.34.9", false)]
#[case("10.0.26100.9999", "v1.35.0", true)]
#[case("10.0.25398.9999", "v1.36.3", false)]
#[case("10.0.20348.9999", "unknown", true)]
fn pairs_of_windows_and_kubernetes(#[case] kernel: &str, #[case] kubelet: &str, #[case] listed: bool) {
    let node = works().node(|n| (n.kernel_version, n.kubelet_version) = (kernel.into(), kubelet.into()));
    let (state, reasons) = node.found();
    assert_eq!(state, State::Ready);
    assert_eq!(
        !reasons.contains(&R::OSBuildUnsupportedByKubernetes),
        listed,
        "{reasons:?}"
    );
    // Without Calico on the node its list is none of the node's concern.
    let mut without = node.cluster(|s| {
        s.network = NetworkType::CloudProvider;
        s.components[Component::NodeAgent] = Run::default();
    });
    without.observed.pods.remove(&key("NodeAgent"));
    assert!(!without.found().1.contains(&R::OSBuildUnsupportedByCalico));
}

#[test]
fn without_an_overlay_or_dsr_less_is_needed() {
    let bgp = works().cluster(|s| s.network = NetworkType::CalicoBgp);
    assert_eq!(
        bgp.node(|n| n.kernel_version = "10.0.26100.1".into()).found().0,
        State::Ready
    );
    let no_dsr = works()
        .cluster(|s| s.groups[0].dsr = false)
        .node(|n| (n.kernel_version, n.kubelet_version) = ("10.0.17763.1431".into(), "v1.34.0".into()));
    assert_eq!(
        no_dsr.found(),
        (
            State::Ready,
            vec![
                R::OSBuildTooOldForDSR,
                R::OSBuildOutdated,
                R::ClusterIPPolicyNotEnforced
            ]
        )
    );
}

#[rstest]
#[case("containerd://1.6.17", false)]
#[case("containerd://1.6.18", true)]
#[case("containerd://1.6.18-rc.1", true)]
#[case("containerd://2.1.4", true)]
#[case("docker://20.10.9", false)]
#[case("cri-o://1.30.0", true)]
#[case("", true)]
fn runtimes(#[case] runtime: &str, #[case] able: bool) {
    let found = works().node(|n| n.container_runtime = runtime.into()).found();
    let expected = if able {
        (State::Ready, vec![])
    } else {
        (State::Failing, vec![R::HostProcessUnsupported])
    };
    assert_eq!(found, expected);
}

#[rstest]
#[case("v1.37.0", &[R::VersionSkew])]
#[case("v1.36.9", &[])]
#[case("v1.33.0", &[])]
#[case("v1.32.13", &[R::VersionSkew])]
#[case("unknown", &[])]
fn kubelets(#[case] version: &str, #[case] advice: &[R]) {
    let found = works().node(|n| n.kubelet_version = version.into()).found();
    assert_eq!(found, (State::Ready, advice.to_vec()));
}

#[test]
fn a_silent_kubelet_stands_first() {
    let node = works()
        .node(|n| (n.ready, n.silent) = (false, true))
        .pod(Component::NodeAgent, |p| p.ready = false);
    assert_eq!(
        node.found(),
        (State::Failing, vec![R::KubeletNotReporting, R::AgentNotReady])
    );
}

#[rstest]
#[case(-881, State::Progressing)]
#[case(-880, State::Failing)]
fn a_node_not_ready(#[case] now: i64, #[case] expected: State) {
    let node = works()
        .node(|n| (n.ready, n.ready_message) = (false, "disk pressure".into()))
        .at(now);
    assert_eq!(node.found(), (expected, vec![R::NodeNotReady]));
}

#[rstest]
#[case(3000, 3599, State::Progressing, R::RecoveringAfterReboot)]
#[case(3000, 3600, State::Failing, R::NotRecovered)]
fn a_reboot(#[case] rebooted: i64, #[case] now: i64, #[case] state: State, #[case] reason: R) {
    let node = works().node(|n| n.rebooted = Some(at(rebooted))).at(now);
    assert_eq!(node.found(), (state, vec![reason]));
    let restart = |p: &mut PodFacts| p.started = Some(at(rebooted + 20));
    let one = node.pod(Component::NodeAgent, restart);
    assert_eq!(one.found().0, state, "kube-proxy is still of the time before");
    assert_eq!(
        one.pod(Component::KubeProxy, restart).found(),
        (State::Ready, vec![])
    );
}

#[rstest]
#[case((1, 34, 3), &[R::KubeProxyKnownIssue])]
#[case((1, 34, 4), &[])]
#[case((1, 33, 0), &[R::KubeProxyKnownIssue])]
#[case((1, 33, 6), &[])]
#[case((1, 35, 0), &[R::KubeProxyKnownIssue])]
#[case((1, 35, 1), &[])]
#[case((1, 36, 0), &[])]
#[case::newer_than_the_api_server((1, 37, 0), &[R::KubeProxyVersionSkew])]
fn known_defects_of_kube_proxy(#[case] (major, minor, patch): (u32, u32, u32), #[case] expected: &[R]) {
    let node = works().pod(Component::KubeProxy, |p| {
        p.version = Some(Version::new(major, minor, patch))
    });
    assert_eq!(node.found(), (State::Ready, expected.to_vec()));
}

#[test]
fn a_stale_endpoint_is_a_defect_of_bridges_only() {
    let version = |p: &mut PodFacts| p.version = Some(Version::new(1, 34, 7));
    let bridge = works().cluster(|s| s.network = NetworkType::CalicoBgp);
    assert_eq!(
        bridge.pod(Component::KubeProxy, version).found().1,
        [R::KubeProxyKnownIssue]
    );
    assert_eq!(works().pod(Component::KubeProxy, version).found().1, []);
}
