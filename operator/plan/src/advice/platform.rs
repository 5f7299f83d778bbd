//! What a platform asks of Windows nodes that no API object shows, and what it does not support: `WN1101` and on.

use wn_api::spec::Platform;
use wn_api::status::Severity;

use super::{Cluster, Hit, Rule};
use crate::network;
use crate::network::role::{Backend, Dataplane};
use crate::platform::{self, LIMITATIONS, name, objection};
use crate::version::Version;

const NODES: &str = "Windows nodes";
const REQUIREMENTS: &str =
    "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/requirements";

pub const RULES: &[Rule] = &[
    Rule {
        code: "WN1101",
        severity: Severity::Warning,
        title: "An unsupported platform is accepted",
        limit: "Calico for Windows does not support the platform, or not with this network type, and acceptUnsupported is true.",
        reads: "spec.platform.acceptUnsupported of the WindowsNodeConfig; the detected platform",
        fix: "test what you need, because nobody else does; remove acceptUnsupported to refuse the platform again",
        source: LIMITATIONS,
        check: accepted,
    },
    Rule {
        code: "WN1102",
        severity: Severity::Warning,
        title: "kube-proxy of EKS may run without DSR",
        limit: "Without direct server return, connections to a ClusterIP come from the node's address, and network policy that selects \
                their sources is not enforced.",
        reads: "the detected platform: EKS",
        fix: "check --enable-dsr in the bootstrap's -KubeProxyExtraArgs",
        source: LIMITATIONS,
        check: eks,
    },
    Rule {
        code: "WN1103",
        severity: Severity::Warning,
        title: "Not for production on EKS",
        limit: "Calico for Windows on EKS is not for production.",
        reads: "the detected platform: EKS",
        fix: "run production workloads on other nodes",
        source: LIMITATIONS,
        check: eks_production,
    },
    Rule {
        code: "WN1104",
        severity: Severity::Info,
        title: "AKS must be created for Calico's policy",
        limit: "Calico's network policy works on Windows nodes of AKS only if the cluster was created with it and with Azure CNI.",
        reads: "the detected platform: AKS",
        fix: "create the cluster with network policy `calico` and Azure CNI",
        source: REQUIREMENTS,
        check: aks,
    },
    Rule {
        code: "WN1105",
        severity: Severity::Info,
        title: "The route to the metadata service may be lost",
        limit: "When HNS creates the switch, the route to the metadata service 169.254.169.254 is lost. Calico's agent restores it when \
                it starts.",
        reads: "spec.providerID of nodes: AWS, GCE; spec.network.type of the WindowsNodeConfig",
        fix: "test a pod that needs the credentials of its instance",
        source: "Calico node/windows-packaging/CalicoWindows/node/node-service.ps1",
        check: metadata,
    },
    Rule {
        code: "WN1106",
        severity: Severity::Warning,
        title: "The source/destination check of AWS",
        limit: "EC2 drops packets with pod addresses, which network types without an overlay send. Felix' awsSrcDstCheck disables the \
                check on Linux nodes only.",
        reads: "spec.providerID of nodes: AWS; spec.network.type of the WindowsNodeConfig",
        fix: "disable the source/destination check of each Windows instance",
        source: REQUIREMENTS,
        check: source_check,
    },
    Rule {
        code: "WN1107",
        severity: Severity::Info,
        title: "Hypervisors and MAC addresses",
        limit: "On an L2Bridge network HNS sends packets of pods with the MAC address of their node, so hypervisors should let them \
                pass. Microsoft's list of common problems recommends MAC address spoofing on virtual machines nevertheless.",
        reads: "spec.providerID of nodes: that of no cloud; spec.network.type of the WindowsNodeConfig",
        fix: "if packets of pods do not leave a virtual machine, allow MAC address spoofing on its adapter (Hyper-V: Set-VMNetworkAdapter \
               -MacAddressSpoofing On; vSphere: forged transmits)",
        source: "https://techcommunity.microsoft.com/blog/networkingblog/l2bridge-container-networking/1180923; \
                 https://learn.microsoft.com/en-us/virtualization/windowscontainers/kubernetes/common-problems",
        check: spoofing,
    },
    Rule {
        code: "WN1108",
        severity: Severity::Info,
        title: "The cloud's firewall and VXLAN",
        limit: "An overlay needs UDP 4789 between all nodes, Linux and Windows.",
        reads: "spec.providerID of nodes: AWS, GCE, Azure, DigitalOcean; spec.network.type of the WindowsNodeConfig",
        fix: "allow UDP 4789 between all nodes in the firewall rules of the cloud",
        source: REQUIREMENTS,
        check: firewall,
    },
    Rule {
        code: "WN1109",
        severity: Severity::Warning,
        title: "The operator is not tested with this version of Kubernetes",
        limit: "This version of the operator was not tested against the API server's minor version.",
        reads: "version of the API server",
        fix: "use a version of the operator that is tested with this minor; nothing is held back until then",
        source: "README.md, Compatibility",
        check: untested,
    },
    Rule {
        code: "WN1110",
        severity: Severity::Info,
        title: "BGP needs the role RemoteAccess",
        limit: "The role RemoteAccess with Routing provides BGP on Windows; without it or its service, confd stops.",
        reads: "spec.network.type of the WindowsNodeConfig",
        fix: "install the role on each Windows node (Install-WindowsFeature RemoteAccess, Routing; Install-RemoteAccess -VpnType \
                RoutingOnly)",
        source: REQUIREMENTS,
        check: remote_access,
    },
    Rule {
        code: "WN1111",
        severity: Severity::Error,
        title: "A release of Calico without BGP on Windows",
        limit: "From v3.30.3 until v3.31.5 and v3.32, Calico does not configure BGP on Windows nodes, so no route to their pods is \
                announced.",
        reads: "the image of calico-node or Typha on Linux nodes; Installation `default` status.calicoVersion; ClusterInformation `default` \
                spec.calicoVersion; spec.network.type of the WindowsNodeConfig",
        fix: "upgrade to v3.31.5, v3.32 or later",
        source: "projectcalico/calico#11714, fixed by #12063 and #11748; rancher/rke2#9286",
        check: no_bgp,
    },
];

