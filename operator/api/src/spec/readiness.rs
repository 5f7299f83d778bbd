//! `spec.readiness` and `spec.status`: what is made of the verdicts on the nodes.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a Windows node carries the taint `readiness.k8s.io/windows-network=pending:NoSchedule`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TaintMode {
    #[default]
    None,
    Startup,
    Continuous,
}

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Readiness {
    /// Taint `readiness.k8s.io/windows-network=pending:NoSchedule` on Windows nodes: `None` sets none;
    /// `Startup` sets it on a node seen for the first time that is not ready, and takes it off for good when
    /// it becomes ready; `Continuous` sets it whenever a node is not ready. Other taints are never touched.
    /// Default: None.
    #[serde(default)]
    pub taint: TaintMode,
}

#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusSettings {
    /// Most nodes in `status.nodes.list`, those not ready first. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 500))]
    pub node_list_limit: Option<u32>,
}
