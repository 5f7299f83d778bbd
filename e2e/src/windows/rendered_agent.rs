//! What the DaemonSet's pod hands to Calico's programs, read off the pod in the API server.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use wn_api::names::node_agent as names;

use crate::operator::NAME;
use crate::simulator::{Env, Resolved, all_containers, resolve};
use crate::test_cluster::TestCluster;

/// What the scripts of v3.32's image set besides the pod (`config-hpc.ps1`, `node-service.ps1`,
/// `felix-service.ps1`): PowerShell does not run here.
const SCRIPT_DEFAULTS: &[(&str, &str)] = &[
    ("KUBE_NETWORK", "Calico.*"),
    ("VXLAN_VNI", "4096"),
    ("VXLAN_MAC_PREFIX", "0E-2A"),
    ("FELIX_LOGSEVERITYFILE", "none"),
    ("FELIX_LOGSEVERITYSYS", "none"),
    ("FELIX_METADATAADDR", "none"),
    ("CALICO_NODENAME_FILE", ".\\nodename"),
];
/// Set from another variable.
const SCRIPT_COPIES: &[(&str, &str)] = &[
    ("CALICO_K8S_NODE_REF", "NODENAME"),
    ("FELIX_FELIXHOSTNAME", "NODENAME"),
    ("FELIX_VXLANVNI", "VXLAN_VNI"),
];

pub struct RenderedAgent {
    pod: Pod,
    containers: Vec<Resolved>,
}

impl RenderedAgent {
    /// The agent's pod on `node`, once there is one.
    pub async fn of(test: &TestCluster, node: &str) -> Result<Self> {
        let pods: Api<Pod> = Api::namespaced(test.client.clone(), NAME);
        let maps: Api<ConfigMap> = Api::namespaced(test.client.clone(), NAME);
        let label = ListParams::default().labels(&format!("k8s-app={}", names::DAEMON_SET));
        test.until("the agent's pod is rendered", async || {
            let found = pods.list(&label).await?.items.into_iter().find(|pod| {
                let here = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
                here == Some(node) && pod.metadata.deletion_timestamp.is_none()
            });
            let Some(pod) = found else { return Ok(None) };
            let all = maps.list(&ListParams::default()).await?.items.into_iter();
            let maps = all.map(|map| ((NAME.to_owned(), map.name_any()), map.data.unwrap_or_default()));
            let containers = resolve(&pod, &maps.collect())?;
            Ok(Some(Self { pod, containers }))
        })
        .await
    }

    /// Environment of a container, without what its script adds; `None` where there is no such container.
    pub fn env(&self, container: &str) -> Option<&Env> {
        self.containers
            .iter()
            .find(|one| one.name == container)
            .map(|one| &one.env)
    }

    /// The same with what the container's script adds.
    pub fn scripted_env(&self, container: &str) -> Result<Env> {
        let env = self.env(container);
        let mut env = env.with_context(|| format!("no container {container}"))?.clone();
        for (name, value) in SCRIPT_DEFAULTS {
            env.entry((*name).to_owned())
                .or_insert_with(|| (*value).to_owned());
        }
        for (name, from) in SCRIPT_COPIES {
            let value = env.get(*from).cloned().unwrap_or_default();
            env.insert((*name).to_owned(), value);
        }
        let pod_cidr = env.get("CNI_IPAM_TYPE").map(String::as_str) == Some("host-local");
        env.insert("USE_POD_CIDR".to_owned(), pod_cidr.to_string());
        Ok(env)
    }

    /// Command of a container's readiness probe.
    pub fn readiness(&self, container: &str) -> Option<Vec<String>> {
        let probe = self.container(container)?.readiness_probe.as_ref()?;
        probe.exec.as_ref()?.command.clone()
    }

    /// The preStop hooks: container and command.
    pub fn pre_stop(&self) -> Vec<(String, Vec<String>)> {
        let hook = |container: &Container| {
            let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
            Some((container.name.clone(), hook.exec.as_ref()?.command.clone()?))
        };
        self.all().filter_map(hook).collect()
    }

    /// Folders of the node in the containers: path inside, path on the node.
    pub fn host_mounts(&self) -> BTreeMap<String, String> {
        let volumes = self
            .pod
            .spec
            .iter()
            .flat_map(|spec| spec.volumes.iter().flatten());
        let folders: BTreeMap<&str, &str> = volumes
            .filter_map(|volume| Some((volume.name.as_str(), volume.host_path.as_ref()?.path.as_str())))
            .collect();
        let mounts = self
            .all()
            .flat_map(|container| container.volume_mounts.iter().flatten());
        mounts
            .filter_map(|mount| {
                Some((
                    mount.mount_path.clone(),
                    (*folders.get(mount.name.as_str())?).to_owned(),
                ))
            })
            .collect()
    }

    fn all(&self) -> impl Iterator<Item = &Container> {
        self.pod.spec.iter().flat_map(all_containers)
    }

    fn container(&self, name: &str) -> Option<&Container> {
        self.all().find(|container| container.name == name)
    }
}
