//! `WindowsNodeConfig` as the user writes it. Doc comments here are what `kubectl explain` prints.

mod calico;
mod network;
mod network_agent;
mod platform;
mod quantity;
mod readiness;
mod rules;
mod workload;
mod workloads;

pub use calico::{
    Calico, Conflicts, Datastore, DatastoreType, Encapsulation, Etcd, EtcdSecret, GivenOriginal, Originals,
    Policy, UnknownOriginals, Vxlan, WhenInUse, WhenPoolsTooSmall,
};
pub use network::{ApiServer, ClusterDns, Ipam, Network, NetworkType};
pub use network_agent::NetworkAgent;
pub use platform::{Platform, PlatformSettings};
pub use quantity::Quantity;
pub use readiness::{Readiness, TaintMode};
pub use workload::{
    Dsr, Image, KubeProxy, LogLevel, Management, NodeAgent, PullPolicy, Resources, SecretReference,
    Toleration, TolerationEffect, TolerationOperator, UpdateStrategy, UpdateStrategyType, Variable,
};
pub use workloads::{Lint, Workloads};

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::component::Component;

/// Whether the operator writes to the cluster.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, schemars::JsonSchema, PartialEq, Serialize)]
pub enum Mode {
    /// Write what Windows nodes need.
    #[default]
    Manage,
    /// Write only the status of this object and Events.
    Observe,
}

/// What deleting the `WindowsNodeConfig` does to Calico.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, schemars::JsonSchema, PartialEq, Serialize)]
pub enum DeletionPolicy {
    /// Restore the original values of Calico's fields.
    #[default]
    Restore,
    /// Leave Calico's fields as they are.
    Retain,
}

/// What the Windows nodes of this cluster need, and who may change what for it.
///
/// The smallest useful object is `spec: {network: {type: CalicoVXLAN}}`: everything else is discovered or has a default, and
/// `status.inputs` shows what was found and where.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "windowsnode.dev",
    version = "v1alpha1",
    kind = "WindowsNodeConfig",
    plural = "windowsnodeconfigs",
    shortname = "wnc",
    category = "calico",
    doc = "Makes the Windows nodes of a Calico cluster work, and reports which do not and why. One per cluster, named `default`.",
    status = "crate::status::WindowsNodeConfigStatus",
    derive = "PartialEq",
    validation = ("self.metadata.name == 'default'", "there is one WindowsNodeConfig per cluster and it is named 'default'"),
    validation = ("self.spec.network.type == 'CalicoVXLAN' || !has(self.spec.calico) || !has(self.spec.calico.vxlan)", "spec.calico.vxlan is for network type CalicoVXLAN: remove it, or set spec.network.type to CalicoVXLAN"),
    validation = ("self.spec.network.type == 'CalicoBGP' || !has(self.spec.network.ipam) || self.spec.network.ipam == 'CalicoIPAM'", "spec.network.ipam HostLocal is for network type CalicoBGP: remove it, or set spec.network.type to CalicoBGP"),
    validation = ("self.spec.network.type == 'CalicoVXLAN' || !has(self.spec.nodeAgent) || (!has(self.spec.nodeAgent.vxlanAdapter) && !has(self.spec.nodeAgent.vxlanMACPrefix))", "spec.nodeAgent.vxlanAdapter and vxlanMACPrefix are for network type CalicoVXLAN: remove them, or set spec.network.type to CalicoVXLAN"),
    validation = ("self.spec.network.type in ['CalicoVXLAN', 'CalicoBGP'] || !has(self.spec.nodeAgent) || (!has(self.spec.nodeAgent.useSingleNetwork) && !has(self.spec.nodeAgent.disableHostSubnetNATExclusion))", "spec.nodeAgent.useSingleNetwork and disableHostSubnetNATExclusion are for network types CalicoVXLAN and CalicoBGP: remove them"),
    validation = ("!(self.spec.network.type in ['FlannelHostGateway', 'FlannelVXLAN', 'StaticRoutes']) || (has(self.spec.networkAgent) && ((has(self.spec.networkAgent.management) && self.spec.networkAgent.management == 'External') || (has(self.spec.networkAgent.image) && has(self.spec.networkAgent.image.repository) && (has(self.spec.networkAgent.image.tag) || has(self.spec.networkAgent.image.digest)))))", "spec.networkAgent.image.repository and a tag or digest are required for network types FlannelHostGateway, FlannelVXLAN and StaticRoutes: build the image from the recipe in docs/images.md and name it, or set spec.networkAgent.management to External"),
    validation = ("self.spec.network.type != 'CloudProvider' || !has(self.spec.kubeProxy) || !has(self.spec.kubeProxy.management) || self.spec.kubeProxy.management != 'Managed'", "spec.kubeProxy.management Managed is not for network type CloudProvider, whose platform runs kube-proxy: remove it"),
    validation = ("self.spec.network.type in ['CalicoVXLAN', 'CalicoBGP'] || !has(self.spec.calico) || !has(self.spec.calico.datastore) || self.spec.calico.datastore.type == 'Kubernetes'", "spec.calico.datastore.type Etcd is for network types CalicoVXLAN and CalicoBGP: remove it, or change spec.network.type"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network.type"),
    printcolumn(name = "Windows", type_ = "string", json_path = ".status.nodes.summary"),
    printcolumn(name = "Calico", type_ = "string", json_path = ".status.calico.version", priority = 1),
    printcolumn(name = "Calico API", type_ = "string", json_path = ".status.calico.api", priority = 1),
    printcolumn(name = "kube-proxy", type_ = "string", json_path = ".status.kubeProxy.version", priority = 1),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WindowsNodeConfigSpec {
    /// `Manage` changes the cluster to what Windows nodes need. `Observe` writes nothing but this object's status and Events, and
    /// reports there what it would write. Default: Manage.
    #[serde(default)]
    pub mode: Mode,

    /// How pods on Windows nodes are networked. The only required field.
    pub network: Network,

    /// The platform, if the detected one is wrong.
    #[serde(default)]
    pub platform: PlatformSettings,

    /// Which of Calico's settings the operator may change, and how.
    #[serde(default)]
    pub calico: Calico,

    /// The DaemonSet `calico-node-windows`: Calico's node agent on every Windows node.
    #[serde(default)]
    pub node_agent: NodeAgent,

    /// The DaemonSet that networks Windows nodes without Calico: `kube-flannel-windows` for the flannel types,
    /// `static-routes-windows` for `StaticRoutes`.
    #[serde(default)]
    pub network_agent: NetworkAgent,

    /// The DaemonSet `kube-proxy-windows`: Kubernetes Services on every Windows node.
    #[serde(default)]
    pub kube_proxy: KubeProxy,

    /// Registry (host, or host and path) that replaces the registry of every image, for air-gapped clusters. An image's own
    /// `registry` takes precedence. Default: each image's upstream registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9._/-]+)?$")
    )]
    pub image_registry: Option<String>,

    /// Labels of the Windows nodes that the operator runs its DaemonSets on, as in a Pod, e.g. for a first rollout to a few nodes.
    /// `kubernetes.io/os: windows` is always added. On a node that is not selected the operator runs nothing, sets no condition, taint or
    /// label, and does not judge it; `status.nodes.notSelected` counts these nodes. Calico's configuration is that of the whole
    /// cluster in any case. Default: every Windows node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "rules::node_selector")]
    pub node_selector: BTreeMap<String, String>,

    /// When the object is ready, and how nodes that are not ready keep pods away.
    #[serde(default)]
    pub readiness: Readiness,

    /// What the operator reports about the network policies, Services and pods of the cluster.
    #[serde(default)]
    pub workloads: Workloads,

    /// Most nodes in `status.nodes.list`, those not ready first. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 500))]
    pub node_list_limit: Option<u32>,

    /// What deleting this object does: `Restore` restores the values of Calico's fields in `status.calico.originals`, `Retain`
    /// leaves the fields as they are. The operator's DaemonSets are deleted in both cases. Default: Restore.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// The settings that every component has.
