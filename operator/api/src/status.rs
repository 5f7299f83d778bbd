//! `WindowsNodeConfig.status`: what was found, what was done, what works.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calico::{CalicoApi, ConfigKind};
use crate::component::Component;

/// What was found, what was done, what works. Written by the operator only.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowsNodeConfigStatus {
    /// The `metadata.generation` that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Ready`, `Reconciling` and `Stalled` as kstatus defines them, and one condition for each concern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// The addresses that Windows nodes use, and where they were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputsStatus>,

    /// What the cluster runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformStatus>,

    /// Calico as found, and the values to restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calico: Option<CalicoStatus>,

    /// The DaemonSet of Calico's node agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_agent: Option<WorkloadStatus>,

    /// The DaemonSet that networks Windows nodes where Calico does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_agent: Option<WorkloadStatus>,

    /// The DaemonSet of kube-proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_proxy: Option<WorkloadStatus>,

    /// The Windows nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesStatus>,

    /// What limits Windows nodes in this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisories: Option<AdvisoriesStatus>,

    /// What Windows does differently with network policies, Services and pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workloads: Option<WorkloadsStatus>,

    /// `mode: Observe` only: what `Manage` would write, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_changes: Vec<String>,
}

impl WindowsNodeConfigStatus {
    /// The status of a component; `None` before the first pass.
    pub const fn component(&self, component: Component) -> Option<&WorkloadStatus> {
        match component {
            Component::NetworkAgent => self.network_agent.as_ref(),
            Component::NodeAgent => self.node_agent.as_ref(),
            Component::KubeProxy => self.kube_proxy.as_ref(),
        }
    }
}

/// Discovered or given values.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputList {
    /// The values in use, in order.
    pub values: Vec<String>,
    /// Where they come from: a field of `spec`, or the object they were read from.
    pub source: String,
}

/// A discovered or given value.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// The value in use.
    pub value: String,
    /// Where it comes from: a field of `spec`, or the object it was read from.
    pub source: String,
}

/// The addresses that Windows nodes use.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputsStatus {
    /// `host:port` of the API server that Windows nodes use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<Input>,
    /// Service CIDRs.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "serviceCIDRs")]
    pub service_cidrs: Option<InputList>,
    /// DNS servers.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "clusterDNS")]
    pub cluster_dns: Option<InputList>,
    /// DNS search list of Windows pods.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "dnsSearch")]
    pub dns_search: Option<InputList>,
}

/// The platform, and how it was detected.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformStatus {
    /// Name of the platform, e.g. `EKS`.
    pub name: String,
    /// How the platform was detected, or the field of `spec` that sets it.
    pub source: String,
}

/// How much an advisory matters.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Severity {
    /// Something does not work on Windows nodes.
    Error,
    /// Something works partly, or is a risk.
    Warning,
    /// Worth knowing.
    Info,
}

/// The advisories of this cluster.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdvisoriesStatus {
    /// How many there are by severity, e.g. `1 Error, 2 Warning`.
    pub summary: String,
    /// The most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<AdvisoryStatus>,
    /// Advisories that did not fit into `list`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: i32,
}

/// One limit of Windows nodes that this cluster runs into.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdvisoryStatus {
    /// `WN1` and three digits; docs/advisories.md explains it.
    pub code: String,
    /// How much the advisory matters.
    pub severity: Severity,
    /// Kind and name of the object. For many objects of a kind, the kind alone; the message names them.
    pub object: String,
    /// Field of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is limited and what to do, as one sentence.
    pub message: String,
    /// Where the limit is documented.
    pub source: String,
}

/// The findings about network policies, Services and pods.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadsStatus {
    /// How many findings there are by severity, e.g. `1 Error, 2 Warning`.
    pub summary: String,
    /// How many findings there are by code and severity, the most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<FindingCount>,
    /// The most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<FindingStatus>,
    /// Findings that did not fit into `list`; `lint --cluster` prints all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: i32,
    /// Kinds that cannot be listed, as `plural.group`; findings do not know their objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_kinds: Vec<String>,
    /// Objects that cannot be read because a field has an invalid value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable_objects: i32,
}

/// How many findings of a code and a severity there are.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingCount {
    /// `WN` and four digits; docs/findings.md explains it.
    pub code: String,
    /// Severity of these findings.
    pub severity: Severity,
    /// Number of findings.
    pub count: i32,
}

/// What Windows does differently with one object.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingStatus {
    /// `WN` and four digits: 2 is a policy, 3 a Service, 4 a pod; docs/findings.md explains it.
    pub code: String,
    /// How much the finding matters.
    pub severity: Severity,
    /// Kind and name of the object, with its namespace.
    pub object: String,
    /// Field of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The effect on Windows and what to do, in at most 400 characters.
    pub message: String,
}

