//! `spec.platform`: what the cluster runs on, when it cannot be seen or is not to be believed.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a cluster runs on, as far as it matters to Windows networking.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Platform {
    /// Machines of no cloud, or none that is known.
    OnPremises,
    /// Self-managed on EC2.
    #[serde(rename = "AWS")]
    Aws,
    /// Self-managed on Compute Engine.
    #[serde(rename = "GCE")]
    Gce,
    /// Self-managed on Azure's virtual machines.
    Azure,
    /// Self-managed on Droplets.
    DigitalOcean,
    /// With the Windows Machine Config Operator.
    OpenShift,
    /// Rancher's RKE2.
    #[serde(rename = "RKE2")]
    Rke2,
    /// Azure Kubernetes Service.
    #[serde(rename = "AKS")]
    Aks,
    /// Amazon Elastic Kubernetes Service.
    #[serde(rename = "EKS")]
    Eks,
    /// Google Kubernetes Engine.
    #[serde(rename = "GKE")]
    Gke,
    /// IBM Cloud Kubernetes Service.
    #[serde(rename = "IKS")]
    Iks,
    /// Self-managed on OpenStack.
    OpenStack,
    /// K3s, which has no Windows agent.
    #[serde(rename = "K3s")]
    K3s,
}

impl Platform {
    /// Every platform, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::OnPremises,
        Self::Aws,
        Self::Gce,
        Self::Azure,
        Self::DigitalOcean,
        Self::OpenShift,
        Self::Rke2,
        Self::Aks,
        Self::Eks,
        Self::Gke,
        Self::Iks,
        Self::OpenStack,
        Self::K3s,
    ];
}

/// The platform, and whether to go on where it is unsupported.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformSettings {
    /// The platform, instead of the detected one that `status.platform` shows. Default: detected by labels, kubelet versions and
    /// provider IDs of Nodes.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    pub type_: Option<Platform>,

    /// Continue although Calico for Windows does not support the platform: the refusal becomes an advisory. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_unsupported: bool,
}
