//! What tests are made from. Each test file uses its part.

#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::panic)]

mod cluster;
mod pass;
mod server;

use wn_api::spec::NetworkType;
use wn_plan::workload::Surroundings;

pub use cluster::*;
pub use pass::{findings, lines, pod, set_up};
pub use server::Store;

pub const NETWORKS: [NetworkType; 2] = [NetworkType::CalicoVxlan, NetworkType::CalicoBgp];

pub fn around(network: NetworkType) -> Surroundings {
    Surroundings {
        namespace: "windows-node-operator".into(),
        network,
        ipam: wn_api::spec::Ipam::CalicoIpam,
        typha: None,
        image_registry: None,
        api_host: "api.example.com".into(),
        api_port: 6443,
        service_cidrs: vec!["10.96.0.0/12".into(), "10.112.0.0/16".into()],
        dns_servers: vec!["10.96.0.10".into()],
        dns_search: vec!["svc.cluster.local".into()],
        vni: 4096,
    }
}
