//! Pods and templates of pods, reduced to the fields that are used. Fields have the meaning of the API.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::kubernetes::{self, OwnerReference, Requirement, Texts};
use crate::net;

/// A `Pod`, and what it shares with other pods of its template.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(from = "Object")]
pub struct Pod {
    pub class: Arc<PodClass>,
    /// Name of its node; empty if it is not scheduled.
    pub node: Arc<str>,
    pub addresses: Addresses,
    /// Whether its containers have ended for good.
    pub is_finished: bool,
    /// Whether its network is gone, so that Felix has no endpoint for it.
    pub has_left_network: bool,
}

/// What pods of one template have in common.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct PodClass {
    pub labels: Texts,
    pub controller: Option<OwnerReference>,
    /// Without `nodeName`.
    pub spec: PodSpec,
}

/// IPv4 addresses of a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Addresses {
    /// An address of the pod is not valid.
    Invalid,
    One(Ipv4Addr),
    /// None or several.
    Several(Box<[Ipv4Addr]>),
}

impl Addresses {
    /// The addresses; `None` if one is invalid.
    pub fn get(&self) -> Option<&[Ipv4Addr]> {
        match self {
            Self::Invalid => None,
            Self::One(address) => Some(std::slice::from_ref(address)),
            Self::Several(addresses) => Some(addresses),
        }
    }
}

/// The object as the API has it.
#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: PodMetadata,
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

/// Metadata of a pod.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodMetadata {
    labels: Texts,
    annotations: Texts,
    deletion_timestamp: Option<String>,
    #[serde(rename = "ownerReferences", deserialize_with = "kubernetes::controller")]
    controller: Option<OwnerReference>,
}

/// Annotations with the addresses of a pod.
const ADDRESSES: [&str; 3] = [
    "cni.projectcalico.org/podIPs",
    "cni.projectcalico.org/podIP",
    "vpc.amazonaws.com/pod-ips",
];
/// Annotations that are emptied when a pod loses its addresses.
const EMPTIED: [&str; 2] = ["cni.projectcalico.org/podIP", "vpc.amazonaws.com/pod-ips"];

impl From<Object> for Pod {
    fn from(object: Object) -> Self {
        let (addresses, has_left_network) = (object.addresses(), object.has_left_network());
        let Object {
            metadata,
            mut spec,
            status,
        } = object;
        Self {
            node: std::mem::take(&mut spec.node_name).into(),
            class: Arc::new(PodClass {
                labels: metadata.labels,
                controller: metadata.controller,
                spec,
            }),
            addresses,
            is_finished: matches!(status.phase.as_str(), "Failed" | "Succeeded"),
            has_left_network,
        }
    }
}

impl Object {
    fn has_left_network(&self) -> bool {
        let emptied = |annotation: &str| {
            self.metadata
                .annotations
                .get(annotation)
                .is_some_and(str::is_empty)
        };
        let is_deleted = self.metadata.deletion_timestamp.is_some();
        (is_deleted && EMPTIED.into_iter().any(emptied))
            || matches!(self.status.phase.as_str(), "Failed" | "Succeeded" | "Completed")
    }

    fn addresses(&self) -> Addresses {
        let status = &self.status;
        let texts: Vec<&str> = if !status.pod_ips.is_empty() {
            status.pod_ips.iter().map(|ip| ip.ip.as_str()).collect()
        } else if !status.pod_ip.is_empty() {
            vec![&status.pod_ip]
        } else {
            let annotations = &self.metadata.annotations;
            let mut values = ADDRESSES.iter().filter_map(|name| annotations.get(name));
            let listed = values.find(|text| !text.is_empty());
            listed.map(|text| text.split(',').collect()).unwrap_or_default()
        };
        let parsed: Option<Vec<IpAddr>> = texts.iter().map(|text| Some(net::parse(text)?.0)).collect();
        let Some(parsed) = parsed else {
            return Addresses::Invalid;
        };
        let of_version_4 = parsed.into_iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        let all: Box<[Ipv4Addr]> = of_version_4.collect();
        match *all {
            [one] => Addresses::One(one),
            _ => Addresses::Several(all),
        }
    }
}

/// A template of pods.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PodTemplate {
    pub metadata: TemplateMetadata,
    pub spec: PodSpec,
}

/// Metadata of a template.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct TemplateMetadata {
    pub labels: Texts,
}

/// Spec of a pod.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
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
    #[serde(deserialize_with = "volumes")]
    pub volumes: Vec<Volume>,
}

/// The operating system of a pod's containers.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Os {
    /// `linux`, `windows`, or empty.
    pub name: String,
}

