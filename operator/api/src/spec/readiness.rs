//! `spec.readiness` and `spec.status`: what is made of the verdicts on the nodes.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a Windows node carries the taint `readiness.k8s.io/windows-network=pending:NoSchedule`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TaintMode {
    /// Never.
    #[default]
    None,
    /// Until the node is ready for the first time.
    Startup,
    /// Whenever the node is not ready.
    Continuous,
}

/// How nodes that are not ready keep pods away.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Readiness {
    /// Taint `readiness.k8s.io/windows-network=pending:NoSchedule` on Windows nodes: `None` sets none; `Startup` sets it on a
    /// node seen for the first time that is not ready, and removes it for good when it becomes ready; `Continuous` sets it
    /// whenever a node is not ready. Other taints are never touched. Default: None.
    #[serde(default)]
    pub taint: TaintMode,
}

/// What the status of this object shows.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusSettings {
    /// Most nodes in `status.nodes.list`, those not ready first. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 500))]
    pub node_list_limit: Option<u32>,
}
