//! The DaemonSets on Windows nodes, rendered whole: everything that can be decided off the node is
//! decided here; scripts add only what the node alone knows.

mod image;
mod images;
pub mod kube_proxy;
mod meta;
pub mod network_agent;
pub mod node_agent;

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;

use wn_api::spec::{EtcdSecret, Ipam};

use crate::network::role::{CalicoRole, SourceVip};

pub use images::images;

/// What DaemonSets are rendered from. Every value is valid: see `validate` and `inputs`.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderContext {
    /// Namespace of the operator, and of its DaemonSets.
    pub namespace: String,
    /// What Calico does on Windows nodes.
    pub calico: CalicoRole,
    /// What kube-proxy's `--source-vip` is taken from.
    pub source_vip: SourceVip,
    /// DaemonSet and container of the network agent, where there is one.
    pub network_agent: Option<(&'static str, &'static str)>,
    /// Where pod addresses come from.
    pub ipam: Ipam,
    /// `spec.nodeSelector`.
    pub node_selector: BTreeMap<String, String>,
    /// Namespace of the Typha that Felix asks instead of the API server.
    pub typha: Option<String>,
    /// `spec.imageRegistry`.
    pub image_registry: Option<String>,
    /// The API server as a Windows node reaches it before kube-proxy runs.
    pub api_host: String,
    /// TCP port of the API server.
    pub api_port: i32,
    /// Service CIDRs of IPv4.
    pub service_cidrs: Vec<String>,
    /// DNS servers of pods.
    pub dns_servers: Vec<String>,
    /// DNS search list of pods; Windows uses the first entry.
    pub dns_search: Vec<String>,
    /// VXLAN network identifier; used where Calico networks the nodes with VXLAN.
    pub vni: i32,
    /// HNS network kube-proxy programs; empty where kube-proxy is the platform's.
    pub hns_network: String,
    /// Do we run kube-proxy on Windows nodes? Else a Windows service of that name may be the platform's.
    pub kube_proxy_is_ours: bool,
    /// The CNI plugin, as tigera/operator names it: what is not `Calico` is left alone by Calico's scripts.
    pub cni_plugin: &'static str,
    /// Folders of the node that containerd reads: CNI binaries, CNI configuration.
    pub cni_dirs: (String, String),
    /// Calico's etcd; `None` where the Kubernetes API holds Calico.
    pub etcd: Option<EtcdAccess>,
}

/// How a Windows node reaches Calico's etcd.
#[derive(Clone, Debug, PartialEq)]
pub struct EtcdAccess {
    /// URLs of the members.
    pub endpoints: Vec<String>,
    /// Secret with certificates; `None` without TLS.
    pub secret: Option<EtcdSecret>,
    /// Checksum of what is in the Secret.
    pub certificates: String,
}

/// A DaemonSet and what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Rolls the pods when it changes.
    pub config_map: Option<ConfigMap>,
    /// The DaemonSet.
    pub daemon_set: DaemonSet,
    /// A ConfigMap whose changes the pods follow without being rolled.
    pub followed: Option<ConfigMap>,
}

impl Workload {
    /// Name of the DaemonSet.
    pub fn name(&self) -> &str {
        self.daemon_set.metadata.name.as_deref().unwrap_or_default()
    }
}