/// Calico as found, and the original values of the fields that the operator set.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CalicoStatus {
    /// API group and version in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<CalicoApi>,
    /// Calico's release on Linux nodes: from the image of calico-node or Typha, from `status.calicoVersion` of the
    /// `Installation`, or from `ClusterInformation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Each field the operator manages, with the value to restore on delete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub originals: Vec<Original>,
}

/// A managed field of a Calico object, stored before the first write to it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Original {
    /// Kind of the object, as Calico's v3 API names it.
    pub kind: ConfigKind,
    /// Name of the object.
    pub name: String,
    /// Field below `spec`, e.g. `strictAffinity`.
    pub field: String,
    /// The value before the operator's first write; missing when the field was absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_value")]
    pub previous: Option<Value>,
    /// The value the operator set.
    #[schemars(schema_with = "any_value")]
    pub applied: Value,
    /// The value the operator set earlier, as long as the field still has it: `applied` is stored before it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_value")]
    pub replaces: Option<Value>,
    /// True when the object did not exist and the operator created it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// True when the field had the operator's value from an earlier `WindowsNodeConfig`, so that the value before that is
    /// not known and the field is not restored; see `spec.calico.originals`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// `metadata.uid` of the object, so that another object of that name does not inherit the entry; missing until an
    /// object that the operator created was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// API of Calico in which the object has this uid. The same object has another uid in another API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<CalicoApi>,
}

/// Calico's fields are booleans, integers and strings; a schema cannot say "one of these" structurally.
pub(crate) fn any_value(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// The DaemonSet of a component, and how far it is rolled out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// `Managed`, or `External` when someone else runs it.
    pub management: String,
    /// Who runs it and how that is known, when `External`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// `namespace/name` of the DaemonSet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_set: Option<String>,
    /// Version of Calico or of kube-proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Image in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Arguments of kube-proxy that the operator sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Windows nodes that should run the pod.
    #[serde(default)]
    pub desired: i32,
    /// Nodes that run the newest pod template.
    #[serde(default)]
    pub updated: i32,
    /// Nodes whose pod is ready.
    #[serde(default)]
    pub ready: i32,
    /// Each DaemonSet, if there are several: kube-proxy has one for each group of nodes that need other arguments. The fields
    /// above then describe the first one, and the counts are sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupStatus>,
}

/// One of several DaemonSets of a component.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupStatus {
    /// `namespace/name` of the DaemonSet.
    pub daemon_set: String,
    /// Version of kube-proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Image in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Arguments of kube-proxy that the operator sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Windows nodes of the group.
    #[serde(default)]
    pub desired: i32,
    /// Nodes of the group that run the newest pod template.
    #[serde(default)]
    pub updated: i32,
    /// Nodes of the group whose pod is ready.
    #[serde(default)]
    pub ready: i32,
}

/// Counts of Windows nodes, and the unhealthiest ones.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodesStatus {
    /// Ready nodes of the selected nodes, e.g. `9/10`, for the print column.
    pub summary: String,
    /// Windows nodes in the cluster, selected or not.
    pub total: i32,
    /// Windows nodes that `spec.nodeSelector` does not select: the operator runs nothing on them, and they are not judged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_selected: i32,
    /// Windows nodes whose pods have working networking and Services, as far as the API shows, including the nodes counted in
    /// `unknown`.
    pub ready: i32,
    /// Nodes that are coming up, within the usual time.
    #[serde(default)]
    pub progressing: i32,
    /// Nodes that do not work.
    #[serde(default)]
    pub failing: i32,
    /// Nodes counted as ready whose health is only partly known.
    #[serde(default)]
    pub unknown: i32,
    /// How often each reason was found; one node may have several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonCount>,
    /// Nodes not ready first, then by name; as many as `spec.nodeListLimit`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<NodeStatus>,
    /// Nodes that did not fit into `list`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: i32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &i32) -> bool {
    *n == 0
}

/// On how many nodes a reason was found.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonCount {
    /// One word; docs/reasons.md explains it.
    pub reason: String,
    /// Nodes it was found on.
    pub nodes: i32,
    /// Names of the first three of them.
    pub names: Vec<String>,
}

/// One Windows node.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Name of the Node.
    pub name: String,
    /// Whether it works.
    pub ready: bool,
    /// `Ready`, `Unknown`, `Progressing`, `Failing` or `NotSelected`.
    #[serde(default)]
    pub state: String,
    /// Why not, as one word; missing when ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why not and what to do, as one sentence; missing when ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when the Node's condition has its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// What else was found, by rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Advice, which does not affect readiness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// Windows build and patch level, e.g. `10.0.20348.3207`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_build: Option<String>,
    /// Version of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<String>,
}
