//! `spec.nodeAgent` and `spec.kubeProxy`: the two DaemonSets on Windows nodes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::Quantity;

/// Who runs a DaemonSet.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Management {
    /// Run it unless somebody else does.
    #[default]
    Auto,
    /// Run it whoever else does.
    Managed,
    /// Never run it.
    External,
}

/// Direct server return in kube-proxy.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Dsr {
    /// On each node whose build of Windows supports it.
    #[default]
    Auto,
    /// On every node.
    Enabled,
    /// On no node.
    Disabled,
}

/// When the kubelet pulls the image. Default: IfNotPresent.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum PullPolicy {
    /// Ask the registry whenever a container starts.
    Always,
    /// Pull an image that the node does not have.
    IfNotPresent,
    /// Never pull.
    Never,
}

/// Log level of the agent and of the CNI plugin. Default: for Felix that of FelixConfiguration, for the others Info.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum LogLevel {
    /// For developers of Calico.
    Debug,
    /// The default of Calico's programs.
    #[default]
    Info,
    /// Warnings and errors.
    Warning,
    /// Errors only.
    Error,
}

/// How a DaemonSet replaces its pods.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum UpdateStrategyType {
    /// Node by node.
    #[default]
    RollingUpdate,
    /// When somebody deletes a pod.
    OnDelete,
}

/// `Exists` or `Equal`. Default: Equal.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TolerationOperator {
    /// The key is the same.
    Exists,
    /// Key and value are the same.
    Equal,
}

/// Taint effect. Default: every effect.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum TolerationEffect {
    /// Pods are not scheduled.
    NoSchedule,
    /// Pods are scheduled elsewhere if possible.
    PreferNoSchedule,
    /// Pods are not scheduled, and running ones are evicted.
    NoExecute,
}

/// An image by registry, repository, and tag or digest.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = ("!(has(self.tag) && has(self.digest))", "set tag or digest, not both"))]
pub struct Image {
    /// Registry of the image, e.g. `quay.io`. Takes precedence over `spec.imageRegistry`. Default: upstream's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9._/-]+)?$")
    )]
    pub registry: Option<String>,

    /// Repository without registry, e.g. `calico/node-windows`. For the node agent, a repository that ends
    /// in `node-windows`: the CNI image is its sibling `cni-windows`. Default: upstream's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = "^[a-z0-9]+([._/-][a-z0-9]+)*$"))]
    pub repository: Option<String>,

    /// Tag. Default: for the node agent Calico's version, for kube-proxy `<version>-calico-hostprocess`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]*$"))]
    pub tag: Option<String>,

    /// Digest `sha256:<64 hex digits>` instead of a tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = "^sha256:[a-f0-9]{64}$"))]
    pub digest: Option<String>,

    /// When the kubelet pulls the image. Default: IfNotPresent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
}

/// Name of a Secret in the operator's namespace.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretReference {
    /// Name of the Secret, of type `kubernetes.io/dockerconfigjson`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Compute resources of each container.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// Requests of each container, as Kubernetes quantities, e.g. `cpu: 100m` or `cpu: 1`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 8))]
    pub requests: BTreeMap<String, Quantity>,

    /// Limits of each container, as Kubernetes quantities, e.g. `memory: 500Mi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 8))]
    pub limits: BTreeMap<String, Quantity>,
}

/// How a DaemonSet is rolled out.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateStrategy {
    /// `RollingUpdate` or `OnDelete`. Default: RollingUpdate.
    #[serde(default, rename = "type")]
    pub type_: UpdateStrategyType,

    /// How many nodes may be without the pod during a rolling update: a number or a percentage. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "max_unavailable")]
    pub max_unavailable: Option<IntOrString>,
}

/// A number or a percentage, as in a DaemonSet, but never none: a roll-out could not begin.
fn max_unavailable(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": 1,
        "maximum": 9999,
        "maxLength": 4,
        "pattern": "^([1-9][0-9]{0,3}|[1-9][0-9]?%|100%)$",
    })
}

/// An extra toleration; both DaemonSets tolerate every taint by default.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Toleration {
    /// Taint key. Empty with `operator: Exists` matches every key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 316))]
    pub key: Option<String>,
    /// `Exists` or `Equal`. Default: Equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// Taint value, for `Equal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// Taint effect. Default: every effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<TolerationEffect>,
}

