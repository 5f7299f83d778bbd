//! `spec.workloads`: what is reported about policies, Services and pods.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the operator looks at policies, Services and pods.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Lint {
    /// Report what Windows does differently with them.
    #[default]
    Enabled,
    /// Neither read nor report them.
    Disabled,
}

/// What the operator reports about the network policies, Services and pods of the cluster.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workloads {
    /// `Enabled` reports policies, Services and pods that Windows treats differently in `status.workloads`, in the condition
    /// `WorkloadsSupported`, in metrics and in Events on these objects. The operator changes none of them, and no finding affects
    /// `Ready`. The chart's value `workloads.lint.enabled` grants the rights to read them. `Disabled` reads and reports nothing.
    /// Default: Enabled.
    #[serde(default)]
    pub lint: Lint,
}
