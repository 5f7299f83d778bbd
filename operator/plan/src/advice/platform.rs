//! What a platform asks of Windows nodes that no API object shows, and what it does not support: `WN1101` and on.

use wn_api::spec::{NetworkType, Platform, WindowsNodeConfigSpec};
use wn_api::status::Severity;

use super::Advisory;
use crate::observed::Observed;
use crate::platform::{self, LIMITATIONS, name, objection};
use crate::version::Version;

const REQUIREMENTS: &str =
    "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/requirements";
const NODE_SERVICE: &str = "Calico node/windows-packaging/CalicoWindows/node/node-service.ps1";

pub fn advise(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Vec<Advisory> {
    let mut all = Vec::new();
    if let Some(found) = platform::of(spec, observed) {
        let (type_, platform) = (spec.network.type_, found.platform);
        if spec.platform.accept_unsupported {
            all.extend(accepted(type_, platform));
        }
        all.extend(managed(platform));
        all.extend(machines(type_, platform));
    }
    all.extend(untested(observed));
    all.extend(bgp(spec.network.type_, observed));
    all
}

fn nodes(code: &'static str, severity: Severity, message: String, source: &'static str) -> Advisory {
    Advisory {
        code,
        severity,
        object: "Windows nodes".to_owned(),
        field: None,
        message,
        source,
    }
}

/// A refusal that the user overruled.
fn accepted(type_: NetworkType, platform: Platform) -> Option<Advisory> {
    Some(Advisory {
        code: "WN1101",
        severity: Severity::Warning,
        object: "WindowsNodeConfig default".to_owned(),
        field: Some("spec.platform.acceptUnsupported"),
        message: format!("{}; the object says to go on", objection(platform, type_)?),
        source: LIMITATIONS,
    })
}

/// Managed clusters, whose kube-proxy and CNI plugin are the platform's.
fn managed(platform: Platform) -> Vec<Advisory> {
    match platform {
        Platform::Eks => vec![
            nodes(
                "WN1102",
                Severity::Warning,
                "the kube-proxy of EKS's node images may run without DSR: connections to a ClusterIP then come from the node's address, \
                 and network policy that selects their sources is not enforced; check --enable-dsr in the bootstrap's \
                 -KubeProxyExtraArgs"
                    .to_owned(),
                LIMITATIONS,
            ),
            nodes(
                "WN1103",
                Severity::Warning,
                "Calico for Windows on EKS is not for production".to_owned(),
                LIMITATIONS,
            ),
        ],
        Platform::Aks => vec![nodes(
            "WN1104",
            Severity::Info,
            "Calico's network policy works on Windows nodes of AKS only if the cluster was created with it and with Azure CNI".to_owned(),
            REQUIREMENTS,
        )],
        _ => Vec::new(),
    }
}

/// What the machines must allow; a firewall and a hypervisor are in no API object.
fn machines(type_: NetworkType, platform: Platform) -> Vec<Advisory> {
    let mut all = Vec::new();
    let switch = type_ != NetworkType::CloudProvider;
    if switch && matches!(platform, Platform::Aws | Platform::Gce) {
        let message = format!(
            "making the HNS switch takes the route to the metadata service 169.254.169.254 of {}; Calico's agent puts it back when it \
             starts: check from a pod that needs credentials of its instance",
            name(platform)
        );
        all.push(nodes("WN1105", Severity::Info, message, NODE_SERVICE));
    }
    if bridged(type_) && platform == Platform::Aws {
        all.push(Advisory {
            code: "WN1106",
            severity: Severity::Warning,
            object: "FelixConfiguration default".to_owned(),
            field: Some("spec.awsSrcDstCheck"),
            message: format!(
                "EC2 drops packets with addresses of pods, which {} sends as they are: switch the source/destination check off on each \
                 Windows instance; awsSrcDstCheck does so on Linux nodes only",
                type_.as_str()
            ),
            source: REQUIREMENTS,
        });
    }
    if bridged(type_) && platform == Platform::OnPremises {
        let message = format!(
            "{}: if packets of pods do not leave a virtual machine, allow MAC address spoofing on its adapter (Hyper-V: Set-VMNetworkAdapter \
             -MacAddressSpoofing On; vSphere: forged transmits)",
            type_.as_str()
        );
        all.push(nodes(
            "WN1107",
            Severity::Info,
            message,
            "https://learn.microsoft.com/en-us/virtualization/windowscontainers/kubernetes/common-problems",
        ));
    }
    let clouds = [
        Platform::Aws,
        Platform::Gce,
        Platform::Azure,
        Platform::DigitalOcean,
    ];
    if overlay(type_) && clouds.contains(&platform) {
        let message = format!(
            "the firewall rules of {} must let UDP 4789 through between all nodes, Linux and Windows",
            name(platform)
        );
        all.push(nodes("WN1108", Severity::Info, message, REQUIREMENTS));
    }
    all
}

/// HNS network of type L2Bridge.
fn bridged(type_: NetworkType) -> bool {
    matches!(
        type_,
        NetworkType::CalicoBgp | NetworkType::FlannelHostGateway | NetworkType::StaticRoutes
    )
}

fn overlay(type_: NetworkType) -> bool {
    matches!(type_, NetworkType::CalicoVxlan | NetworkType::FlannelVxlan)
}

fn untested(observed: &Observed) -> Option<Advisory> {
    Some(Advisory {
        code: "WN1109",
        severity: Severity::Warning,
        object: "API server".to_owned(),
        field: None,
        message: format!(
            "{}: it works on as it is, use a version of the operator that knows this minor",
            platform::untested(observed)?
        ),
        source: "README.md, Compatibility",
    })
}

fn bgp(type_: NetworkType, observed: &Observed) -> Vec<Advisory> {
    if type_ != NetworkType::CalicoBgp {
        return Vec::new();
    }
    let role = nodes(
        "WN1110",
        Severity::Info,
        "each Windows node needs the role RemoteAccess with Routing (Install-WindowsFeature RemoteAccess, Routing; Install-RemoteAccess \
         -VpnType RoutingOnly), and its service running: confd stops without it, and the API does not show it"
            .to_owned(),
        REQUIREMENTS,
    );
    let version = observed.calico.cluster_information.as_ref();
    let version = version.and_then(|c| c.calico_version.parse().ok());
    let broken = version.filter(no_bgp_on_windows).map(|version| Advisory {
        code: "WN1111",
        severity: Severity::Error,
        object: "ClusterInformation default".to_owned(),
        field: Some("spec.calicoVersion"),
        message: format!(
            "Calico {version} configures no BGP on Windows nodes, so no route to their pods is announced: upgrade to v3.31.5, v3.32 or later"
        ),
        source: "https://github.com/projectcalico/calico/issues/11714",
    });
    std::iter::once(role).chain(broken).collect()
}

/// From v3.30.3 (calico#11714, rke2#9286) until it was mended in v3.31.5 (calico#12063) and v3.32 (calico#11748).
fn no_bgp_on_windows(version: &Version) -> bool {
    matches!(
        (version.major, version.minor, version.patch),
        (3, 30, 3..) | (3, 31, ..5)
    )
}
