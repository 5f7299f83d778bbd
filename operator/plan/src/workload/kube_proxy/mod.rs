//! kube-proxy on Windows nodes, from the image of sig-windows-tools (`hostprocess/calico/kube-proxy`) with a
//! start script of our own: theirs waits for ever and names a feature gate that is going away.

mod flags;
mod group;
mod script;

use k8s_openapi::api::core::v1::{Container, ContainerPort, EnvVar, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use wn_api::component::Component;
use wn_api::names::{SCRIPT_KEY, kube_proxy as names, node_agent};
use wn_api::spec::{Image, KubeProxy, Resources};

use super::image::{DefaultImage, reference};
use super::meta::{
    Base, Contents, ROOT, api_server_env, config_map, config_map_volume, daemon_set, env, field_env, mount,
    powershell, pull_policy, resources,
};
use super::{RenderContext, Workload};
use crate::network::role::SourceVip;
use crate::version::Version;

use flags::HEALTH_PORT;

pub use flags::{MANAGED_FLAGS, arguments};
pub use group::{Group, Members};
pub use script::TEXT as SCRIPT;

const SCRIPTS: &str = "scripts";
const SCRIPTS_MOUNT: &str = "/etc/kube-proxy-windows";
const PROBE_PERIOD: i32 = 10;
/// kube-proxy keeps its HNS policies when it ends, so there is nothing to wait for.
const GRACE_PERIOD: i64 = 5;

/// kube-proxy of a group of nodes. All groups share the ConfigMap, which comes with that of most nodes.
pub fn kube_proxy(spec: &KubeProxy, group: &Group, context: &RenderContext) -> Workload {
    let base = Base {
        name: group.members.daemon_set(),
        component: Component::KubeProxy,
        service_account: names::SERVICE_ACCOUNT,
        grace_period: GRACE_PERIOD,
        tolerations: &spec.tolerations,
        pull_secrets: &spec.image_pull_secrets,
        update_strategy: &spec.update_strategy,
    };
    let config_map = config_map(
        names::CONFIG_MAP,
        SCRIPT_KEY,
        script::TEXT.to_owned(),
        &base,
        context,
    );
    let contents = Contents {
        init_containers: Vec::new(),
        containers: vec![container(spec, group, context)],
        volumes: vec![config_map_volume(SCRIPTS, names::CONFIG_MAP)],
    };
    let mut daemon_set = daemon_set(&base, contents, Some(&config_map), context);
    if let Some(pod) = daemon_set.spec.as_mut().and_then(|s| s.template.spec.as_mut()) {
        group.members.select(pod);
    }
    Workload {
        config_map: (group.members == Members::Rest).then_some(config_map),
        daemon_set,
        followed: None,
    }
}

/// One image serves every Windows build: its base has no layer of the operating system. A tag cannot hold `+`.
pub fn image(image: &Image, version: &Version, global_registry: Option<&str>) -> String {
    let default = DefaultImage {
        registry: "docker.io",
        repository: "sigwindowstools/kube-proxy".to_owned(),
        tag: format!("{}-calico-hostprocess", version.to_string().replace('+', "_")),
    };
    reference(image, default, global_registry)
}

fn container(spec: &KubeProxy, group: &Group, context: &RenderContext) -> Container {
    Container {
        name: names::CONTAINER.to_owned(),
        image: Some(image(
            &spec.image,
            &group.version,
            context.image_registry.as_deref(),
        )),
        image_pull_policy: pull_policy(&spec.image),
        command: Some(powershell(&format!("{SCRIPTS_MOUNT}/{}", SCRIPT_KEY))),
        args: Some(arguments(spec, &group.version, group.dsr, &context.hns_network)),
        // A port of the host: the scheduler places no second kube-proxy on a node before the first is gone, as when
        // the node moves from one group to another.
        ports: Some(vec![ContainerPort {
            name: Some("healthz".to_owned()),
            container_port: HEALTH_PORT,
            host_port: Some(HEALTH_PORT),
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        working_dir: Some(format!("{ROOT}/kube-proxy/")),
        env: Some(environment(context)),
        resources: Some(
            spec.resources
                .as_ref()
                .map_or_else(|| resources(&default_resources()), resources),
        ),
        volume_mounts: Some(vec![mount(SCRIPTS, SCRIPTS_MOUNT)]),
        startup_probe: Some(Probe {
            // Longer than the script waits, so that its own message ends the wait, not a probe. Seen from 1.33.13 and
            // 1.36.3: kube-proxy listens once it has found network, gates and source VIP, on an overlay after ten
            // seconds; a second before the first load balancer is there.
            failure_threshold: Some(script::WAIT_SECONDS / PROBE_PERIOD + 12),
            ..probe("/livez")
        }),
        // `/healthz` also fails on a node that is about to be deleted (KEP-3836): no reason to restart. Both fail a
        // minute after a change that could not be programmed, as when the HNS network is gone, and say nothing
        // while nothing changes (seen from 1.36.3).
        liveness_probe: Some(Probe {
            failure_threshold: Some(6),
            ..probe("/livez")
        }),
        readiness_probe: Some(probe("/healthz")),
        // The last lines of kube-proxy say why it ended; the script writes its own message.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

fn environment(context: &RenderContext) -> Vec<EnvVar> {
    let mut all = vec![
        field_env("NODENAME", "spec.nodeName"),
        // What the script waits for; kube-proxy takes `--network-name` first, which is the same.
        env("KUBE_NETWORK", context.hns_network.clone()),
        env("HNS_WAIT_SECONDS", script::WAIT_SECONDS.to_string()),
        env("NETWORK_AGENT", network_agent(context)),
    ];
    // kube-proxy ends with "source-vip flag not set" on an overlay, and needs none elsewhere.
    match context.source_vip {
        SourceVip::None => {}
        SourceVip::Endpoint(endpoint) => all.push(env("SOURCE_VIP_ENDPOINT", endpoint)),
        SourceVip::HostLocal => {
            all.push(env("SOURCE_VIP_IPAM", "host-local"));
            all.push(env("CNI_BIN_DIR", context.cni_dirs.0.clone()));
        }
    }
    all.extend(api_server_env(context));
    all
}

/// Where to look when the HNS network does not come up.
fn network_agent(context: &RenderContext) -> String {
    let (daemon_set, container) = context
        .network_agent
        .unwrap_or((node_agent::DAEMON_SET, node_agent::STARTUP));
    format!("DaemonSet {daemon_set}, container {container}")
}

fn probe(path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(HEALTH_PORT),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(PROBE_PERIOD),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}

/// As kubeadm's kube-proxy has none, a guess that keeps the scheduler honest without holding back a node.
fn default_resources() -> Resources {
    let requests = [("cpu", "100m"), ("memory", "128Mi")];
    Resources {
        requests: requests
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into(),
        ..Resources::default()
    }
}