#[derive(Clone, Copy, Debug)]
pub struct ComponentSpec<'a> {
    /// Who runs the component.
    pub management: Management,
    /// Image of its containers.
    pub image: &'a Image,
    /// Compute resources of each container; `None` for the operator's default.
    pub resources: Option<&'a Resources>,
    /// Tolerations of its pods; empty for one that tolerates every taint.
    pub tolerations: &'a [Toleration],
}

macro_rules! component_spec {
    ($spec:expr) => {
        ComponentSpec {
            management: $spec.management,
            image: &$spec.image,
            resources: $spec.resources.as_ref(),
            tolerations: &$spec.tolerations,
        }
    };
}

impl WindowsNodeConfigSpec {
    /// The settings of a component.
    pub fn component(&self, component: Component) -> ComponentSpec<'_> {
        match component {
            Component::NetworkAgent => component_spec!(self.network_agent),
            Component::NodeAgent => component_spec!(self.node_agent),
            Component::KubeProxy => component_spec!(self.kube_proxy),
        }
    }

    /// The smallest spec: a network type, everything else discovered or defaulted.
    pub fn minimal(type_: NetworkType) -> Self {
        Self {
            mode: Mode::default(),
            network: Network {
                type_,
                ipam: Ipam::default(),
                api_server: None,
                service_cidrs: Vec::new(),
                cluster_dns: None,
            },
            platform: PlatformSettings::default(),
            calico: Calico::default(),
            node_agent: NodeAgent::default(),
            network_agent: NetworkAgent::default(),
            kube_proxy: KubeProxy::default(),
            image_registry: None,
            node_selector: BTreeMap::new(),
            readiness: Readiness::default(),
            workloads: Workloads::default(),
            node_list_limit: None,
            deletion_policy: DeletionPolicy::default(),
        }
    }
}
