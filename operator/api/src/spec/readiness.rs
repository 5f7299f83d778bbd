//! `spec.readiness`: what is made of the verdicts on the nodes.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
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

    /// How many of the selected Windows nodes must be ready for condition `Ready`: a number, or a percentage (rounded up). A number
    /// above the count of nodes means all of them. Also how many must run the newest pods for the conditions of the DaemonSets.
    /// `0` makes `Ready` independent of nodes. Default: 100%.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "min_ready_nodes")]
    pub min_ready_nodes: Option<IntOrString>,
}

/// As `maxUnavailable` of a DaemonSet, and none of the nodes, too.
fn min_ready_nodes(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": 0,
        "maximum": 9999,
        "maxLength": 4,
        "pattern": "^([0-9]{1,4}|[1-9]?[0-9]%|100%)$",
    })
}
