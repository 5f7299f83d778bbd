//! What DaemonSets that network Windows nodes have in common. Each option renders its own from this (`network/`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar, ExecAction, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use wn_api::component::Component;
use wn_api::names::SCRIPT_KEY;
use wn_api::spec::{Image, NetworkAgent, Resources};

use super::image::{DefaultImage, reference};
pub use super::meta::env;
use super::meta::{
    Base, Contents, api_server_env, config_map_of, config_map_volume, daemon_set, field_env, mount,
    powershell, pull_policy, resources,
};
use super::{RenderContext, Workload};

/// What every script of a network agent begins with.
macro_rules! script {
    ($name:literal) => {
        concat!(
            include_str!("../../scripts/common/functions.ps1"),
            "\n",
            include_str!("../../scripts/common/network.ps1"),
            "\n",
            include_str!(concat!("../../scripts/", $name, "/start.ps1"))
        )
    };
}

/// The start script of flannel.
pub const FLANNEL_SCRIPT: &str = script!("kube-flannel");
/// The start script of static routes.
pub const STATIC_ROUTES_SCRIPT: &str = script!("static-routes");

const SCRIPTS: &str = "scripts";
const FOLLOWED: &str = "followed";
/// flanneld ends at once; routes and HNS networks stay, so that pods keep their network meanwhile.
const GRACE_PERIOD: i64 = 5;

/// What differs between the agents.
pub struct Parts {
    /// Name of the DaemonSet.
    pub name: &'static str,
    /// ServiceAccount of its pods.
    pub service_account: &'static str,
    /// Name of its container.
    pub container: &'static str,
    /// Name of its ConfigMap.
    pub config_map: &'static str,
    /// Where the ConfigMap is in the container.
    pub mount: &'static str,
    /// Text of the start script.
    pub script: &'static str,
    /// Files beside the script.
    pub files: BTreeMap<String, String>,
    /// Arguments of the start script.
    pub arguments: Vec<String>,
    /// Environment variables of the container.
    pub env: Vec<EnvVar>,
    /// File of the node that is there when its network is made; the script removes it when it begins.
    pub ready_file: &'static str,
    /// Port of `/healthz`, where there is one.
    pub health_port: Option<i32>,
    /// Name, mount path and data of a ConfigMap that is followed.
    pub followed: Option<(&'static str, &'static str, BTreeMap<String, String>)>,
}

/// A variable with the node's name.
pub fn env_of_node(name: &str) -> EnvVar {
    field_env(name, "spec.nodeName")
}

/// `None` without an image, which `validate` refuses.
pub fn workload(spec: &NetworkAgent, parts: Parts, context: &RenderContext) -> Option<Workload> {
    let base = Base {
        name: parts.name,
        component: Component::NetworkAgent,
        service_account: parts.service_account,
        grace_period: GRACE_PERIOD,
        tolerations: &spec.tolerations,
        pull_secrets: &spec.image_pull_secrets,
        update_strategy: &spec.update_strategy,
    };
    let container = container(spec, &parts, context)?;
    let mut data = parts.files;
    data.insert(SCRIPT_KEY.to_owned(), parts.script.to_owned());
    let config_map = config_map_of(parts.config_map, data, &base, context);
    let followed: Option<ConfigMap> = parts
        .followed
        .map(|(name, _, data)| config_map_of(name, data, &base, context));
    let mut volumes = vec![config_map_volume(SCRIPTS, parts.config_map)];
    let name = followed.as_ref().and_then(|c| c.metadata.name.as_deref());
    volumes.extend(name.map(|name| config_map_volume(FOLLOWED, name)));
    let contents = Contents {
        init_containers: Vec::new(),
        containers: vec![container],
        volumes,
    };
    let daemon_set = daemon_set(&base, contents, Some(&config_map), context);
    Some(Workload {
        config_map: Some(config_map),
        daemon_set,
        followed,
    })
}

