//! Environment of the agent's containers, as `pkg/render/windows.go` of tigera/operator sets it.

use k8s_openapi::api::core::v1::{ConfigMapKeySelector, EnvVar, EnvVarSource};

use wn_api::calico::CalicoApi;
use wn_api::names::{TYPHA, node_agent as names};
use wn_api::spec::{Ipam, LogLevel, NodeAgent};

use super::cni_config::{backend, ipam, net_dir_without_drive};
use super::etcd;
use crate::network::role::{Backend, CalicoRole};
use crate::workload::RenderContext;
use crate::workload::meta::{api_server_env, env, field_env};

/// Where the folders of the node are mounted: compiled into the installer (`cni-plugin/pkg/install/install.go`).
pub const CNI_BIN_MOUNT: &str = "/host/opt/cni/bin";
pub const CNI_NET_MOUNT: &str = "/host/etc/cni/net.d";
const CNI_CONF_NAME: &str = "10-calico.conflist";
/// v3.32 starts the token refresher only if this says so (`node-service.ps1`); without it the CNI plugin's
/// token ends after a day.
const CNI_PLUGIN: (&str, &str) = ("CNI_PLUGIN_TYPE", "Calico");

/// The script stops and deletes the Windows services of a manual install, kube-proxy's too, and the old CNI files
/// in the node's folders (`uninstall-calico-hpc.ps1`); `install-cni` writes them again.
pub fn uninstall() -> Vec<EnvVar> {
    let mut all = vec![env(CNI_PLUGIN.0, CNI_PLUGIN.1)];
    all.extend(uninstall_services());
    all
}

/// Without the CNI plugin's type, a script that asks for it deletes Calico's services only.
pub fn uninstall_services() -> Vec<EnvVar> {
    vec![
        env("CNI_BIN_DIR", CNI_BIN_MOUNT),
        env("CNI_CONF_NAME", CNI_CONF_NAME),
        env("CNI_NET_DIR", CNI_NET_MOUNT),
        env("SLEEP", "false"),
    ]
}

pub fn install_cni(spec: &NodeAgent, api: CalicoApi, context: &RenderContext) -> Vec<EnvVar> {
    let mut all = vec![
        // An init container must end.
        env("SLEEP", "false"),
        env(CNI_PLUGIN.0, CNI_PLUGIN.1),
        env("CNI_BIN_DIR", CNI_BIN_MOUNT),
        env("CNI_CONF_NAME", CNI_CONF_NAME),
        env("CNI_NET_DIR", net_dir_without_drive(spec)),
        env("CALICO_CNI_SERVICE_ACCOUNT", names::CNI_SERVICE_ACCOUNT),
        env("CALICO_NETWORKING_BACKEND", backend(context.calico)),
        env("KUBERNETES_DNS_SERVERS", context.dns_servers.join(",")),
        env("KUBERNETES_SERVICE_CIDRS", context.service_cidrs.join(",")),
        field_env("KUBERNETES_NODE_NAME", "spec.nodeName"),
        cni_network_config(),
    ];
    all.extend(etcd::installer_env(context));
    all.extend(vni(context));
    all.extend(api_server_env(context));
    all.extend(api_group(api));
    all
}

/// What `node`, `felix` and `confd` share; all three read `config-hpc.ps1`, which fills what is missing here.
pub fn agent(spec: &NodeAgent, api: CalicoApi, context: &RenderContext) -> Vec<EnvVar> {
    let mut all = vec![
        env(CNI_PLUGIN.0, context.cni_plugin),
        env("WAIT_FOR_DATASTORE", "true"),
        env("CLUSTER_TYPE", cluster_type(context.calico)),
        // Else a start without any pool creates one, whose addresses may be another network's (`startup.go`).
        env("NO_DEFAULT_POOLS", "true"),
        env("CALICO_DISABLE_FILE_LOGGING", "false"),
        env("CALICO_NETWORKING_BACKEND", backend(context.calico)),
    ];
    all.extend(networking(context.calico));
    all.extend([
        env("IP", "autodetect"),
        env("IP6", "none"),
        env("FELIX_IPV6SUPPORT", "false"),
        env("FELIX_HEALTHENABLED", "true"),
        env("FELIX_DEFAULTENDPOINTTOHOSTACTION", "ACCEPT"),
        field_env("NODENAME", "spec.nodeName"),
        field_env("NAMESPACE", "metadata.namespace"),
    ]);
    all.extend(etcd::client_env(context));
    all.extend(spec.log_level.into_iter().flat_map(log_levels));
    all.extend(host_local(context));
    all.extend(typha(context));
    all.extend(vni(context));
    if overlay(context) {
        all.extend(
            spec.vxlan_adapter
                .iter()
                .map(|adapter| env("VXLAN_ADAPTER", adapter)),
        );
    }
    all.extend(api_server_env(context));
    all.extend(api_group(api));
    all.extend(
        spec.env
            .iter()
            .map(|variable| env(&variable.name, &variable.value)),
    );
    all
}

