//! What tests are made from. Each test file uses its part.

mod cluster;
mod pass;
mod server;
mod tigera;

use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};
use wn_api::spec::NetworkType;
use wn_plan::workload::RenderContext;

pub use cluster::*;
pub use pass::{findings, lines, pod, set_up};
pub use server::Store;
pub use tigera::*;

/// Failures are kept beside the test's source, as regression cases that are tried first from then on.
pub fn kept() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

/// Those that Calico networks.
pub const CALICO_NETWORKS: [NetworkType; 2] = [NetworkType::CalicoVxlan, NetworkType::CalicoBgp];

pub fn context(network: NetworkType) -> RenderContext {
    let profile = wn_plan::network::of(network);
    RenderContext {
        calico: profile.calico,
        source_vip: profile.source_vip,
        network_agent: profile.agent.map(|agent| (agent.daemon_set(), agent.container())),
        namespace: "windows-node-operator".into(),
        ipam: wn_api::spec::Ipam::CalicoIpam,
        node_selector: std::collections::BTreeMap::new(),
        typha: None,
        image_registry: None,
        api_host: "api.example.com".into(),
        api_port: 6443,
        service_cidrs: vec!["10.96.0.0/12".into(), "10.112.0.0/16".into()],
        dns_servers: vec!["10.96.0.10".into()],
        dns_search: vec!["svc.cluster.local".into()],
        vni: 4096,
        hns_network: match network {
            NetworkType::CalicoVxlan | NetworkType::CalicoBgp => "Calico",
            NetworkType::FlannelVxlan => "flannel.4096",
            NetworkType::FlannelHostGateway | NetworkType::StaticRoutes => "cbr0",
            NetworkType::CloudProvider => "",
        }
        .into(),
        kube_proxy_is_ours: true,
        cni_plugin: match network {
            NetworkType::CalicoVxlan | NetworkType::CalicoBgp => "Calico",
            _ => "None",
        },
        cni_dirs: ("/opt/cni/bin".into(), "/etc/cni/net.d".into()),
        etcd: None,
    }
}
