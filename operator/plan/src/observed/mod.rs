//! What the cluster looks like, reduced to the facts decisions read. Plain data: a test writes it by hand.
//!
//! Invariant: a fact holds nothing that changes without meaning (heartbeats, counters), so "the fact is
//! equal" means "there is nothing to decide". The corollary: whoever needs a new field adds it here first.

mod bgp;
mod calico;
mod changes;
pub mod cluster;
mod config;
mod config_object;
mod daemon_sets;
pub mod endpoints;
pub mod etcd;
pub mod failures;
pub mod flannel;
mod ipam;
mod labels;
mod linux;
mod network_made;
mod node_index;
mod nodes;
mod own;
mod pods;
mod proxy_args;
pub mod reservations;
mod spread;
pub mod tigera;
pub mod topic;
mod typha;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde_json::Value;
use wn_api::WindowsNodeConfig;
use wn_api::calico::{CalicoApi, ConfigKind, DEFAULT};
use wn_api::component::Component;
use wn_api::names::flannel::CONFIG_MAP;
use wn_api::status::Original;

pub use bgp::{BgpFacts, BgpPeer};
pub use calico::{API_GROUP, ClusterInformation, MigrationFacts, api_group};
pub use changes::{Changes, Fact};
pub use cluster::SourceFacts;
pub use config::{Config, Unreadable};
pub use config_object::{ConfigObject, FieldOwner, NatChange};
pub use daemon_sets::{DaemonSetFacts, linux_agent};
pub use etcd::{Announced, EtcdFacts, EtcdTrouble};
pub use failures::SandboxFailure;
pub use ipam::{AffinityFacts, BlockFacts};
pub use labels::Labels;
pub use linux::LinuxNodeFacts;
pub use network_made::NetworkMade;
pub use node_index::{NodeIndex, OnNode};
pub use nodes::{Misplaced, NetworkCondition, NodeFacts};
pub use own::{OwnKind, OwnObject};
pub use pods::{PodFacts, Trouble};
pub use reservations::Reservations;
pub use spread::anywhere;
pub use tigera::{InstallationFacts, TigeraStatusFacts};
pub use topic::Topic;
pub use typha::TyphaFacts;
pub use wn_workloads::windows::WindowsBuild;

use crate::unread::Unread;
use crate::version::Version;

/// `namespace/name`; the namespace is empty for cluster-scoped objects.
pub type Key = (String, String);

/// Everything known of the cluster: the input of every decision.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The `WindowsNodeConfig` `default`; `None` when there is none.
    pub config: Option<Config>,
    /// What cannot be read.
    pub unread: Vec<Unread>,
    /// Namespace the operator and its DaemonSets live in.
    pub namespace: String,
    /// Version of the API server; `None` before it answered.
    pub kubernetes: Option<Version>,
    /// Windows nodes.
    pub nodes: BTreeMap<String, NodeFacts>,
    /// Linux nodes, by name.
    pub linux: BTreeMap<String, LinuxNodeFacts>,
    /// Pods of the components on Windows nodes.
    pub pods: NodeIndex<PodFacts>,
    /// Pods on Windows nodes whose sandbox could not be created recently.
    pub failures: NodeIndex<SandboxFailure>,
    /// The same for Events whose pod was not looked up yet. No decision reads them.
    pub claims: BTreeMap<Key, SandboxFailure>,
    /// DaemonSets of the components on Windows nodes, ours or not.
    pub daemon_sets: BTreeMap<Key, DaemonSetFacts>,
    /// DaemonSets that select nodes of any operating system, and whether they tolerate every taint.
    pub anywhere: BTreeMap<Key, bool>,
    /// Our own DaemonSets and ConfigMaps as stored, to compare with what they should be.
    pub ours: BTreeMap<OwnObject, Value>,
    /// Objects inputs are read from.
    pub sources: BTreeMap<Source, SourceFacts>,
    /// `Installation` `default` of tigera/operator: what is only read.
    pub installation: Option<InstallationFacts>,
    /// The same object: the fields that are set, and their owners.
    pub installation_object: Option<ConfigObject>,
    /// flannel's configuration, ConfigMap `kube-flannel/kube-flannel-cfg`.
    pub flannel: Option<ConfigObject>,
    /// TigeraStatuses `calico` and `calico-windows`, by name.
    pub tigera_statuses: BTreeMap<String, TigeraStatusFacts>,
    /// Calico's objects.
    pub calico: CalicoFacts,
    /// Calico's BGP.
    pub bgp: BgpFacts,
    /// Deployments `calico-typha`, by namespace.
    pub typha: BTreeMap<String, TyphaFacts>,
}

