//! Every check with its boundary on both sides, and the verdict made of them.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use wn_api::component::{Component, PerComponent};
use wn_api::node_reasons::{NodeReason as R, Weight};
use wn_api::spec::{NetworkType, TaintMode};
use wn_plan::calico::pools::Offer;
use wn_plan::node::{
    CalicoIpam, ClusterContext, NodeUpdate, Run, State, Table, Verdict, View, node_update, verdict,
};
use wn_plan::observed::{BlockFacts, NodeFacts, Observed, PodFacts, SandboxFailure, Trouble};
use wn_plan::version::Version;
use wn_plan::workload::kube_proxy::{Group, Members};

use crate::common::*;

const NODE: &str = "win-0";

struct World {
    observed: Observed,
    cluster: ClusterContext,
    before: Option<(R, Timestamp)>,
    now: Timestamp,
}

fn key(name: &str) -> (String, String) {
    (String::new(), name.to_owned())
}

/// A node that works; its pods started at 0, and it is an hour later.
fn works() -> World {
    let mut observed = Observed::default();
    let node = NodeFacts {
        created: Some(at(-1000)),
        boot_id: "1".into(),
        network_up: Some(at(1)),
        max_pods: Some(60),
        ..windows_node()
    };
    observed.nodes.insert(NODE.into(), node);
    set_up(&mut observed, NODE, 0);
    for component in [Component::NodeAgent, Component::KubeProxy] {
        let pod = PodFacts {
            ready: true,
            created: Some(at(-10)),
            turned: Some(at(0)),
            started: Some(at(0)),
            ..pod(component, NODE)
        };
        let pod = match component {
            Component::NodeAgent => PodFacts {
                startup: Some(at(0)),
                vni: Some(4096),
                ..pod
            },
            _ => pod,
        };
        observed.pods.insert(key(&format!("{component:?}")), pod);
    }
    let run = Run {
        ours: true,
        blocked: None,
        created: Some(at(-900)),
    };
    World {
        observed,
        cluster: ClusterContext {
            network: NetworkType::CalicoVxlan,
            ipam: wn_api::spec::Ipam::CalicoIpam,
            node_selector: [].into(),
            components: PerComponent::new(|component| match component {
                Component::NetworkAgent => Run::default(),
                Component::NodeAgent | Component::KubeProxy => run.clone(),
            }),
            kubernetes: Some(Version::new(1, 36, 3)),
            groups: vec![Group {
                members: Members::Rest,
                version: Version::new(1, 36, 3),
                dsr: true,
            }],
            theirs: None,
            policy: true,
            vni: 4096,
            felix_vni: Some(4096),
            calico_ipam: Some(CalicoIpam {
                lax: false,
                pools: vec![offer("all()", true)],
            }),
            own_vnis: [].into(),
            cni_dirs: ("/opt/cni/bin".into(), "/etc/cni/net.d".into()),
        },
        before: None,
        now: at(3600),
    }
}

fn offer(selector: &str, fits: bool) -> Offer {
    Offer {
        selector: selector.into(),
        fits,
    }
}

impl World {
    fn ipam(self, change: impl FnOnce(&mut CalicoIpam)) -> Self {
        self.cluster(|s| change(s.calico_ipam.as_mut().unwrap()))
    }

    fn without_block(mut self) -> Self {
        self.observed.calico.blocks = Default::default();
        self.observed.calico.affinities = Default::default();
        self
    }

    fn node(mut self, change: impl FnOnce(&mut NodeFacts)) -> Self {
        change(self.observed.nodes.get_mut(NODE).unwrap());
        self
    }

    fn pod(mut self, component: Component, change: impl FnOnce(&mut PodFacts)) -> Self {
        let mut pod = self
            .observed
            .pods
            .remove(&key(&format!("{component:?}")))
            .unwrap();
        change(&mut pod);
        self.observed.pods.insert(key(&format!("{component:?}")), pod);
        self
    }

    fn block(mut self, change: impl FnOnce(&mut BlockFacts)) -> Self {
        let mut block = self.observed.calico.blocks.remove(&key(NODE)).unwrap();
        change(&mut block);
        self.observed.calico.blocks.insert(key(NODE), block);
        self
    }

