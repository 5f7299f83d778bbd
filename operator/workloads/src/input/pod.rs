//! Pods and templates of pods, reduced to the fields that are used. Fields have the meaning of the API.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::kubernetes::{Metadata, Requirement, Texts};

/// A `Pod`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Pod {
    pub metadata: Metadata,
    pub spec: PodSpec,
    pub status: PodStatus,
}

/// A template of pods.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodTemplate {
    pub metadata: Metadata,
    pub spec: PodSpec,
}

/// Spec of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: String,
    pub host_network: bool,
    #[serde(rename = "hostPID")]
    pub host_pid: bool,
    #[serde(rename = "hostIPC")]
    pub host_ipc: bool,
    pub host_users: Option<bool>,
    pub share_process_namespace: Option<bool>,
    pub service_account_name: String,
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
    pub os: Os,
    pub node_selector: Texts,
    pub affinity: Affinity,
    pub tolerations: Vec<Toleration>,
    pub runtime_class_name: String,
    pub dns_policy: String,
    pub dns_config: DnsConfig,
    pub security_context: SecurityContext,
    pub volumes: Vec<Volume>,
}

/// The operating system of a pod's containers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Os {
    /// `linux`, `windows`, or empty.
    pub name: String,
}

/// Affinity of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    pub node_affinity: NodeAffinity,
}

/// Affinity to nodes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
}

/// Terms of which one must match a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that a node must meet.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    pub match_expressions: Vec<Requirement>,
    pub match_fields: Vec<Requirement>,
}

/// A toleration of taints.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
}

/// DNS parameters of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct DnsConfig {
    pub searches: Vec<String>,
}

/// Security context of a pod or of a container.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct SecurityContext {
    pub windows_options: Option<WindowsOptions>,
    /// Every other field by name.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// Options for Windows.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct WindowsOptions {
    pub host_process: Option<bool>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    pub name: String,
    pub empty_dir: EmptyDir,
}

/// An `emptyDir` volume.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct EmptyDir {
    pub medium: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    pub image: String,
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub env: Vec<EnvVar>,
    pub ports: Vec<ContainerPort>,
    pub resources: Resources,
    pub liveness_probe: Probe,
    pub readiness_probe: Probe,
    pub startup_probe: Probe,
    pub lifecycle: Lifecycle,
    pub security_context: SecurityContext,
    pub volume_devices: Vec<Value>,
    pub volume_mounts: Vec<VolumeMount>,
}

/// An environment variable.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct EnvVar {
    pub name: String,
    pub value: String,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    pub name: String,
    pub container_port: u16,
    pub host_port: u16,
    pub protocol: Option<String>,
}

/// Resources of a container by name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Resources {
    pub limits: BTreeMap<String, Value>,
    pub requests: BTreeMap<String, Value>,
}

/// A probe, or a hook.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Probe {
    pub exec: Exec,
}

/// Hooks of a container.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Lifecycle {
    pub post_start: Probe,
    pub pre_stop: Probe,
}

/// A command that is run in the container.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Exec {
    pub command: Vec<String>,
}

/// A mount of a volume.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeMount {
    pub mount_propagation: String,
}

/// Status of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodStatus {
    pub phase: String,
    #[serde(rename = "podIP")]
    pub pod_ip: String,
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodIp>,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodIp {
    pub ip: String,
}