/// Objects that inputs are read from; the most reliable first where several have the same value.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Source {
    /// ConfigMap `tigera-operator/kubernetes-services-endpoint`.
    ServicesEndpoint,
    /// ConfigMap `kube-system/kube-proxy`.
    KubeProxyConfig,
    /// ConfigMap `kube-system/kubeadm-config`.
    KubeadmConfig,
    /// ConfigMap `kube-public/cluster-info`.
    ClusterInfo,
    /// EndpointSlice `default/kubernetes`.
    KubernetesEndpoints,
    /// Service `default/kubernetes`.
    KubernetesService,
    /// ServiceCIDR `kubernetes`.
    ServiceCidr,
    /// Service `kube-system/kube-dns`.
    KubeDns,
    /// Service `openshift-dns/dns-default`.
    OpenShiftDns,
    /// Service `kube-system/rke2-coredns-rke2-coredns`.
    Rke2Dns,
    /// ConfigMap `kube-system/calico-config`: the backend Linux nodes have.
    CalicoConfig,
    /// ConfigMap `kube-system/amazon-vpc-cni`.
    AmazonVpcCni,
    /// ConfigMap `kube-system/kubelet-config`, which kubeadm writes.
    KubeletConfig,
    /// ConfigMap `kube-system/coredns`.
    CoreDns,
}

impl Source {
    /// Every source, in the order above.
    pub const ALL: [Self; 14] = [
        Self::ServicesEndpoint,
        Self::KubeProxyConfig,
        Self::KubeadmConfig,
        Self::ClusterInfo,
        Self::KubernetesEndpoints,
        Self::KubernetesService,
        Self::ServiceCidr,
        Self::KubeDns,
        Self::OpenShiftDns,
        Self::Rke2Dns,
        Self::CalicoConfig,
        Self::AmazonVpcCni,
        Self::KubeletConfig,
        Self::CoreDns,
    ];
}

/// What decisions read of Calico.
#[derive(Clone, Debug, Default)]
pub struct CalicoFacts {
    /// Names of the CustomResourceDefinitions that show which of Calico's APIs exist.
    pub definitions: BTreeSet<String>,
    /// Objects of the kinds of `ConfigKind::OF_CALICO`.
    pub objects: BTreeMap<(ConfigKind, String), ConfigObject>,
    /// Blocks of addresses, by node.
    pub blocks: NodeIndex<BlockFacts>,
    /// Claims of blocks, by node.
    pub affinities: NodeIndex<AffinityFacts>,
    /// `ClusterInformation` `default`; `None` before Calico's first start.
    pub cluster_information: Option<ClusterInformation>,
    /// DaemonSets of Calico's agent on Linux nodes, and the release of each.
    pub linux_agents: BTreeMap<Key, Version>,
    /// `DatastoreMigration`s, by name.
    pub migrations: BTreeMap<String, MigrationFacts>,
    /// The API that each DaemonSet of calico-node on Linux nodes uses (`CALICO_API_GROUP`), by namespace and name.
    pub api_groups: BTreeMap<Key, CalicoApi>,
    /// Kind and name of pools and ClusterInformation in v3 while v1 beside it is empty.
    pub in_v3: BTreeSet<String>,
    /// Addresses that `IPReservation`s keep from pods.
    pub reservations: Reservations,
    /// Host endpoints that people created, and the node of each.
    pub host_endpoints: BTreeMap<String, String>,
    /// calico-kube-controllers creates host endpoints for all nodes.
    pub auto_host_endpoints: bool,
    /// Calico's etcd, once it was tried; `None` while the Kubernetes API holds Calico.
    pub etcd: Option<EtcdFacts>,
    /// What nodes announced in etcd, by name.
    pub nodes: BTreeMap<String, Announced>,
}

