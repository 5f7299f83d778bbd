//! Containers and volumes of the agent. The scripts are those in Calico's own images.

use k8s_openapi::api::core::v1::{
    Container, EnvVar, ExecAction, HostPathVolumeSource, Lifecycle, LifecycleHandler, Probe, Volume,
    VolumeMount,
};

use wn_api::calico::CalicoApi;
use wn_api::spec::{NodeAgent, Resources};

use super::cni_config::net_dir;
use super::command_line::{CommandLines, in_image};
use super::env::{self, CNI_BIN_MOUNT, CNI_NET_MOUNT};
use super::etcd;
use super::image::Images;
use crate::network::role::Backend;
use crate::workload::RenderContext;
use crate::workload::meta::{Contents, mount, pull_policy, resources};

const DEFAULT_BIN_DIR: &str = "/opt/cni/bin";
const CNI_BIN: &str = "cni-bin-dir";
const CNI_NET: &str = "cni-net-dir";
const CNI_LOG: &str = "cni-log-dir";
const VAR_RUN: &str = "var-run-calico";
const VAR_LIB: &str = "var-lib-calico";

pub fn contents(
    spec: &NodeAgent,
    images: &Images,
    lines: CommandLines,
    api: CalicoApi,
    context: &RenderContext,
) -> Contents {
    let backend = context.calico.backend();
    let agent = Agent {
        spec,
        image: &images.node,
        env: env::agent(spec, api, context),
        cni: backend.is_some(),
        etcd: etcd::mount(context),
    };
    let mut containers = vec![node(&agent, lines), felix(&agent, lines)];
    if backend == Some(Backend::Bgp) {
        containers.push(agent.container("confd", "confd/confd-service.ps1"));
    }
    if backend.is_none() {
        // Not even `uninstall-calico`: some releases of it delete the other plugin's files (calico#11109).
        return Contents {
            init_containers: Vec::new(),
            containers,
            volumes: volumes(spec, false),
        };
    }
    let mut install = Container {
        command: Some(lines.install_cni()),
        ..init(
            "install-cni",
            spec,
            &images.cni,
            env::install_cni(spec, api, context),
        )
    };
    install
        .volume_mounts
        .get_or_insert_default()
        .extend(etcd::mount(context));
    // Order matters: the first deletes what a manual install left, the second installs again.
    let init_containers = uninstall(spec, images, lines, context)
        .into_iter()
        .chain([install])
        .collect();
    Contents {
        init_containers,
        containers,
        volumes: volumes(spec, true)
            .into_iter()
            .chain(etcd::volume(context))
            .collect(),
    }
}

/// What every long-running container of the agent shares.
struct Agent<'a> {
    spec: &'a NodeAgent,
    image: &'a str,
    env: Vec<EnvVar>,
    /// Calico's CNI plugin is used.
    cni: bool,
    etcd: Option<VolumeMount>,
}

impl Agent<'_> {
    /// The scripts load `config.ps1` from the current folder, hence the working directory.
    fn container(&self, name: &str, script: &str) -> Container {
        let mut mounts = vec![
            mount(VAR_RUN, "/var/run/calico"),
            mount(VAR_LIB, "/var/lib/calico"),
        ];
        if self.cni {
            mounts.push(mount(CNI_LOG, "/var/log/calico/cni"));
            mounts.push(mount(CNI_NET, CNI_NET_MOUNT));
        }
        mounts.extend(self.etcd.clone());
        Container {
            args: Some(vec![in_image(&format!("CalicoWindows/{script}"))]),
            working_dir: Some(in_image("CalicoWindows/")),
            volume_mounts: Some(mounts),
            ..container(name, self.spec, self.image, self.env.clone())
        }
    }
}