/// Affinity of a pod.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Affinity {
    pub node_affinity: NodeAffinity,
}

/// Affinity to nodes.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
}

/// Terms of which one must match a node.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelector {
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that a node must meet.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    pub match_expressions: Vec<Requirement>,
    pub match_fields: Vec<Requirement>,
}

/// A toleration of taints.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
}

/// DNS parameters of a pod.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct DnsConfig {
    pub searches: Vec<String>,
}

/// Security context of a pod or of a container.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct SecurityContext {
    pub windows_options: Option<WindowsOptions>,
    /// Every other field that is set.
    #[serde(flatten)]
    pub others: SetFields,
}

/// Names of fields that are set, sorted. An empty list counts as not set.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct SetFields(Box<[Box<str>]>);

impl SetFields {
    /// Whether the field is set.
    pub fn contains(&self, name: &str) -> bool {
        self.0.binary_search_by(|field| (**field).cmp(name)).is_ok()
    }
}

impl<'de> Deserialize<'de> for SetFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields: BTreeMap<Box<str>, Value> = Deserialize::deserialize(deserializer)?;
        let is_set = |value: &Value| value.as_array().is_none_or(|list| !list.is_empty());
        let names = fields.into_iter().filter(|(_, value)| is_set(value));
        Ok(Self(names.map(|(name, _)| name).collect()))
    }
}

/// Options for Windows.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct WindowsOptions {
    pub host_process: Option<bool>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    pub name: String,
    pub empty_dir: EmptyDir,
}

/// Names of other volumes differ between pods of a template, and no check reads them.
fn volumes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Volume>, D::Error> {
    let mut volumes: Vec<Volume> = Deserialize::deserialize(deserializer)?;
    for volume in volumes.iter_mut().filter(|volume| !volume.is_in_memory()) {
        *volume = Volume::default();
    }
    let used = volumes.iter().rposition(Volume::is_in_memory);
    volumes.truncate(used.map_or(0, |last| last + 1));
    volumes.shrink_to_fit();
    Ok(volumes)
}

impl Volume {
    /// Whether the volume is an `emptyDir` in memory.
    pub fn is_in_memory(&self) -> bool {
        self.empty_dir.medium == "Memory"
    }
}

/// An `emptyDir` volume.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct EmptyDir {
    pub medium: String,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
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
    #[serde(rename = "volumeDevices", deserialize_with = "is_any")]
    pub has_volume_devices: bool,
    #[serde(deserialize_with = "mounts")]
    pub volume_mounts: Vec<VolumeMount>,
}

fn is_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let list: Vec<IgnoredAny> = Deserialize::deserialize(deserializer)?;
    Ok(!list.is_empty())
}

/// The mounts up to the last one that is propagated.
fn mounts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<VolumeMount>, D::Error> {
    let mut mounts: Vec<VolumeMount> = Deserialize::deserialize(deserializer)?;
    let used = mounts.iter().rposition(VolumeMount::is_propagated);
    mounts.truncate(used.map_or(0, |last| last + 1));
    mounts.shrink_to_fit();
    Ok(mounts)
}

/// An environment variable.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct EnvVar {
    pub name: String,
    pub value: String,
}

/// A port of a container.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    pub name: String,
    pub container_port: u16,
    pub host_port: u16,
    pub protocol: Option<String>,
}

/// Names of the huge pages of a container.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Resources {
    #[serde(deserialize_with = "huge_pages")]
    pub limits: Vec<String>,
    #[serde(deserialize_with = "huge_pages")]
    pub requests: Vec<String>,
}

/// Sorted names.
fn huge_pages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let resources: BTreeMap<String, IgnoredAny> = Deserialize::deserialize(deserializer)?;
    let names = resources
        .into_keys()
        .filter(|name| name.starts_with("hugepages-"));
    Ok(names.collect())
}

/// A probe, or a hook.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Probe {
    pub exec: Exec,
}

/// Hooks of a container.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Lifecycle {
    pub post_start: Probe,
    pub pre_stop: Probe,
}

/// A command that is run in the container.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default)]
pub struct Exec {
    pub command: Vec<String>,
}

/// A mount of a volume.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeMount {
    pub mount_propagation: String,
}

impl VolumeMount {
    /// Whether mounts in the volume are propagated.
    pub fn is_propagated(&self) -> bool {
        !matches!(self.mount_propagation.as_str(), "" | "None")
    }
}

/// Status of a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: String,
    #[serde(rename = "podIPs")]
    pod_ips: Vec<PodIp>,
}

/// An address of a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PodIp {
    ip: String,
}