/// Variables of the agent's containers that the operator or Calico's scripts set, or that contradict those.
/// `spec.nodeAgent.env` may not name them.
pub const MANAGED: &[&str] = &[
    "BGP_LOGSEVERITYSCREEN",
    "CALICO_API_GROUP",
    "CALICO_CNI_SERVICE_ACCOUNT",
    "CALICO_DISABLE_FILE_LOGGING",
    // With NO_DEFAULT_POOLS these two end the start-up.
    "CALICO_IPV4POOL_CIDR",
    "CALICO_IPV6POOL_CIDR",
    "CALICO_MANAGE_CNI",
    "CALICO_NETWORKING_BACKEND",
    "CALICO_NODENAME_FILE",
    "CALICO_STARTUP_LOGLEVEL",
    "CLUSTER_TYPE",
    "CNI_IPAM_TYPE",
    "CNI_PLUGIN_TYPE",
    "CONTAINER_SANDBOX_MOUNT_POINT",
    "DATASTORE_TYPE",
    "ETCD_CA_CERT_FILE",
    "ETCD_CERT_FILE",
    "ETCD_ENDPOINTS",
    "ETCD_KEY_FILE",
    "FELIX_DEFAULTENDPOINTTOHOSTACTION",
    "FELIX_FELIXHOSTNAME",
    "FELIX_HEALTHENABLED",
    "FELIX_IPV6SUPPORT",
    "FELIX_LOGSEVERITYSCREEN",
    "FELIX_ROUTESOURCE",
    "FELIX_TYPHAK8SNAMESPACE",
    "FELIX_TYPHAK8SSERVICENAME",
    "FELIX_VXLANVNI",
    "IP",
    "IP6",
    "KUBECONFIG",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "KUBE_NETWORK",
    "NAMESPACE",
    "NODENAME",
    "NO_DEFAULT_POOLS",
    "USE_POD_CIDR",
    "VXLAN_ADAPTER",
    "VXLAN_VNI",
    "WAIT_FOR_DATASTORE",
];

/// `config-hpc.ps1` takes the second from the first, and for none of them calico-ipam.
fn host_local(context: &RenderContext) -> Vec<EnvVar> {
    if context.ipam == Ipam::CalicoIpam {
        return Vec::new();
    }
    vec![
        env("CNI_IPAM_TYPE", ipam(context.ipam)),
        env("USE_POD_CIDR", "true"),
    ]
}

/// Felix finds Typha's pods by its Service (`felix/config/config_params.go`).
fn typha(context: &RenderContext) -> Vec<EnvVar> {
    let Some(namespace) = &context.typha else {
        return Vec::new();
    };
    vec![
        env("FELIX_TYPHAK8SNAMESPACE", namespace),
        env("FELIX_TYPHAK8SSERVICENAME", TYPHA),
    ]
}

/// What of the CNI plugin is Calico's, and which HNS networks (a regular expression) Felix may program. Where Calico
/// does not give pods their addresses, it knows them from the pods.
fn networking(role: CalicoRole) -> Vec<EnvVar> {
    let hns_networks = role.hns_networks();
    if role.backend().is_none() {
        return vec![
            env("CALICO_MANAGE_CNI", "false"),
            env("KUBE_NETWORK", hns_networks),
            env("FELIX_ROUTESOURCE", "WorkloadIPs"),
        ];
    }
    vec![
        // `node` renews the token in the CNI plugin's kubeconfig, for this account of its own namespace
        // (`node/pkg/cni/token_watch.go`).
        env("CALICO_MANAGE_CNI", "true"),
        env("CALICO_CNI_SERVICE_ACCOUNT", names::CNI_SERVICE_ACCOUNT),
        env("KUBE_NETWORK", hns_networks),
    ]
}

/// `felix-service.ps1` overrides FelixConfiguration with this value, so it must follow it.
fn vni(context: &RenderContext) -> Option<EnvVar> {
    overlay(context).then(|| env("VXLAN_VNI", context.vni.to_string()))
}

fn overlay(context: &RenderContext) -> bool {
    context.calico.backend() == Some(Backend::Vxlan)
}

/// libcalico takes `crd.projectcalico.org/v1` if that group is served at all, which is wrong on a cluster
/// that migrated to native v3 resources; releases before v3.32 know no other form and ignore this.
fn api_group(api: CalicoApi) -> Option<EnvVar> {
    (api == CalicoApi::V3).then(|| env("CALICO_API_GROUP", format!("{}/{}", api.group(), api.version())))
}

fn cluster_type(role: CalicoRole) -> &'static str {
    match role {
        CalicoRole::Networking(Backend::Bgp) => "k8s,bgp,windows",
        CalicoRole::Networking(Backend::Vxlan) | CalicoRole::Policy { .. } => "k8s,windows",
    }
}

/// Felix, the start-up and confd each have a variable of their own. Felix' wins over FelixConfiguration, so it is not set unasked.
fn log_levels(level: LogLevel) -> [EnvVar; 3] {
    let name = match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
    };
    [
        "FELIX_LOGSEVERITYSCREEN",
        "CALICO_STARTUP_LOGLEVEL",
        "BGP_LOGSEVERITYSCREEN",
    ]
    .map(|var| env(var, name))
}

fn cni_network_config() -> EnvVar {
    let key = ConfigMapKeySelector {
        name: names::CONFIG_MAP.to_owned(),
        key: names::CONFIG_KEY.to_owned(),
        optional: None,
    };
    let source = EnvVarSource {
        config_map_key_ref: Some(key),
        ..EnvVarSource::default()
    };
    EnvVar {
        name: "CNI_NETWORK_CONFIG".to_owned(),
        value: None,
        value_from: Some(source),
    }
}