impl CalicoFacts {
    /// Pools whose `natOutgoing` was changed after they were made, and when.
    pub fn nat_changes(&self) -> Vec<(Ipv4Net, Timestamp)> {
        let pools = self
            .objects
            .iter()
            .filter(|((kind, _), _)| *kind == ConfigKind::IpPool);
        pools
            .filter_map(|(_, pool)| Some((pool.cidr_v4()?, pool.nat_change.as_ref()?.at)))
            .collect()
    }

    /// What a node announced: in its `Node` in Calico's etcd if there is one, else in annotations of its Kubernetes Node.
    pub fn announced<'a>(&'a self, name: &str, node: &'a NodeFacts) -> Cow<'a, Announced> {
        match (&self.etcd, self.nodes.get(name)) {
            (Some(_), Some(found)) => Cow::Borrowed(found),
            (Some(_), None) => Cow::Owned(Announced::default()),
            (None, _) => Cow::Owned(Announced::of(node)),
        }
    }
}

impl Observed {
    /// A configuration object, whichever map it is in.
    pub fn object(&self, kind: ConfigKind, name: &str) -> Option<&ConfigObject> {
        match kind {
            ConfigKind::IpamConfiguration | ConfigKind::IpPool | ConfigKind::FelixConfiguration => {
                self.calico.objects.get(&(kind, name.to_owned()))
            }
            ConfigKind::Installation => self.installation_object.as_ref().filter(|_| name == DEFAULT),
            ConfigKind::FlannelConfiguration => self.flannel.as_ref().filter(|_| name == CONFIG_MAP),
        }
    }

    /// The original values to restore on deletion, as stored.
    pub fn originals(&self) -> Vec<Original> {
        let config = self.config.as_ref().map(Config::object);
        config.map_or(&[][..], originals).to_vec()
    }

    /// The readable config, if there is one.
    pub fn readable(&self) -> Option<&WindowsNodeConfig> {
        match &self.config {
            Some(Config::Readable(config)) => Some(config),
            _ => None,
        }
    }

    /// A DaemonSet of ours, by name.
    pub fn our_daemon_set(&self, name: &str) -> Option<&DaemonSetFacts> {
        let place = (self.namespace.clone(), name.to_owned());
        self.daemon_sets.get(&place).filter(|d| d.ours)
    }

    /// DaemonSets of somebody else's for the same purpose.
    pub fn foreign(&self, component: Component) -> impl Iterator<Item = (&Key, &DaemonSetFacts)> {
        self.daemon_sets
            .iter()
            .filter(move |(_, d)| d.component == component && !d.ours)
    }

    /// Is there a pod of Calico's Windows agent in the namespace?
    pub fn agent_pods_in(&self, namespace: &str) -> bool {
        let mut pods = self.pods.iter();
        pods.any(|((place, _), pod)| place == namespace && pod.component == Component::NodeAgent)
    }
}

/// The original values that a `WindowsNodeConfig` stores for its deletion.
pub fn originals(config: &WindowsNodeConfig) -> &[Original] {
    let calico = config.status.as_ref().and_then(|s| s.calico.as_ref());
    calico.map_or(&[], |c| &c.originals)
}

/// A string at a JSON pointer, or empty.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A boolean at a JSON pointer, or false.
fn flag(value: &Value, pointer: &str) -> bool {
    value
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

/// A small integer at a JSON pointer, or 0.
fn number(value: &Value, pointer: &str) -> i32 {
    value
        .pointer(pointer)
        .and_then(Value::as_i64)
        .and_then(|n| i32::try_from(n).ok())
        .unwrap_or_default()
}

/// The items of the array at a JSON pointer.
fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A time at a JSON pointer.
fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    parse_time(value.pointer(pointer)?.as_str()?)
}

/// Times of the cluster are taken from 1970 to the end of 9998 only (seconds of Unix time). jiff ends with the year 9999
/// and its `+` panics beyond it; what is added to such a time, months at most, stays within.
const TIMES: std::ops::Range<i64> = 0..253_370_764_800;

/// A time in an object of the cluster. Anybody may have written it.
fn parse_time(text: &str) -> Option<Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    TIMES.contains(&time.as_second()).then_some(time)
}

/// One bounded line: a message in a status must not grow with what a container printed.
fn first_line(text: &str, limit: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(limit).collect()
}
