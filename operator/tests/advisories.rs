//! `docs/advisories.md` is the table of rules, as people read it. `UPDATE_DOCS=1` regenerates it.

use std::fmt::Write as _;
use std::path::Path;

use wn_api::node_reasons::NodeReason;
use wn_api::reasons::conditions;
use wn_plan::advice;

const HEAD: &str = "# What limits Windows nodes

<!-- Generated from operator/plan/src/advice by `UPDATE_DOCS=1 cargo test -p windows-node-operator --test advisories`. Do not edit. -->

Limits of Calico for Windows that a cluster runs into, found in the API and listed in `status.advisories` of the `WindowsNodeConfig`, the
gravest first. The condition `Advisories` counts them, an Event `AdvisoriesFound` reports each when it appears, and the metric
`windows_node_operator_advisories` has them by code and severity. None of them makes the object not ready, and the operator changes
nothing because of them.

*Error*: something does not work on Windows nodes. *Warning*: something works partly, or is a risk. *Info*: worth knowing. Codes are
never given twice.

";

/// Limits that the table above does not say, or not alone: what they are, and where they are answered.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "Platforms Calico for Windows does not support, and those that run parts of it themselves",
        "condition `PlatformSupported`, `NodeAgentAvailable`, `KubeProxyAvailable` (reason External)",
    ),
    (
        "Versions of Kubernetes and of Calico outside the tested range",
        "conditions `PlatformSupported`, `NodeAgentAvailable`",
    ),
    (
        "Typha and other programs need Linux nodes",
        "condition `LinuxNodesAvailable`",
    ),
    (
        "The datastore must be the one of the Linux nodes",
        "`spec.calico.datastore`",
    ),
    (
        "Builds and patch levels of Windows",
        "node reasons `OSBuildUnsupported`, `OSBuildKnownBad`, `OSBuildTooOldForOverlay`, `OSBuildOutdated`, `OSBuildUnknown`",
    ),
    (
        "Direct server return needs 17763.1432 or later; without it Services hide the client from policies",
        "node reasons `OSBuildTooOldForDSR`, `ClusterIPPolicyNotEnforced`, condition `KubeProxyAvailable`; of somebody else's kube-proxy: WN1090",
    ),
    (
        "kubelet and API server too far apart",
        "node reason `VersionSkew`",
    ),
    (
        "HostProcess containers need containerd",
        "node reason `HostProcessUnsupported`",
    ),
    (
        "Pod Security must allow HostProcess pods in the operator's namespace",
        "node reasons `AgentNotScheduled`, `KubeProxyNotScheduled`; the label itself is not read, which would take a right on namespaces",
    ),
    ("No Windows node at all", "condition `NodesReady`"),
    (
        "IPIP, CrossSubnet and no encapsulation on pools that serve Windows nodes",
        "condition `CalicoConfigured`: set as they must be; other pools: WN1021, WN1022",
    ),
    (
        "VXLAN and BGP together",
        "condition `CalicoConfigured`: `spec.network.type` decides, and pools follow",
    ),
    (
        "VXLAN port 4789 and a VNI from 4096 to 65535",
        "condition `CalicoConfigured`: set as they must be; with eBPF: WN1003",
    ),
    (
        "strictAffinity",
        "condition `CalicoConfigured`: set to true, or held where nodes would have no addresses (PoolsTooSmall; near it: WN1035); when it is \
         only reported: WN1030",
    ),
    (
        "Four addresses of each block are Windows' own",
        "node reason `BlockReservationMissing`; WN1023, WN1033, WN1034 count without them",
    ),
    (
        "One block a node",
        "node reasons `BlockExhausted`, `MultipleBlocks`, `BlockSmallerThanMaxPods`; WN1023",
    ),
    (
        "Borrowed addresses",
        "node reason `ForeignAllocations`; all nodes together: WN1032",
    ),
    (
        "No pool can serve a Windows node",
        "condition `CalicoConfigured` (reason NoUsablePool); WN1025",
    ),
    (
        "host-local IPAM and pod CIDRs",
        "`spec.network.ipam`, condition `NetworkConfigured`",
    ),
    (
        "BGP without peers needs one subnet",
        "condition `NetworkConfigured`",
    ),
    ("A node's own VNI", "node reason `VNIMismatch`"),
    (
        "Reboots and rebuilt HNS networks",
        "node reasons `RecoveringAfterReboot`, `NotRecovered`",
    ),
    (
        "A VNI that is changed while nodes run: HNS keeps a network with the old one until the node is rebooted or its network removed",
        "node reason `NodeRebuildRequired`; another block for the node: `TunnelAddressStale`",
    ),
    (
        "RemoteAccess, the Windows service behind BGP",
        "not visible in the API, but for its consequence, node reason `AgentCrashLooping`; WN1110 says that it is needed",
    ),
    (
        "The route to 169.254.169.254 is lost on AWS and GCE when HNS makes a network",
        "not visible in the API; WN1105 says that it may be",
    ),
    (
        "The cloud's firewalls must let UDP 4789 through; MAC spoofing must be allowed on hypervisors",
        "not visible in the API; WN1107 and WN1108 say that they must",
    ),
    (
        "The flag of the CNI plugin that keeps NAT off the host's subnet",
        "`spec.nodeAgent.disableHostSubnetNATExclusion`; an agent that is not ours has it in a file on the node",
    ),
    (
        "PowerShell as administrator, RDP or WinRM, TLS 1.2",
        "not visible in the API; an image that cannot be pulled without TLS 1.2: node reason `AgentImagePullFailed`",
    ),
];

fn rendered() -> String {
    let mut text = HEAD.to_owned();
    for rule in advice::rules() {
        let _ = writeln!(
            text,
            "## {}: {}\n\n{} ({:?})\n\n- **Looks at:** {}\n- **What to do:** {}\n- **Source:** {}\n",
            rule.code, rule.title, rule.limit, rule.severity, rule.reads, rule.fix, rule.source
        );
    }
    text.push_str("## Limits that are reported elsewhere\n\n| limit | where |\n|---|---|\n");
    for (limit, place) in ELSEWHERE {
        let _ = writeln!(text, "| {limit} | {place} |");
    }
    text
}

#[test]
fn the_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/advisories.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, rendered()).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).expect("docs/advisories.md is there");
    assert!(
        found == rendered(),
        "docs/advisories.md is old: run UPDATE_DOCS=1 cargo test -p windows-node-operator --test advisories"
    );
}

/// A limit that is reported elsewhere is reported under a name that exists.
#[test]
fn every_name_is_one_we_use() {
    let codes: Vec<_> = advice::rules().map(|r| r.code).collect();
    let reasons: Vec<_> = NodeReason::ALL.iter().map(|r| r.as_str()).collect();
    for (limit, place) in ELSEWHERE {
        let words = place.split(|c: char| !c.is_ascii_alphanumeric());
        for code in words.filter(|w| w.starts_with("WN1")) {
            assert!(codes.contains(&code), "{limit}: {code}");
        }
        let quoted = place
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|q| !q.starts_with("spec."));
        for name in quoted {
            let known = reasons.contains(&name) || conditions::ALL.contains(&name);
            assert!(known, "{limit}: {name}");
        }
    }
}
