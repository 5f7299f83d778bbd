//! Every reason, what brings it about, and what follows: one row each.

use wn_api::node_reasons::NodeReason as Reason;
use wn_e2e::simulator::{App, Fault, NodeFault, words};

/// The node's state while the fault lasts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expect {
    Failing,
    Progressing,
    /// One or the other, by the age of this cluster: what counts is that it is not Ready.
    Due,
    Unknown,
    /// Ready all the same.
    Advice,
}

use Expect::{Advice, Due, Failing, Progressing, Unknown};

/// Reason, what brings it about, what follows, and a word of the cause.
pub type Row = (Reason, NodeFault, Expect, &'static str);

fn machine() -> Vec<Row> {
    vec![
        (Reason::KubeletNotReporting, NodeFault::Silent, Failing, "kubelet"),
        (
            Reason::OSBuildUnsupported,
            NodeFault::Kernel("10.0.20348.1"),
            Failing,
            "20348.169",
        ),
        (
            Reason::OSBuildKnownBad,
            NodeFault::Kernel("10.0.20348.2582"),
            Failing,
            "KB5044281",
        ),
        (
            Reason::OSBuildTooOldForOverlay,
            NodeFault::Kernel("10.0.26100.1742"),
            Failing,
            "KB5066835",
        ),
        (
            Reason::OSBuildUnknown,
            NodeFault::Kernel("10.0.29999.1"),
            Unknown,
            "29999",
        ),
        (
            Reason::OSBuildUnknown,
            NodeFault::Kernel("6.2.9200"),
            Unknown,
            "6.2.9200",
        ),
        (
            Reason::OSBuildUnsupportedByCalico,
            NodeFault::Kernel("10.0.26100.6899"),
            Advice,
            "Windows Server 2025",
        ),
        (
            Reason::OSBuildUnsupportedByKubernetes,
            NodeFault::Kernel("10.0.25398.1"),
            Advice,
            "23H2",
        ),
        (
            Reason::OSBuildOutdated,
            NodeFault::Kernel("10.0.20348.1006"),
            Advice,
            "KB5019081",
        ),
        (
            Reason::OSBuildOutdated,
            NodeFault::Kernel("10.0.19042.1"),
            Advice,
            "20H2",
        ),
        (
            Reason::HostProcessUnsupported,
            NodeFault::Runtime("docker://20.10.9"),
            Failing,
            "docker",
        ),
        (
            Reason::HostProcessUnsupported,
            NodeFault::Runtime("containerd://1.6.6"),
            Failing,
            "1.6.6",
        ),
        (
            Reason::VersionSkew,
            NodeFault::Kubelet("v1.99.0"),
            Advice,
            "newer",
        ),
        (
            Reason::CNINotInitialized,
            NodeFault::NotReady(words::kubelet::NO_CNI),
            Due,
            "CNI",
        ),
        (
            Reason::NodeNotReady,
            NodeFault::NotReady(words::kubelet::PLEG),
            Due,
            "PLEG",
        ),
        (
            Reason::NetworkUnavailable,
            NodeFault::NetworkUnavailable,
            Due,
            "NetworkUnavailable",
        ),
        (
            Reason::StartupNotFinished,
            NodeFault::StartupFails,
            Due,
            "startup has not succeeded",
        ),
        (
            Reason::RecoveringAfterReboot,
            NodeFault::Reboot,
            Progressing,
            "rebooted",
        ),
    ]
}

fn agents() -> Vec<Row> {
    let agent = |words| NodeFault::Agents(Fault::AgentCrash(words));
    let proxy = |words| NodeFault::Agents(Fault::KubeProxyCrash(words));
    vec![
        (
            Reason::AgentNotScheduled,
            NodeFault::NoRoom(App::Agent),
            Progressing,
            "not scheduled",
        ),
        (
            Reason::AgentImagePullFailed,
            NodeFault::Successor(App::Agent, Fault::AgentImagePull),
            Failing,
            "cannot be pulled",
        ),
        (
            Reason::AgentCrashLooping,
            agent(words::agent::UNKNOWN),
            Failing,
            "nil pointer",
        ),
        (
            Reason::StrictAffinityFalse,
            agent(words::agent::STRICT_AFFINITY),
            Failing,
            "strict affinity",
        ),
        (
            Reason::AgentNotReady,
            NodeFault::Agents(Fault::AgentNotReady),
            Failing,
            "not ready",
        ),
        (
            Reason::KubeProxyNotScheduled,
            NodeFault::NoRoom(App::KubeProxy),
            Progressing,
            "not scheduled",
        ),
        (
            Reason::KubeProxyImagePullFailed,
            NodeFault::Successor(App::KubeProxy, Fault::KubeProxyImagePull),
            Failing,
            "cannot be pulled",
        ),
        (
            Reason::KubeProxyFeatureGate,
            proxy(words::kube_proxy::UNKNOWN_GATE),
            Failing,
            "WinDSRX",
        ),
        (
            Reason::KubeProxyFeatureGate,
            proxy(words::kube_proxy::LOCKED_GATE),
            Failing,
            "locked",
        ),
        (
            Reason::KubeProxyFeatureGate,
            proxy(words::kube_proxy::GATE_OFF),
            Failing,
            "WinOverlay",
        ),
        (
            Reason::KubeProxyNoSourceVIP,
            proxy(words::kube_proxy::SOURCE_VIP),
            Failing,
            "source-vip",
        ),
        (
            Reason::KubeProxyNoHNSNetwork,
            proxy(words::kube_proxy::NO_NETWORK),
            Failing,
            "HNS Network",
        ),
        (
            Reason::KubeProxyNoHostMAC,
            proxy(words::kube_proxy::NO_MAC),
            Failing,
            "172.20.0.5",
        ),
        (
            Reason::KubeProxyCrashLooping,
            proxy(words::kube_proxy::UNKNOWN),
            Failing,
            "--v9",
        ),
        (
            Reason::KubeProxyNotReady,
            NodeFault::Agents(Fault::KubeProxyNotReady),
            Failing,
            "not ready",
        ),
        (
            Reason::KubeProxyKnownIssue,
            NodeFault::ImageTag(App::KubeProxy, "v1.34.1-calico-hostprocess"),
            Advice,
            "v1.34.2",
        ),
    ]
}

fn calico() -> Vec<Row> {
    vec![
        (Reason::NoIPAMBlock, NodeFault::NoBlock, Due, "no block"),
        (Reason::NoIPAMBlock, NodeFault::ClaimPending, Due, "not confirmed"),
        (
            Reason::BlockReservationMissing,
            NodeFault::NotReserved,
            Failing,
            "for Windows",
        ),
        (
            Reason::BlockExhausted,
            NodeFault::BlockExhausted,
            Failing,
            "no free address",
        ),
        (
            Reason::TunnelAddressMissing,
            NodeFault::Annotation("IPv4VXLANTunnelAddr", None),
            Due,
            "IPv4VXLANTunnelAddr",
        ),
        (
            Reason::TunnelAddressMissing,
            NodeFault::Annotation("VXLANTunnelMACAddr", None),
            Due,
            "VXLANTunnelMACAddr",
        ),
        (
            Reason::TunnelAddressStale,
            NodeFault::Annotation("IPv4VXLANTunnelAddr", Some("10.244.77.1")),
            Failing,
            "10.244.77.1",
        ),
        (Reason::VNIMismatch, NodeFault::OwnVni(4097), Failing, "4097"),
        (Reason::MultipleBlocks, NodeFault::SecondBlock, Advice, "2 blocks"),
        (
            Reason::ForeignAllocations,
            NodeFault::Borrowed("linux-0"),
            Advice,
            "other nodes",
        ),
        (
            Reason::BlockSmallerThanMaxPods,
            NodeFault::MaxPods(110),
            Advice,
            "110",
        ),
    ]
}

fn sandboxes() -> Vec<Row> {
    let rows = [
        (Reason::StrictAffinityFalse, words::STRICT_AFFINITY),
        (Reason::BlockExhausted, words::BLOCK_LIMIT),
        (Reason::NoQualifiedPool, words::NO_QUALIFIED_POOL),
        (Reason::NoPoolForNode, words::NO_POOL_FOR_NODE),
        (Reason::CNITokenInvalid, words::UNAUTHORIZED),
        (Reason::CNIStalled, words::MUTEX),
        (Reason::HNSNetworkInconsistent, words::NOT_IN_V2),
        (Reason::VNITooLow, words::VNI),
        (Reason::HNSManagementIPMissing, words::MANAGEMENT_IP),
        (Reason::HNSManagementIPMissing, words::MANAGEMENT_INTERFACE),
        (Reason::HNSEndpointStale, words::ENDPOINT),
        (Reason::HNSNetworkCreateFailed, words::CREATE_NETWORK),
        (Reason::HNSManagementIPMissing, words::NET_INTERFACE),
        (Reason::HNSUnavailable, words::HNS_DOWN),
        (Reason::DatastoreNotReady, words::DATASTORE),
        (Reason::APIServerEndpointMissing, words::ENDPOINT_OF_API),
        (Reason::APIServerEndpointMissing, words::KUBECONFIG),
        (Reason::SandboxCreationFailed, words::POLICY),
    ];
    let row = |(reason, words)| (reason, NodeFault::Sandbox(words), Failing, "default/web-0");
    rows.map(row).into()
}

pub fn rows() -> Vec<Row> {
    [machine(), agents(), calico(), sandboxes()].concat()
}

/// Not in the table above, and the test that makes it happen.
pub const ELSEWHERE: &[(Reason, &str)] = &[
    (Reason::OSBuildTooOldForDSR, "rows::dsr_by_the_spec"),
    (Reason::ClusterIPPolicyNotEnforced, "rows::dsr_by_the_spec"),
    // Of somebody else's kube-proxy; ours has the version of the kubelets.
    (
        Reason::KubeProxyVersionSkew,
        "ownership::a_foreign_kube_proxy_is_judged_by_its_daemon_set",
    ),
    (
        Reason::NotRecovered,
        "lifecycle::a_boot_outlives_a_restart_of_the_operator",
    ),
    (
        Reason::NodeRebuildRequired,
        "lifecycle::a_vni_that_changes_strands_nodes_until_they_boot",
    ),
    (Reason::BGPAddressMissing, "rows::announcements_of_bgp"),
    (Reason::BGPASNumberInvalid, "rows::announcements_of_bgp"),
    // In the tests of networks that are not Calico's.
    (Reason::PodCIDRMissing, "verdicts::of_the_network_agent"),
    (Reason::NetworkAgentNotScheduled, "verdicts::of_the_network_agent"),
    (
        Reason::NetworkAgentImagePullFailed,
        "verdicts::of_the_network_agent",
    ),
    (Reason::NetworkAgentCrashLooping, "verdicts::of_the_network_agent"),
    (Reason::NetworkAgentNotReady, "verdicts::of_the_network_agent"),
];
