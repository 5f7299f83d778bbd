//! What a pod of the DaemonSet hands to kube-proxy, read off the pod in the API server.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::ListParams;
use wn_api::names::{SCRIPT_KEY, kube_proxy as names};

use crate::operator::NAME;
use crate::simulator::{Env, Files, resolve};
use crate::test_cluster::TestCluster;

/// Arguments and environment as the kubelet would pass them on.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub args: Vec<String>,
    pub env: Env,
}

/// What the start script adds on the node, from what only the node knows. It cannot be run here.
#[derive(Clone, Debug)]
pub struct StartScript {
    /// `--source-vip`: the address of the HNS endpoint that `SOURCE_VIP_ENDPOINT` names.
    pub source_vip: Option<String>,
    /// `--kubeconfig`: here with a token of the same ServiceAccount.
    pub kubeconfig: String,
}

impl Rendered {
    /// From the pod of kube-proxy on `node` whose image has this version, waiting for it.
    pub async fn of(test: &TestCluster, node: &str, version: &str) -> Result<Self> {
        let pods: Api<Pod> = Api::namespaced(test.client.clone(), NAME);
        let maps: Api<ConfigMap> = Api::namespaced(test.client.clone(), NAME);
        let tag = format!(":v{version}-");
        test.until(&format!("kube-proxy {version} is rendered"), async || {
            let found = pods
                .list(&ListParams::default())
                .await?
                .items
                .into_iter()
                .find(|pod| {
                    let spec = pod.spec.as_ref();
                    let here = spec.and_then(|spec| spec.node_name.as_deref()) == Some(node);
                    let ours = pod
                        .metadata
                        .name
                        .as_deref()
                        .is_some_and(|name| name.starts_with(names::DAEMON_SET));
                    let image = spec.and_then(|spec| spec.containers.first()?.image.as_deref());
                    let leaves = pod.metadata.deletion_timestamp.is_some();
                    here && ours && !leaves && image.is_some_and(|image| image.contains(&tag))
                });
            match found {
                Some(pod) => Self::read(&pod, &maps.get(names::CONFIG_MAP).await?).map(Some),
                None => Ok(None),
            }
        })
        .await
    }

    fn read(pod: &Pod, script: &ConfigMap) -> Result<Self> {
        let files: Files = script.data.clone().unwrap_or_default();
        let maps = [((NAME.to_owned(), names::CONFIG_MAP.to_owned()), files)].into();
        let resolved = resolve(pod, &maps)?;
        let container = resolved
            .into_iter()
            .find(|container| container.name == names::CONTAINER)
            .context("the pod has no container kube-proxy")?;
        // The script hands on what follows its own name.
        let after = container.args.iter().position(|word| word.ends_with(SCRIPT_KEY));
        let after = after.context("the container does not run the start script")?;
        Ok(Self {
            args: container.args[after + 1..].to_vec(),
            env: container.env,
        })
    }

    /// The whole command line of kube-proxy.
    pub fn command_line(&self, script: &StartScript) -> Vec<String> {
        let mut all = self.args.clone();
        if let Some(address) = &script.source_vip {
            all.push(format!("--source-vip={address}"));
        }
        let node = self.env.get("NODENAME").map_or("", String::as_str);
        all.push(format!("--hostname-override={node}"));
        all.push(format!("--kubeconfig={}", script.kubeconfig));
        all
    }
}
