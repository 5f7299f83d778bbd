//! The CNI configuration of Windows nodes, with the fields of tigera/operator's `createCalicoPluginConfig`.
//! Words like `__DSR_SUPPORT__` are replaced on the node by Calico's installer
//! (`cni-plugin/pkg/install/install_windows.go`); only what the node alone knows is left to it.

use serde_json::{Value, json};

use wn_api::calico::CalicoApi;
use wn_api::spec::{Ipam, LogLevel, NodeAgent};

use super::etcd;
use crate::network::role::{Backend, CalicoRole};
use crate::workload::RenderContext;

/// Understood by the plugins of every supported minor; v3.31 and v3.33 write 1.0.0, the others 0.3.1.
const CNI_VERSION: &str = "0.3.1";
/// Upstream's default (`install_windows.go`).
const MAC_PREFIX: &str = "0E-2A";
const DEFAULT_NET_DIR: &str = "/etc/cni/net.d";
const DRIVE: &str = "c:";

pub fn render(spec: &NodeAgent, api: CalicoApi, context: &RenderContext) -> String {
    let list = json!({
        "name": "Calico",
        "cniVersion": CNI_VERSION,
        "plugins": [plugin(spec, api, context)],
    });
    format!("{list:#}\n")
}

/// Folder of CNI configuration on the node, with `/` and, if the user named one, a drive.
pub fn net_dir(spec: &NodeAgent) -> String {
    spec.cni_conf_dir
        .as_deref()
        .unwrap_or(DEFAULT_NET_DIR)
        .replace('\\', "/")
}

/// The installer puts `c:` before the folder itself.
pub fn net_dir_without_drive(spec: &NodeAgent) -> String {
    let dir = net_dir(spec);
    dir.strip_prefix("c:")
        .or_else(|| dir.strip_prefix("C:"))
        .unwrap_or(&dir)
        .to_owned()
}

fn plugin(spec: &NodeAgent, api: CalicoApi, context: &RenderContext) -> Value {
    let mut plugin = json!({
        "name": "Calico",
        "type": "calico",
        "mode": backend(context.calico),
        // kube-proxy knows one HNS network only.
        "windows_use_single_network": spec.use_single_network.unwrap_or(true),
        // Quoted so that the template is JSON; the installer replaces the quotes too, by the build's ability.
        "windows_loopback_DSR": "__DSR_SUPPORT__",
        // 0 lets HNS choose.
        "mtu": 0,
        "nodename": "__KUBERNETES_NODE_NAME__",
        "nodename_file": "__NODENAME_FILE__",
        "nodename_file_optional": true,
        "datastore_type": "kubernetes",
        "kubernetes": {"kubeconfig": kubeconfig(spec)},
        // The plugin reads `subnet` with host-local only, as the node's pod CIDR; upstream writes it always.
        "ipam": {"type": ipam(context.ipam), "subnet": "usePodCidr"},
        "policy": {"type": "k8s"},
        "policies": policies(&context.service_cidrs),
        "capabilities": {"dns": true},
        "DNS": {"Nameservers": context.dns_servers, "Search": context.dns_search},
        "log_level": log_level(spec.log_level.unwrap_or_default()),
        "log_file_path": "c:/var/log/calico/cni/cni.log",
    });
    if spec.disable_host_subnet_nat_exclusion == Some(true) {
        plugin["windows_disable_host_subnet_nat_exclusion"] = json!(true);
    }
    if context.calico.backend() == Some(Backend::Vxlan) {
        plugin["vxlan_mac_prefix"] = json!(spec.vxlan_mac_prefix.as_deref().unwrap_or(MAC_PREFIX));
        plugin["vxlan_vni"] = json!(context.vni);
    }
    if let Some(etcd) = &context.etcd {
        etcd::in_cni_config(&mut plugin, etcd, &on_node(spec));
    }
    if api == CalicoApi::V3 {
        // The plugin runs outside every pod, so the variable of the same name never reaches it
        // (`cni-plugin/internal/pkg/utils/utils.go`).
        plugin["calico_api_group"] = json!(format!("{}/{}", api.group(), api.version()));
    }
    plugin
}

/// Name of the networking backend, in `CALICO_NETWORKING_BACKEND` and as `mode` in the CNI configuration.
pub fn backend(role: CalicoRole) -> &'static str {
    match role {
        CalicoRole::Networking(Backend::Vxlan) => "vxlan",
        CalicoRole::Networking(Backend::Bgp) => "windows-bgp",
        CalicoRole::Policy { .. } => "none",
    }
}

/// Name of the IPAM plugin.
pub fn ipam(ipam: Ipam) -> &'static str {
    match ipam {
        Ipam::CalicoIpam => "calico-ipam",
        Ipam::HostLocal => "host-local",
    }
}

fn kubeconfig(spec: &NodeAgent) -> String {
    format!("{}/calico-kubeconfig", on_node(spec))
}

/// The folder with its drive.
fn on_node(spec: &NodeAgent) -> String {
    let dir = net_dir(spec);
    let has_drive = dir.as_bytes().get(1) == Some(&b':');
    let drive = if has_drive { "" } else { DRIVE };
    format!("{drive}{}", dir.trim_end_matches('/'))
}

/// Traffic to Services keeps its source address and stays in HNS. `SDNROUTE` is the name HNS v2, which containerd
/// needs, has for a route, whatever the backend; `ROUTE` is HNS v1's (`libs/calico/calico.psm1`).
fn policies(service_cidrs: &[String]) -> Vec<Value> {
    let policy = |value: Value| json!({"Name": "EndpointPolicy", "Value": value});
    let nat = policy(json!({"Type": "OutBoundNAT", "ExceptionList": service_cidrs}));
    let routes = service_cidrs
        .iter()
        .map(|cidr| policy(json!({"Type": "SDNROUTE", "DestinationPrefix": cidr, "NeedEncap": true})));
    std::iter::once(nat).chain(routes).collect()
}

/// The plugin knows three levels (`ConfigureLogging`); warnings are part of `info`.
fn log_level(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info | LogLevel::Warning => "info",
        LogLevel::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(None, "/etc/cni/net.d", "c:/etc/cni/net.d/calico-kubeconfig")]
    #[case(
        Some(r"C:\Program Files\cni\conf"),
        "/Program Files/cni/conf",
        "C:/Program Files/cni/conf/calico-kubeconfig"
    )]
    #[case(Some("c:/k/cni/"), "/k/cni/", "c:/k/cni/calico-kubeconfig")]
    #[case(Some("d:/cni"), "d:/cni", "d:/cni/calico-kubeconfig")]
    fn workload_cni_folders(#[case] dir: Option<&str>, #[case] env: &str, #[case] file: &str) {
        let spec = NodeAgent {
            cni_conf_dir: dir.map(str::to_owned),
            ..NodeAgent::default()
        };
        assert_eq!(net_dir_without_drive(&spec), env);
        assert_eq!(kubeconfig(&spec), file);
    }
}