fn platform(cluster: &Cluster) -> Option<Platform> {
    Some(platform::of(cluster.spec, cluster.observed)?.platform)
}

fn cloud(cluster: &Cluster) -> Option<Platform> {
    platform::cloud(cluster.spec, cluster.observed)
}

/// One hit for all Windows nodes.
fn nodes(message: Option<String>) -> Vec<Hit> {
    let hit = |message| Hit {
        object: NODES.to_owned(),
        field: None,
        message,
    };
    message.map(hit).into_iter().collect()
}

fn accepted(cluster: &Cluster) -> Vec<Hit> {
    let network = cluster.spec.network.type_;
    let objection = platform(cluster)
        .filter(|_| cluster.spec.platform.accept_unsupported)
        .and_then(|p| objection(p, network));
    objection
        .map(|what| {
            Hit::new(
                "WindowsNodeConfig default",
                "spec.platform.acceptUnsupported",
                what,
            )
        })
        .into_iter()
        .collect()
}

fn eks(cluster: &Cluster) -> Vec<Hit> {
    let it = platform(cluster).filter(|p| *p == Platform::Eks);
    nodes(it.map(|_| {
        "the kube-proxy of EKS's node images may run without DSR, which hides the sources of connections to a \
         ClusterIP from network policy"
            .to_owned()
    }))
}

fn eks_production(cluster: &Cluster) -> Vec<Hit> {
    let it = platform(cluster).filter(|p| *p == Platform::Eks);
    nodes(it.map(|_| "Calico for Windows on EKS is not for production".to_owned()))
}

fn aks(cluster: &Cluster) -> Vec<Hit> {
    let it = platform(cluster).filter(|p| *p == Platform::Aks);
    nodes(it.map(|_| {
        "Calico's network policy works on Windows nodes of AKS only if the cluster was created for it"
            .to_owned()
    }))
}

fn metadata(cluster: &Cluster) -> Vec<Hit> {
    let switch = !network::of(cluster.spec.network.type_).is_of_platform();
    let it = cloud(cluster).filter(|p| switch && matches!(p, Platform::Aws | Platform::Gce));
    nodes(it.map(|p| {
        format!(
            "the route to the metadata service 169.254.169.254 of {} is lost until Calico's agent restores it",
            name(p)
        )
    }))
}

fn source_check(cluster: &Cluster) -> Vec<Hit> {
    let type_ = cluster.spec.network.type_;
    let it = cloud(cluster).filter(|p| bridged(cluster) && *p == Platform::Aws);
    it.map(|_| {
        let message = format!(
            "EC2 drops packets with pod addresses, which {} sends",
            type_.as_str()
        );
        Hit::new("FelixConfiguration default", "spec.awsSrcDstCheck", message)
    })
    .into_iter()
    .collect()
}

fn spoofing(cluster: &Cluster) -> Vec<Hit> {
    let type_ = cluster.spec.network.type_;
    let own = platform(cluster).is_some() && cloud(cluster).is_none();
    nodes((own && bridged(cluster)).then(|| {
        format!(
            "with {} packets of pods have the MAC address of their node; if they do not leave a virtual machine all the same, look at \
             what its hypervisor allows",
            type_.as_str()
        )
    }))
}

fn firewall(cluster: &Cluster) -> Vec<Hit> {
    let it = cloud(cluster).filter(|_| network::of(cluster.spec.network.type_).is_overlay());
    nodes(it.map(|p| {
        format!(
            "the firewall of {} must allow UDP 4789 between nodes, which the overlay uses",
            name(p)
        )
    }))
}

fn bridged(cluster: &Cluster) -> bool {
    network::of(cluster.spec.network.type_).dataplane == Dataplane::L2Bridge
}

fn untested(cluster: &Cluster) -> Vec<Hit> {
    let found = platform::untested(cluster.observed);
    let hit = |message| Hit {
        object: "API server".to_owned(),
        field: None,
        message,
    };
    found.map(hit).into_iter().collect()
}

fn remote_access(cluster: &Cluster) -> Vec<Hit> {
    let bgp = cluster.backend == Some(Backend::Bgp);
    nodes(bgp.then(|| {
        "each Windows node needs the role RemoteAccess with Routing and its service, which the API does not show"
            .to_owned()
    }))
}

fn no_bgp(cluster: &Cluster) -> Vec<Hit> {
    let bgp = cluster.backend == Some(Backend::Bgp);
    let broken = cluster
        .calico()
        .filter(|calico| bgp && lacks_bgp(&calico.version));
    broken
        .map(|calico| {
            let message = format!(
                "Calico {} announces no route to pods on Windows nodes",
                calico.version
            );
            Hit::new(calico.object, calico.field, message)
        })
        .into_iter()
        .collect()
}

/// From v3.30.3 (calico#11714, rke2#9286) until it was fixed in v3.31.5 (calico#12063) and v3.32 (calico#11748).
fn lacks_bgp(version: &Version) -> bool {
    matches!(
        (version.major, version.minor, version.patch),
        (3, 30, 3..) | (3, 31, ..5)
    )
}
