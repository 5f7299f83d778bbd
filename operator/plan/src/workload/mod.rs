//! The two DaemonSets on Windows nodes, rendered whole: everything that can be decided off the node is
//! decided here; scripts add only what the node alone knows.

mod image;
pub mod kube_proxy;
mod meta;
pub mod node_agent;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;

use wn_api::spec::{Ipam, NetworkType};

/// What both DaemonSets are rendered from. Every value is valid: see `validate` and `inputs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Namespace of the operator, and of both DaemonSets.
    pub namespace: String,
    pub network: NetworkType,
    pub ipam: Ipam,
    /// Namespace of the Typha that Felix asks instead of the API server.
    pub typha: Option<String>,
    /// `spec.imageRegistry`.
    pub image_registry: Option<String>,
    /// The API server as a Windows node reaches it before kube-proxy runs.
    pub api_host: String,
    pub api_port: i32,
    pub service_cidrs: Vec<String>,
    pub dns_servers: Vec<String>,
    pub dns_search: Vec<String>,
    /// VXLAN network identifier; used with `CalicoVXLAN` only.
    pub vni: i32,
}

/// A DaemonSet and the ConfigMap it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    pub config_map: ConfigMap,
    pub daemon_set: DaemonSet,
}