/// Removes what a manual install left: Calico's Windows services and CNI files, and the Windows service `kube-proxy`.
/// Where somebody else runs kube-proxy, that service may be the platform's, and the script runs at each start of the pod. A script that
/// asks for the CNI plugin gets none, and then removes Calico's services only; a script that does not ask is left out.
fn uninstall(
    spec: &NodeAgent,
    images: &Images,
    lines: CommandLines,
    context: &RenderContext,
) -> Option<Container> {
    let env = match (context.kube_proxy_is_ours, lines.uninstall_asks_for_plugin()) {
        (true, _) => env::uninstall(),
        (false, true) => env::uninstall_services(),
        (false, false) => return None,
    };
    Some(Container {
        args: Some(vec![in_image("uninstall-calico.ps1")]),
        ..init("uninstall-calico", spec, &images.node, env)
    })
}

/// The hook is here and not, as upstream, on `felix`: a container that a liveness probe restarts runs its hook, and
/// only the start-up, which is in this one, takes back what the hook sets. This one has no probe.
fn node(agent: &Agent<'_>, lines: CommandLines) -> Container {
    Container {
        lifecycle: Some(Lifecycle {
            pre_stop: Some(LifecycleHandler {
                exec: Some(exec(lines.shutdown())),
                ..LifecycleHandler::default()
            }),
            ..Lifecycle::default()
        }),
        ..agent.container("node", "node-service.ps1")
    }
}

/// Only Felix can be asked how it is: `node` and `confd` have no health endpoint. Times are upstream's.
fn felix(agent: &Agent<'_>, lines: CommandLines) -> Container {
    let probe = |command| Probe {
        exec: Some(exec(command)),
        period_seconds: Some(10),
        timeout_seconds: Some(10),
        ..Probe::default()
    };
    Container {
        liveness_probe: Some(Probe {
            initial_delay_seconds: Some(10),
            failure_threshold: Some(6),
            ..probe(lines.felix_live())
        }),
        readiness_probe: Some(probe(lines.felix_ready())),
        ..agent.container("felix", "felix-service.ps1")
    }
}

fn init(name: &str, spec: &NodeAgent, image: &str, env: Vec<EnvVar>) -> Container {
    Container {
        volume_mounts: Some(vec![mount(CNI_BIN, CNI_BIN_MOUNT), mount(CNI_NET, CNI_NET_MOUNT)]),
        ..container(name, spec, image, env)
    }
}

fn container(name: &str, spec: &NodeAgent, image: &str, env: Vec<EnvVar>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: pull_policy(&spec.image),
        env: Some(env),
        resources: Some(resources(
            spec.resources.as_ref().unwrap_or(&default_resources(name)),
        )),
        ..Container::default()
    }
}

/// Together the 250m that Calico's manifests request for container calico-node, which does on Linux nodes what these three do.
/// Init containers end before the others start, and need no more than those.
fn default_resources(name: &str) -> Resources {
    let cpu = match name {
        "felix" => "150m",
        _ => "50m",
    };
    Resources {
        requests: [("cpu".to_owned(), cpu.into())].into(),
        ..Resources::default()
    }
}

/// Folder of the CNI binaries on the node.
pub fn bin_dir(spec: &NodeAgent) -> String {
    let dir = spec.cni_bin_dir.as_deref().unwrap_or(DEFAULT_BIN_DIR);
    dir.replace('\\', "/")
}

fn volumes(spec: &NodeAgent, cni: bool) -> Vec<Volume> {
    let own = [
        folder(VAR_RUN, "/var/run/calico".to_owned()),
        folder(VAR_LIB, "/var/lib/calico".to_owned()),
    ];
    if !cni {
        return own.into();
    }
    let of_cni = [
        folder(CNI_BIN, bin_dir(spec)),
        folder(CNI_NET, net_dir(spec)),
        folder(CNI_LOG, "/var/log/calico/cni".to_owned()),
    ];
    of_cni.into_iter().chain(own).collect()
}

fn folder(name: &str, path: String) -> Volume {
    let source = HostPathVolumeSource {
        path,
        type_: Some("DirectoryOrCreate".to_owned()),
    };
    Volume {
        name: name.to_owned(),
        host_path: Some(source),
        ..Volume::default()
    }
}

fn exec(command: Vec<String>) -> ExecAction {
    ExecAction {
        command: Some(command),
    }
}