    fn cluster(mut self, change: impl FnOnce(&mut ClusterContext)) -> Self {
        change(&mut self.cluster);
        self
    }

    fn at(mut self, seconds: i64) -> Self {
        self.now = at(seconds);
        self
    }

    fn fails(mut self, message: &str, last: i64) -> Self {
        let failure = SandboxFailure {
            node: NODE.into(),
            pod: "default/web".into(),
            uid: "u".into(),
            message: message.into(),
            last: at(last),
        };
        self.observed.failures.insert(key(message), failure);
        self
    }

    fn verdict(&self) -> Verdict {
        let node = &self.observed.nodes[NODE];
        verdict(&View::of(
            NODE,
            node,
            &self.observed,
            &self.cluster,
            self.before,
            self.now,
        ))
    }

    /// State, and every reason by rank.
    fn found(&self) -> (State, Vec<R>) {
        let verdict = self.verdict();
        (verdict.state, verdict.findings.iter().map(|f| f.reason).collect())
    }
}

#[test]
fn a_node_that_works_is_ready() {
    assert_eq!(works().found(), (State::Ready, vec![]));
}

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

/// A cause that is not known does not hide one that is.
#[test]
fn failures_come_before_what_is_unknown() {
    let node = works()
        .node(|n| n.kernel_version = "10.0.29000.1".into())
        .block(|b| b.exhausted = true);
    assert_eq!(
        node.found(),
        (State::Failing, vec![R::BlockExhausted, R::OSBuildUnknown])
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

fn trouble(reason: &str, message: &str) -> Option<Box<Trouble>> {
    Some(Box::new(Trouble {
        container: "node".into(),
        reason: reason.into(),
        message: message.into(),
    }))
}

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

#[rstest]
#[case(239, State::Progressing)]
#[case(240, State::Failing)]
fn a_block_has_its_time(#[case] now: i64, #[case] expected: State) {
    let node = works().at(now).without_block();
    assert_eq!(node.found(), (expected, vec![R::NoIPAMBlock]));
}

/// What we know of Calico's configuration is the cause of a missing block, and so of a network that is not made; there
/// is nothing to wait for.
#[rstest]
#[case::strict_affinity(|w: World| w.ipam(|i| i.lax = true), R::StrictAffinityFalse)]
#[case::no_pool(|w: World| w.ipam(|i| i.pools.clear()), R::NoQualifiedPool)]
#[case::small_blocks(|w: World| w.ipam(|i| i.pools = vec![offer("all()", false)]), R::NoQualifiedPool)]
#[case::not_selected(|w: World| w.ipam(|i| i.pools = vec![offer("has(linux)", true)]), R::NoPoolForNode)]
#[case::vni(|w: World| w.cluster(|s| s.felix_vni = Some(4095)), R::VNITooLow)]
fn a_known_cause_stands_before_what_follows_from_it(#[case] spoil: fn(World) -> World, #[case] cause: R) {
    let node = spoil(works())
        .at(10)
        .without_block()
        .pod(Component::KubeProxy, |p| {
            crash(p, "could not find HNS network Calico")
        });
    assert_eq!(
        node.found(),
        (
            State::Failing,
            vec![cause, R::KubeProxyNoHNSNetwork, R::NoIPAMBlock]
        )
    );
}

/// The Event of a pod says once more what the configuration says.
#[test]
fn a_cause_is_reported_once() {
    let node = works().ipam(|i| i.lax = true).fails(
        "global strict affinity should not be false for Windows node",
        3599,
    );
    assert_eq!(node.found().1, [R::StrictAffinityFalse]);
    let message = node.verdict().findings[0].message.clone();
    assert!(message.contains("IPAMConfiguration default"), "{message}");
}

/// The plugin asks IPAM and the pools for each pod, whatever block the node has; only a pool's blockSize is of no
/// concern once there is a block.
#[rstest]
#[case(|w: World| w.ipam(|i| i.lax = true), &[R::StrictAffinityFalse])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("has(linux)", true)]), &[R::NoPoolForNode])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("all()", false)]), &[])]
#[case(|w: World| w.ipam(|i| i.pools.push(offer("all()", false))), &[])]
#[case(|w: World| w.ipam(|i| i.pools = vec![offer("what is this", true)]), &[])]
#[case(|w: World| w.cluster(|s| s.felix_vni = None), &[])]
#[case(|w: World| w.cluster(|s| (s.felix_vni, s.network) = (Some(1), NetworkType::CalicoBgp)), &[])]
#[case(|w: World| w.cluster(|s| s.calico_ipam = None).without_block(), &[R::NoIPAMBlock])]
fn configuration_of_a_node_with_a_block(#[case] spoil: fn(World) -> World, #[case] expected: &[R]) {
    assert_eq!(spoil(works()).found().1, expected);
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
#[case(|b: &mut BlockFacts| b.reserved = false, State::Failing, R::BlockReservationMissing)]
#[case(|b: &mut BlockFacts| b.exhausted = true, State::Failing, R::BlockExhausted)]
#[case(|b: &mut BlockFacts| b.foreign = true, State::Ready, R::ForeignAllocations)]
fn blocks(#[case] change: fn(&mut BlockFacts), #[case] state: State, #[case] reason: R) {
    assert_eq!(works().block(change).found(), (state, vec![reason]));
}

#[test]
fn a_second_block_is_lost_space() {
    let mut node = works();
    set_up(&mut node.observed, "other", 1);
    let mut block = node.observed.calico.blocks.remove(&key("other")).unwrap();
    let mut affinity = node.observed.calico.affinities.remove(&key("other")).unwrap();
    (block.host, affinity.node) = (NODE.into(), NODE.into());
    node.observed.calico.blocks.insert(key("other"), block);
    node.observed.calico.affinities.insert(key("other"), affinity);
    assert_eq!(node.found(), (State::Ready, vec![R::MultipleBlocks]));
}

#[rstest]
#[case(60, &[])]
#[case(61, &[R::BlockSmallerThanMaxPods])]
fn a_block_holds_its_size_less_four(#[case] pods: u32, #[case] advice: &[R]) {
    let found = works().node(|n| n.max_pods = Some(pods)).found();
    assert_eq!(found, (State::Ready, advice.to_vec()));
}

#[rstest]
#[case(|n: &mut NodeFacts| n.tunnel_address.clear(), R::TunnelAddressMissing)]
#[case(|n: &mut NodeFacts| n.tunnel_mac.clear(), R::TunnelAddressMissing)]
#[case(|n: &mut NodeFacts| n.tunnel_address = "10.100.0.2".into(), R::TunnelAddressStale)]
fn tunnels(#[case] change: fn(&mut NodeFacts), #[case] reason: R) {
    assert_eq!(works().node(change).found(), (State::Failing, vec![reason]));
    let bgp = works().cluster(|s| s.network = NetworkType::CalicoBgp);
    assert_eq!(bgp.node(change).found().0, State::Ready, "BGP has no tunnel");
}

#[rstest]
#[case(4096, &[])]
#[case(4097, &[R::VNIMismatch])]
fn one_vni_for_all(#[case] own: i64, #[case] expected: &[R]) {
    let node = works().cluster(|s| s.own_vnis = [(NODE.to_owned(), own)].into());
    assert_eq!(node.found().1, expected);
}

#[rstest]
#[case("192.168.0.1/24", "", &[])]
#[case("", "", &[R::BGPAddressMissing])]
#[case("192.168.0.1/24", "64512", &[])]
#[case("192.168.0.1/24", "1.10", &[])]
#[case("192.168.0.1/24", "4294967296", &[R::BGPASNumberInvalid])]
fn bgp(#[case] address: &str, #[case] number: &str, #[case] expected: &[R]) {
    let node = works()
        .cluster(|s| s.network = NetworkType::CalicoBgp)
        .node(|n| (n.bgp_address, n.as_number) = (address.into(), number.into()));
    assert_eq!(node.found().1, expected);
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

/// Judges, and writes down on the Node what is to be remembered there.
fn remembered(world: World) -> World {
    let made = world.verdict().network_made;
    world.node(|n| n.network_made = made)
}

#[test]
fn a_network_keeps_its_vni_until_it_is_made_anew() {
    let changed = || {
        let world = remembered(works()).cluster(|s| (s.vni, s.felix_vni) = (5000, Some(5000)));
        // The agent is rolled out with the new VNI, and starts beside the old network.
        remembered(
            world
                .node(|n| n.network_up = Some(at(100)))
                .pod(Component::NodeAgent, |p| {
                    (p.startup, p.vni) = (Some(at(99)), Some(5000));
                }),
        )
    };
    assert_eq!(changed().found(), (State::Failing, vec![R::NodeRebuildRequired]));
    let message = changed().verdict().findings[0].message.clone();
    assert!(message.contains("4096") && message.contains("5000"), "{message}");
    // After a restart the operator reads it from the Node; nothing else shows it.
    let forgotten = changed().node(|n| n.network_made = None);
    assert_eq!(forgotten.found(), (State::Ready, vec![]));
    // With the original value the network fits again.
    let back = changed().cluster(|s| s.felix_vni = None);
    assert_eq!(back.found(), (State::Ready, vec![]));

    // Proof of a new network: another boot, another block or another MAC, each with a startup since.
    let booted = || changed().node(|n| n.boot_id = "2".into());
    for made_anew in [
        booted(),
        changed().node(|n| n.tunnel_mac = "00:15:5d:00:00:02".into()),
    ] {
        let made_anew = remembered(made_anew);
        assert_eq!(made_anew.found(), (State::Ready, vec![]));
        assert_eq!(made_anew.verdict().network_made.unwrap().vni, 5000);
    }
    // A startup that is still to come has made nothing.
    let early = booted().pod(Component::NodeAgent, |p| p.startup = Some(at(3599)));
    assert_eq!(early.found(), (State::Progressing, vec![R::StartupNotFinished]));
    assert_eq!(early.verdict().network_made.unwrap().vni, 4096);
    // A boot whose pods are those of before neither.
    let pods_of_before = booted().node(|n| n.rebooted = Some(at(3500)));
    assert_eq!(pods_of_before.verdict().network_made.unwrap().vni, 4096);
    // An agent from before the change creates the network with the VNI it was started with.
    let old = remembered(booted().pod(Component::NodeAgent, |p| p.vni = Some(4096)));
    assert_eq!(old.found().1, [R::NodeRebuildRequired]);
}

#[test]
fn only_calicos_overlay_has_a_network_to_remember() {
    assert!(works().verdict().network_made.is_some());
    for network in [NetworkType::CalicoBgp, NetworkType::FlannelVxlan] {
        let other = remembered(works()).cluster(|s| s.network = network);
        assert_eq!(other.verdict().network_made, None, "{network:?}");
    }
    let unknown = works().pod(Component::NodeAgent, |p| p.vni = None);
    assert_eq!(unknown.verdict().network_made, None);
    assert_eq!(works().node(|n| n.boot_id.clear()).verdict().network_made, None);
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

/// No message ends in a full stop, every one says what to do, and the table has no empty cell.
#[test]
fn the_table_is_complete() {
    for reason in R::ALL {
        let entry = reason.entry();
        for text in [entry.meaning, entry.evidence, entry.fix, entry.source] {
            assert!(!text.is_empty() && !text.contains("  "), "{reason}: {text:?}");
        }
        assert!(
            entry.meaning.ends_with('.') && !entry.fix.ends_with('.'),
            "{reason}"
        );
    }
}

fn judged(world: &World, table: &mut Table) -> Option<(State, Option<R>)> {
    table.judge(NODE, &world.observed, &world.cluster, world.now);
    table.get(NODE).map(|e| (e.state, e.reason))
}

#[test]
fn the_table_tells_changes_and_times() {
    let mut table = Table::default();
    let world = works();
    let first = table.judge(NODE, &world.observed, &world.cluster, world.now);
    assert_eq!((first.was, first.changed), (None, true));
    assert!(
        !table
            .judge(NODE, &world.observed, &world.cluster, world.now)
            .changed,
        "nothing new"
    );
    let starting = works().pod(Component::NodeAgent, |p| {
        (p.ready, p.started) = (false, Some(at(3590)))
    });
    assert_eq!(
        judged(&starting, &mut table),
        Some((State::Progressing, Some(R::AgentNotReady)))
    );
    assert_eq!(
        (table.next(), table.due(at(3659)), table.due(at(3660))),
        (Some(at(3660)), vec![], vec![NODE.to_owned()])
    );
    let late = World {
        now: at(3660),
        ..starting
    };
    assert_eq!(
        judged(&late, &mut table),
        Some((State::Failing, Some(R::AgentNotReady)))
    );
    assert_eq!(
        table.get(NODE).unwrap().since,
        at(3600),
        "since when, not since when it counts"
    );
    assert_eq!(table.next(), None);
    let gone = table.judge(NODE, &Observed::default(), &late.cluster, at(3700));
    assert_eq!((gone.verdict, table.iter().count()), (None, 0));
}

/// A restart is no news: the start time is read from the Node's condition.
#[test]
fn a_new_table_remembers_by_the_nodes_condition() {
    let node = json!({"status": {"conditions": [{"type": "windowsnode.dev/WindowsNetworkReady", "status": "False",
        "reason": "BlockExhausted", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let condition = NodeFacts::read(&node).condition;
    let world = works()
        .block(|b| b.exhausted = true)
        .node(|n| n.condition = condition);
    let mut table = Table::default();
    judged(&world, &mut table);
    assert_eq!(
        table.get(NODE).unwrap().since,
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap()
    );
}

/// The label of a node's group is set and removed, and left alone when it is right.
#[rstest]
#[case(None, None, None)]
#[case(None, Some("no-dsr"), Some(Some("no-dsr")))]
#[case(Some("no-dsr"), Some("no-dsr"), None)]
#[case(Some("no-dsr"), None, Some(None))]
#[case(Some("theirs"), Some("no-dsr"), Some(Some("no-dsr")))]
fn label_of_a_group(
    #[case] stored: Option<&str>,
    #[case] group: Option<&'static str>,
    #[case] expected: Option<Option<&'static str>>,
) {
    let world = works().node(|n| {
        let label = stored.map(|value| ("windowsnode.dev/kube-proxy", value));
        n.labels = n.labels.iter().chain(label).collect();
    });
    let node = &world.observed.nodes[NODE];
    let found = node_update(
        TaintMode::None,
        group,
        node,
        &world.verdict(),
        world.now,
        world.now,
    );
    assert_eq!(found.group, expected);
}

fn update_of(world: &World, mode: TaintMode) -> NodeUpdate {
    let node = &world.observed.nodes[NODE];
    node_update(mode, None, node, &world.verdict(), world.now, world.now)
}

/// What is on a node that is no longer selected is removed, and nothing is written to one that never was.
#[test]
fn a_node_that_is_not_selected_is_left_alone() {
    let unselected =
        |world: World| world.cluster(|c| c.node_selector = [("pool".to_owned(), "canary".to_owned())].into());
    let new = unselected(works().node(|n| n.ready = false));
    assert_eq!(new.found(), (State::NotSelected, vec![]));
    assert_eq!(update_of(&new, TaintMode::Continuous), NodeUpdate::default());
    let known = unselected(saying(works()));
    let leave = NodeUpdate {
        remove_all: true,
        ..NodeUpdate::default()
    };
    assert_eq!(update_of(&known, TaintMode::Continuous), leave);
    let labels = [("kubernetes.io/os", "windows"), ("pool", "canary")];
    assert_eq!(
        unselected(works().node(|n| n.labels = labels.into())).found().0,
        State::Ready
    );
}

fn saying(world: World) -> World {
    let world = remembered(world);
    let condition = update_of(&world, TaintMode::None).condition.map(Box::new);
    world.node(|n| n.condition = condition)
}

#[test]
fn a_condition_is_written_when_it_differs() {
    let fresh = update_of(&works(), TaintMode::None);
    assert!(fresh.news && fresh.condition.as_ref().unwrap().status == "True");
    let known = saying(works());
    assert!(update_of(&known, TaintMode::None).is_empty());
    let broken = update_of(
        &World {
            now: at(4000),
            ..known
        }
        .block(|b| b.exhausted = true),
        TaintMode::None,
    );
    let condition = broken.condition.unwrap();
    assert_eq!(
        (
            condition.status.as_str(),
            condition.reason.as_str(),
            condition.since
        ),
        ("False", "BlockExhausted", Some(at(4000)))
    );
    assert!(broken.news);
}

/// One that an older version wrote has no heartbeat time, and `kubectl describe node` would show the year 1.
#[test]
fn a_heartbeat_is_written_with_a_condition_and_never_alone() {
    let known = saying(works());
    let condition = known.observed.nodes[NODE].condition.clone().unwrap();
    assert_eq!(condition.heartbeat, Some(at(3600)));
    let later = World {
        now: at(9000),
        ..known
    };
    assert!(update_of(&later, TaintMode::None).is_empty());
    let old = later.node(|n| n.condition.as_mut().unwrap().heartbeat = None);
    let update = update_of(&old, TaintMode::None);
    assert_eq!(update.condition.unwrap().heartbeat, Some(at(9000)));
    assert!(!update.news && !update.event);
}

/// The record of the network is written with the condition, without an Event.
#[test]
fn a_network_is_written_down_once() {
    let known = saying(works());
    assert!(update_of(&known, TaintMode::None).is_empty());
    let fresh = known.node(|n| n.network_made = None);
    let update = update_of(&fresh, TaintMode::None);
    assert_eq!(update.network_made.unwrap().vni, 4096);
    assert!(update.condition.is_some() && !update.news && !update.event);
}

#[test]
fn other_words_or_reasons_keep_the_time() {
    let broken = saying(works().block(|b| b.exhausted = true));
    let later = World {
        now: at(4000),
        ..broken
    }
    .node(|n| n.network_unavailable = true)
    .block(|b| b.exhausted = false);
    let update = update_of(&later, TaintMode::None);
    assert_eq!(
        update.condition.unwrap().since,
        Some(at(3600)),
        "the status is still False"
    );
    assert!(update.news);
}

#[rstest]
#[case(TaintMode::None, true, false, None)]
#[case(TaintMode::None, false, false, None)]
#[case(TaintMode::Startup, true, false, Some(true))]
#[case(TaintMode::Startup, false, false, None)]
#[case(TaintMode::Startup, false, true, None)]
#[case(TaintMode::Continuous, true, false, Some(true))]
#[case(TaintMode::Continuous, false, false, Some(true))]
#[case(TaintMode::Continuous, false, true, None)]
fn taints_of_a_node_that_fails(
    #[case] mode: TaintMode,
    #[case] fresh: bool,
    #[case] tainted: bool,
    #[case] expected: Option<bool>,
) {
    let mut node = works().block(|b| b.exhausted = true);
    if !fresh {
        node = saying(node);
    }
    assert_eq!(
        update_of(&node.node(|n| n.tainted = tainted), mode).taint,
        expected
    );
}

#[rstest]
#[case(TaintMode::None, true, Some(false))]
#[case(TaintMode::None, false, None)]
#[case(TaintMode::Startup, false, Some(false))]
#[case(TaintMode::Continuous, true, Some(false))]
fn taints_of_a_node_that_works(#[case] mode: TaintMode, #[case] ours: bool, #[case] expected: Option<bool>) {
    let node = works().node(|n| (n.tainted, n.taint_is_ours) = (true, ours));
    assert_eq!(update_of(&node, mode).taint, expected);
    assert_eq!(update_of(&works(), mode).taint, None);
}

/// One change to the facts of a node.
fn step() -> impl Strategy<Value = usize> {
    0..STEPS.len()
}

const STEPS: &[fn(World) -> World] = &[
    |w| w.node(|n| n.network_unavailable = true),
    |w| w.node(|n| n.kernel_version = "10.0.26100.1".into()),
    |w| w.node(|n| n.tunnel_address = "1.2.3.4".into()),
    |w| w.node(|n| (n.ready, n.silent) = (false, true)),
    |w| w.pod(Component::NodeAgent, |p| p.ready = false),
    |w| {
        w.pod(Component::KubeProxy, |p| {
            (p.ready, p.trouble) = (false, trouble("CrashLoopBackOff", "source-vip flag not set"))
        })
    },
    |w| w.block(|b| b.reserved = false),
    |w| w.block(|b| b.exhausted = true),
    |w| w.fails("timeout acquiring mutex", 3599),
    |w| w.fails("connection is unauthorized: Unauthorized", 3500),
    |w| w.node(|n| n.rebooted = Some(at(3500))),
];

proptest! {
    #![proptest_config(kept())]

    /// However the facts arrive, and however often the node is judged in between, the end is the same.
    #[test]
    fn the_order_of_events_does_not_matter(steps in prop::collection::hash_set(step(), 0..STEPS.len()), seed in any::<u64>()) {
        let mut shuffled: Vec<_> = steps.iter().copied().collect();
        shuffled.sort_by_key(|i| (*i as u64 + 1).wrapping_mul(seed | 1));
        let run = |order: Vec<usize>| {
            let mut table = Table::default();
            let mut world = works();
            for i in order {
                world = STEPS[i](world);
                judged(&world, &mut table);
            }
            (judged(&world, &mut table), world.found())
        };
        let sorted: Vec<_> = { let mut s: Vec<_> = steps.into_iter().collect(); s.sort_unstable(); s };
        let (one, other) = (run(sorted), run(shuffled));
        prop_assert_eq!(one, other);
    }

    /// Total: a verdict on whatever a node may say, with a state that fits its findings.
    #[test]
    fn there_is_always_a_verdict(kernel in ".{0,20}", runtime in ".{0,20}", kubelet in ".{0,12}", tunnel in ".{0,12}",
            asn in ".{0,8}", message in ".{0,60}", ready: bool, now in -10_000_i64..10_000) {
        let node = works().fails(&message, 0).at(now).node(|n| {
            (n.kernel_version, n.container_runtime, n.kubelet_version) = (kernel, runtime, kubelet);
            (n.tunnel_address, n.as_number, n.ready) = (tunnel, asn, ready);
        });
        let verdict = node.verdict();
        prop_assert_eq!(verdict.state == State::Ready, verdict.findings.iter().all(|f| f.weight == Weight::Advice));
        prop_assert!(verdict.recheck.is_none_or(|at| at > node.now));
        prop_assert!(verdict.findings.iter().all(|f| f.message.len() < 1000));
    }
}

/// 5000 nodes with the longest names, all failing, all listed that may be.
#[rstest]
#[case("")]
#[case("nodeListLimit: 500")]
fn the_status_stays_small(#[case] yaml: &str) {
    let mut cluster = Cluster::vxlan();
    if !yaml.is_empty() {
        cluster = cluster.with_spec(yaml);
    }
    cluster.observed.nodes = (0..5000)
        .map(|i| {
            (
                format!("{i:0>63}"),
                NodeFacts {
                    kernel_version: "10.0.17763.100".into(),
                    ..windows_node()
                },
            )
        })
        .collect();
    let names: Vec<_> = cluster.observed.nodes.keys().cloned().collect();
    for name in names {
        cluster.observed.failures.insert(
            key(&name),
            SandboxFailure {
                node: name.clone(),
                pod: format!("default/{name}"),
                uid: "u".into(),
                message: "\"x\"".repeat(60),
                last: cluster.now + SignedDuration::from_secs(1),
            },
        );
    }
    cluster.pass();
    let status = cluster.config().status.clone().unwrap();
    let size = serde_json::to_string(&status).unwrap().len();
    assert!(size < 200_000, "{size} bytes");
    let nodes = status.nodes.unwrap();
    assert_eq!((nodes.total, nodes.failing), (5000, 5000));
    assert_eq!(usize::try_from(nodes.omitted).unwrap() + nodes.list.len(), 5000);
    assert!(nodes.list.len() >= 50, "{}", nodes.list.len());
}

/// A node that flannel networks: without a block, a tunnel or anything else of Calico's.
fn on_flannel() -> World {
    let mut world = works().cluster(|s| {
        s.network = NetworkType::FlannelVxlan;
        s.components[Component::NetworkAgent] = std::mem::take(&mut s.components[Component::NodeAgent]);
    });
    world.observed.calico.blocks = wn_plan::observed::NodeIndex::default();
    world.observed.calico.affinities = wn_plan::observed::NodeIndex::default();
    let mut agent = world.observed.pods.remove(&key("NodeAgent")).unwrap();
    agent.component = Component::NetworkAgent;
    world.observed.pods.insert(key("NetworkAgent"), agent);
    world.node(|n| {
        n.tunnel_address = String::new();
        n.tunnel_mac = String::new();
        n.bgp_address = String::new();
        n.pod_cidr = "10.244.1.0/24".parse().ok();
    })
}

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

fn crash(pod: &mut PodFacts, words: &str) {
    pod.ready = false;
    pod.trouble = Some(Box::new(Trouble {
        container: "c".into(),
        reason: "CrashLoopBackOff".into(),
        message: words.into(),
    }));
}
