//! `spec.networkAgent`: the DaemonSet that networks Windows nodes where Calico does not.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::workload::{Image, Management, Resources, SecretReference, Toleration, UpdateStrategy};

/// The DaemonSet that networks Windows nodes without Calico.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkAgent {
    /// Who runs the agent. `Auto` runs it unless someone else does, `Managed` runs it in any case,
    /// `External` never runs it. Default: Auto.
    #[serde(default)]
    pub management: Management,

    /// Image of the agent. No project publishes one: docs/images.md has the recipe, and `repository` and a tag or
    /// digest are required for the flannel types and `StaticRoutes`.
    #[serde(default)]
    pub image: Image,

    /// Pull secrets of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<SecretReference>,

    /// Compute resources of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// How the DaemonSet is rolled.
    #[serde(default)]
    pub update_strategy: UpdateStrategy,

    /// Tolerations instead of the default, which tolerates every taint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,
}