/// An environment variable.
#[derive(Clone, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variable {
    /// Name, e.g. `IP_AUTODETECTION_METHOD`.
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Value as text; quote numbers and booleans.
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// The DaemonSet of Calico's node agent.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = ("!has(self.image) || !has(self.image.digest)", "a digest cannot name two images (node-windows and cni-windows): set image.tag instead"))]
#[x_kube(validation = ("!has(self.image) || !has(self.image.repository) || self.image.repository.endsWith('node-windows')", "image.repository must end in node-windows: its sibling cni-windows is used too"))]
pub struct NodeAgent {
    /// Who runs the agent. `Auto` runs it unless someone else does, `Managed` runs it unless tigera/operator runs its own
    /// (`AgentsOverlap`), `External` never runs it. Two agents on one node delete each other's HNS networks. Default: Auto.
    #[serde(default)]
    pub management: Management,

    /// Image of the agent. Default: `quay.io/calico/node-windows:<Calico version>`
    /// (`docker.io` up to v3.29) and its sibling `cni-windows`.
    #[serde(default)]
    pub image: Image,

    /// Pull secrets of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<SecretReference>,

    /// Compute resources of each container of the agent. Default: requests of CPU, 150m for `felix` and 50m for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// How the DaemonSet is rolled.
    #[serde(default)]
    pub update_strategy: UpdateStrategy,

    /// Tolerations instead of the default, which tolerates every taint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,

    /// Log level of the agent and of the CNI plugin. Default: for Felix that of FelixConfiguration, for the others Info.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LogLevel>,

    /// Further environment variables of the containers `node`, `felix` and `confd`, e.g. `IP_AUTODETECTION_METHOD` for nodes in
    /// several networks; those the operator sets itself are refused. They take precedence over FelixConfiguration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub env: Vec<Variable>,

    /// Folder of CNI binaries on the node; must equal `bin_dir` of containerd's configuration.
    /// Default: `/opt/cni/bin` (on drive C:).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub cni_bin_dir: Option<String>,

    /// Folder of CNI configuration on the node; must equal `conf_dir` of containerd's configuration.
    /// Default: `/etc/cni/net.d` (on drive C:).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub cni_conf_dir: Option<String>,

    /// Network adapter for the HNS network `External`, as `Get-NetAdapter` names it. For `CalicoVXLAN`
    /// only. Default: the adapter with the default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub vxlan_adapter: Option<String>,

    /// First two bytes of the MAC addresses of pods, e.g. `0E-2A`. For `CalicoVXLAN` only. Default: 0E-2A.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "vxlanMACPrefix")]
    #[schemars(length(min = 5, max = 5), regex(pattern = "^[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}$"))]
    pub vxlan_mac_prefix: Option<String>,

    /// One HNS network and one block of addresses for each node (`windows_use_single_network` of the CNI plugin). `false` allows
    /// several blocks on a node, for more pods than one block has addresses, but kube-proxy serves one network only: pods of the
    /// others have no Services. Set it before there are pods on a node, because a later change leaves HNS endpoints behind. For
    /// `CalicoVXLAN` and `CalicoBGP` only. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_single_network: Option<bool>,

    /// NAT for traffic to the node and its subnet (`windows_disable_host_subnet_nat_exclusion` of the CNI plugin). Set it to
    /// `true` if pods must reach machines in the node's subnet that have no route to pods. Other nodes then see the node's
    /// address instead of the pod's. Applies to pods created afterwards. For `CalicoVXLAN` and `CalicoBGP` only. Default: false.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "disableHostSubnetNATExclusion"
    )]
    pub disable_host_subnet_nat_exclusion: Option<bool>,
}

/// The DaemonSet of kube-proxy.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeProxy {
    /// Who runs kube-proxy on Windows nodes. `Auto` runs it unless the platform or another
    /// DaemonSet does, `Managed` runs it in any case, `External` never runs it. Default: Auto.
    #[serde(default)]
    pub management: Management,

    /// Kubernetes version of kube-proxy, e.g. `v1.33.4`; not newer than the API server and at most three
    /// minors older. Default: the lowest kubelet version among the selected Windows nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub version: Option<String>,

    /// Image of kube-proxy. Default: `docker.io/sigwindowstools/kube-proxy:<version>-calico-hostprocess`.
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

    /// Direct server return. `Auto` enables it on each Windows node whose build supports it, `Enabled` and `Disabled` apply to
    /// all nodes. Network policy on ClusterIPs is not enforced on a node without it. Default: Auto.
    #[serde(default)]
    pub dsr: Dsr,

    /// Feature gates of kube-proxy. `WinDSR` and `WinOverlay` are managed and refused here when they
    /// contradict `dsr` or the version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub feature_gates: BTreeMap<String, bool>,

    /// Further arguments, `--name=value` each; those the operator sets itself are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 3, max = 512)))]
    pub extra_args: Vec<String>,
}
