//! `spec.platform`: what the cluster runs on, when it cannot be seen or is not to be believed.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a cluster runs on, as far as it matters to Windows networking.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Platform {
    OnPremises,
    /// Self-managed on EC2.
    #[serde(rename = "AWS")]
    Aws,
    /// Self-managed on Compute Engine.
    #[serde(rename = "GCE")]
    Gce,
    /// Self-managed on Azure's virtual machines.
    Azure,
    DigitalOcean,
    /// With the Windows Machine Config Operator.
    OpenShift,
    #[serde(rename = "RKE2")]
    Rke2,
    #[serde(rename = "AKS")]
    Aks,
    #[serde(rename = "EKS")]
    Eks,
    #[serde(rename = "GKE")]
    Gke,
    /// IBM Cloud Kubernetes Service.
    #[serde(rename = "IKS")]
    Iks,
    OpenStack,
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

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformSettings {
    /// The platform instead of the one found, which `status.platform` shows. Default: found by what platforms leave on
    /// their Nodes.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "type")]
    pub type_: Option<Platform>,

    /// Go on although Calico for Windows does not support the platform: the refusal becomes an advisory. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_unsupported: bool,
}
