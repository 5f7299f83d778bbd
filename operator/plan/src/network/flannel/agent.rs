//! The DaemonSet `kube-flannel-windows`. flannel has no manifest for Windows, and sig-windows-tools removed theirs
//! (`hostprocess/flannel`, 729ae7c of April 2025).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wn_api::names::flannel::NET_CONF_KEY;
use wn_api::names::network_agent as names;
use wn_api::spec::WindowsNodeConfigSpec;

use super::settings::{self, Backend};
use crate::network::profile::NetworkAgent;
use crate::observed::Observed;
use crate::workload::network_agent::{FLANNEL_SCRIPT, Parts, cni, env_of_node, policies, policy, workload};
use crate::workload::{RenderContext, Workload};

pub struct Flannel(pub Backend);

/// Understood by every release of the plugins that knows HNS v2.
const CNI_VERSION: &str = "0.3.1";
/// flannel's default for `/healthz` elsewhere; nothing else on a Windows node listens there.
const HEALTH_PORT: i32 = 8081;

impl NetworkAgent for Flannel {
    fn daemon_set(&self) -> &'static str {
        names::FLANNEL_DAEMON_SET
    }

    fn container(&self) -> &'static str {
        names::FLANNEL_CONTAINER
    }

    fn image(&self) -> &'static str {
        "flanneld.exe and the CNI plugins flannel, host-local and win-bridge or win-overlay"
    }

    fn workload(
        &self,
        spec: &WindowsNodeConfigSpec,
        observed: &Observed,
        context: &RenderContext,
    ) -> Option<Workload> {
        let net_conf = settings::effective(self.0, observed, &context.hns_network)?;
        let plugin = cni(&plugin(self.0, &settings::pod_network(observed), context));
        let parts = Parts {
            name: names::FLANNEL_DAEMON_SET,
            service_account: names::FLANNEL_SERVICE_ACCOUNT,
            container: names::FLANNEL_CONTAINER,
            config_map: names::FLANNEL_CONFIG_MAP,
            mount: "/etc/kube-flannel-windows",
            script: FLANNEL_SCRIPT,
            files: BTreeMap::from([
                (NET_CONF_KEY.to_owned(), net_conf),
                (names::CNI_KEY.to_owned(), plugin),
            ]),
            arguments: vec![
                "--kube-subnet-mgr".to_owned(),
                "--ip-masq".to_owned(),
                format!("--healthz-port={HEALTH_PORT}"),
            ],
            // flannel looks its Node up by this name (`pkg/subnet/kube/kube.go`), else by its pod.
            env: vec![env_of_node("NODE_NAME")],
            ready_file: r"C:\run\flannel\subnet.env",
            health_port: Some(HEALTH_PORT),
            followed: None,
        };
        workload(&spec.network_agent, parts, context)
    }
}

/// flannel's plugin hands over to the one that makes endpoints, with the node's subnet (flannel-io/cni-plugin). HNS v2
/// (`apiVersion` 2) is what containerd needs.
fn plugin(backend: Backend, pod_network: &str, context: &RenderContext) -> Value {
    let (kind, policies) = match backend {
        Backend::HostGateway => {
            let mut all = policies(pod_network, &["__MANAGEMENT_SUBNET__"], context);
            // microsoft/SDN `Kubernetes/flannel/l2bridge/cni/config/cni.conf`: pods reach their own node by HNS.
            all.push(policy(
                "SDNRoute",
                &json!({"DestinationPrefix": "__NODE_IP__/32", "NeedEncap": true}),
            ));
            ("win-bridge", all)
        }
        Backend::Vxlan => {
            let mut all = policies(pod_network, &[], context);
            all.push(policy(
                "ProviderAddress",
                &json!({"ProviderAddress": "__NODE_IP__"}),
            ));
            ("win-overlay", all)
        }
    };
    json!({
        "name": context.hns_network,
        "cniVersion": CNI_VERSION,
        "type": "flannel",
        "capabilities": {"portMappings": true, "dns": true},
        "delegate": {
            "type": kind,
            "apiVersion": 2,
            "dns": {"nameservers": context.dns_servers, "search": context.dns_search},
            "policies": policies,
        },
    })
}
