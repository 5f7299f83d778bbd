//! What is done on each platform: one row each, from which the operator acts and the README's table is made.

use wn_api::spec::Platform;

/// Who runs what on Windows nodes of a platform, and how far Calico goes there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Behaviour {
    /// The platform runs Calico's agent itself.
    pub node_agent: bool,
    /// The platform runs kube-proxy itself.
    pub kube_proxy: bool,
    /// How far Calico for Windows works there.
    pub support: Support,
}

/// How far Calico for Windows works on a platform.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Support {
    /// Every network type.
    Full,
    /// The platform networks pods; Calico enforces policy on top.
    PolicyOnly,
    /// Calico for Windows does not support it.
    Refused,
}

/// Platforms that are machines and a network, on which any distribution may run.
pub const CLOUDS: [Platform; 4] = [
    Platform::Aws,
    Platform::Gce,
    Platform::Azure,
    Platform::DigitalOcean,
];

/// Tigera's documentation, "Limitations and known issues" of Calico for Windows.
pub const LIMITATIONS: &str =
    "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/limitations";

/// The row of a platform.
pub const fn behaviour(platform: Platform) -> Behaviour {
    let (node_agent, kube_proxy, support) = match platform {
        Platform::OnPremises | Platform::Aws | Platform::Gce | Platform::Azure | Platform::DigitalOcean => {
            (false, false, Support::Full)
        }
        // A Windows service of the Windows Machine Config Operator (`pkg/services/services.go`).
        Platform::OpenShift => (false, true, Support::Full),
        // Both inside rke2.exe (`pkg/executor/pebinary`, `pkg/windows/calico.go`).
        Platform::Rke2 => (true, true, Support::Full),
        // Windows services of the node images (AgentBaker `kubeproxystart.ps1`; EKS-optimised AMI).
        Platform::Aks | Platform::Eks => (false, true, Support::PolicyOnly),
        Platform::Gke => (false, true, Support::Refused),
        Platform::Iks | Platform::OpenStack | Platform::K3s => (false, false, Support::Refused),
    };
    Behaviour {
        node_agent,
        kube_proxy,
        support,
    }
}

/// How a platform is written, as its maker does.
pub const fn name(platform: Platform) -> &'static str {
    match platform {
        Platform::OnPremises => "on-premises",
        Platform::Aws => "AWS",
        Platform::Gce => "GCE",
        Platform::Azure => "Azure",
        Platform::DigitalOcean => "DigitalOcean",
        Platform::OpenShift => "OpenShift (WMCO)",
        Platform::Rke2 => "RKE2",
        Platform::Aks => "AKS",
        Platform::Eks => "EKS",
        Platform::Gke => "GKE",
        Platform::Iks => "IKS",
        Platform::OpenStack => "OpenStack",
        Platform::K3s => "K3s",
    }
}