/// Nobody publishes it, so only where it usually is can be supposed.
pub(super) fn image(image: &Image, global_registry: Option<&str>) -> Option<String> {
    let default = DefaultImage {
        registry: "docker.io",
        repository: image.repository.clone()?,
        tag: image.tag.clone().or_else(|| image.digest.clone())?,
    };
    Some(reference(image, default, global_registry))
}

fn container(spec: &NetworkAgent, parts: &Parts, context: &RenderContext) -> Option<Container> {
    let mut mounts = vec![mount(SCRIPTS, parts.mount)];
    mounts.extend(parts.followed.as_ref().map(|(_, path, _)| mount(FOLLOWED, path)));
    let mut all = vec![
        field_env("NODENAME", "spec.nodeName"),
        field_env("NODE_IP", "status.hostIP"),
        env("CNI_BIN_DIR", context.cni_dirs.0.clone()),
        env("CNI_CONF_DIR", context.cni_dirs.1.clone()),
    ];
    all.extend(parts.env.iter().cloned());
    all.extend(api_server_env(context));
    Some(Container {
        name: parts.container.to_owned(),
        image: Some(image(&spec.image, context.image_registry.as_deref())?),
        image_pull_policy: pull_policy(&spec.image),
        command: Some(powershell(&format!("{}/{}", parts.mount, SCRIPT_KEY))),
        args: Some(parts.arguments.clone()).filter(|a| !a.is_empty()),
        env: Some(all),
        resources: Some(
            spec.resources
                .as_ref()
                .map_or_else(|| resources(&default_resources()), resources),
        ),
        volume_mounts: Some(mounts),
        liveness_probe: parts.health_port.map(healthz),
        readiness_probe: Some(ready(parts.ready_file)),
        // The last lines say why it ended; the script writes its own message.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    })
}

/// Making the virtual switch cuts the node's connections for seconds; a minute without an answer is something else.
fn healthz(port: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some("/healthz".to_owned()),
            port: IntOrString::Int(port),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(60),
        period_seconds: Some(10),
        timeout_seconds: Some(5),
        failure_threshold: Some(6),
        ..Probe::default()
    }
}

/// That the program runs says nothing of the node's network; the file it writes last does.
fn ready(file: &str) -> Probe {
    let command = format!("if exist {file} (exit 0) else (exit 1)");
    Probe {
        exec: Some(ExecAction {
            command: Some(vec!["cmd.exe".to_owned(), "/c".to_owned(), command]),
        }),
        period_seconds: Some(10),
        timeout_seconds: Some(10),
        ..Probe::default()
    }
}

/// As `kube-flannel.yml` of flannel.
fn default_resources() -> Resources {
    let requests = [("cpu", "100m"), ("memory", "50Mi")];
    Resources {
        requests: requests
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into(),
        ..Resources::default()
    }
}

/// Policies of the endpoints of pods, as HNS v2 has them (hcsshim `hcn/hcnpolicy.go`): traffic within the cluster keeps its
/// source address, and traffic to Services is load balanced by HNS. `own` are further ranges not to be NATed.
pub fn policies(pod_network: &str, own: &[&str], context: &RenderContext) -> Vec<Value> {
    let mut exceptions: Vec<&str> = [pod_network].into_iter().filter(|n| !n.is_empty()).collect();
    exceptions.extend(context.service_cidrs.iter().map(String::as_str));
    exceptions.extend(own);
    let nat = policy("OutBoundNAT", &json!({"Exceptions": exceptions}));
    let routes = context
        .service_cidrs
        .iter()
        .map(|cidr| policy("SDNRoute", &json!({"DestinationPrefix": cidr, "NeedEncap": true})));
    std::iter::once(nat).chain(routes).collect()
}

/// An HNS policy of the CNI plugin, type `EndpointPolicy`.
pub fn policy(kind: &str, settings: &Value) -> Value {
    json!({"Name": "EndpointPolicy", "Value": {"Type": kind, "Settings": settings}})
}

/// A CNI configuration as a template, whose placeholders are words like `__NODE_IP__`.
pub fn cni(config: &Value) -> String {
    format!("{config:#}\n")
}
