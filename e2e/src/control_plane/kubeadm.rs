//! What kubeadm leaves in a cluster and others read there: DNS, and where the API server is.

use anyhow::{Context as _, Result};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::PostParams;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::components::SERVICE_RANGE;

/// The address clients outside the cluster use. It resolves nowhere: it is only passed on.
const ENDPOINT: &str = "api.lab.example:6443";
const DNS_ADDRESS: &str = "10.96.0.10";

impl Cluster {
    /// Creates what kubeadm would have. What exists is left alone.
    pub async fn seed_kubeadm(&self) -> Result<()> {
        let client = self.client();
        create::<Service>(&client, "kube-system", dns()).await?;
        let configuration = cluster_configuration(self.kubernetes_version());
        let kubeadm = config_map("kubeadm-config", "ClusterConfiguration", &configuration);
        create::<ConfigMap>(&client, "kube-system", kubeadm).await?;
        let proxy = config_map("kube-proxy", "kubeconfig.conf", &kubeconfig());
        create::<ConfigMap>(&client, "kube-system", proxy).await?;
        let information = config_map("cluster-info", "kubeconfig", &kubeconfig());
        create::<ConfigMap>(&client, "kube-public", information).await
    }
}

fn dns() -> Value {
    json!({
        "metadata": {"name": "kube-dns", "labels": {
            "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS",
        }},
        "spec": {
            "clusterIP": DNS_ADDRESS,
            "selector": {"k8s-app": "kube-dns"},
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
            ],
        },
    })
}

fn cluster_configuration(version: &str) -> String {
    format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\n\
         kind: ClusterConfiguration\n\
         clusterName: kubernetes\n\
         controlPlaneEndpoint: {ENDPOINT}\n\
         kubernetesVersion: {version}\n\
         networking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.0.0/16\n  serviceSubnet: {SERVICE_RANGE}\n"
    )
}

fn kubeconfig() -> String {
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n- name: default\n  cluster:\n    server: https://{ENDPOINT}\n\
         contexts:\n- name: default\n  context:\n    cluster: default\n    namespace: default\n    user: default\n\
         current-context: default\n\
         users:\n- name: default\n  user:\n    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n"
    )
}

fn config_map(name: &str, key: &str, text: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {key: text}})
}

async fn create<K>(client: &Client, namespace: &str, object: Value) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned,
{
    let object: K = serde_json::from_value(object)?;
    match Api::<K>::namespaced(client.clone(), namespace)
        .create(&PostParams::default(), &object)
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => {
            other.with_context(|| format!("create {} in {namespace}", K::kind(&())))?;
            Ok(())
        }
    }
}
