//! The control plane itself: what every other test on it takes for granted.

mod crds;
mod lifetime;
mod support;

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use support::{eventually, pods_running};
use wn_e2e::control_plane::{CalicoApi, Cluster, ClusterOptions, Neighbour, NodeSpec, client};

#[tokio::test]
async fn nodes_become_ready_and_daemon_sets_run_on_them() -> Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        windows_nodes: 2,
        ..ClusterOptions::default()
    })
    .await?;
    cluster
        .add_node(
            NodeSpec::windows("old")
                .kernel_version("10.0.17763.5000")
                .label("pool", "old"),
        )
        .await?;
    let nodes = Api::<Node>::all(cluster.client());
    eventually("4 nodes are Ready", async || {
        let list = nodes.list(&ListParams::default()).await?;
        Ok(list.items.iter().filter(|node| support::is_ready(node)).count() == 4)
    })
    .await?;
    let old = nodes.get("old").await?;
    assert_eq!(
        old.metadata.labels.unwrap_or_default()["node.kubernetes.io/windows-build"],
        "10.0.17763"
    );

    support::daemon_set(&cluster, "agent", "windows").await?;
    support::daemon_set(&cluster, "calico-node-windows", "windows").await?;
    pods_running(&cluster, "agent", 3).await?;
    let pods = Api::<Pod>::namespaced(cluster.client(), "default");
    let ours = pods
        .list(&ListParams::default().labels("k8s-app=calico-node-windows"))
        .await?;
    assert_eq!(ours.items.len(), 3);
    for pod in ours.items {
        let status = pod.status.unwrap_or_default();
        assert_eq!(
            status.phase.as_deref(),
            Some("Pending"),
            "kwok moved a pod of the Windows agent"
        );
    }

    cluster
        .kubectl(&["delete", "daemonset", "--all", "--wait=false"])
        .await?;
    eventually("no pods are left", async || {
        Ok(pods.list(&ListParams::default()).await?.items.is_empty())
    })
    .await?;
    cluster.remove_node("old").await
}

#[tokio::test]
async fn a_cluster_has_what_kubeadm_and_calico_leave() -> Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        calico_api: CalicoApi::V3,
        ..ClusterOptions::default()
    })
    .await?;
    assert!(cluster.helm(&["version"]).await?.contains("v4."));
    assert!(
        cluster
            .kubectl(&["version"])
            .await?
            .contains(cluster.kubernetes_version())
    );

    let slices = Api::<EndpointSlice>::namespaced(cluster.client(), "default");
    eventually("the API server advertises itself", async || {
        Ok(slices
            .get_opt("kubernetes")
            .await?
            .is_some_and(|s| s.endpoints[0].addresses == ["192.0.2.10"]))
    })
    .await?;
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), "kube-system");
    let proxy = maps.get("kube-proxy").await?.data.unwrap_or_default();
    assert!(proxy["kubeconfig.conf"].contains("server: https://api.lab.example:6443"));

    let ipam = DynamicObjects::new(&cluster, "projectcalico.org", "v3", "IPAMConfiguration")
        .get("default")
        .await?;
    assert_eq!(ipam.data["spec"]["strictAffinity"], false);
    let managers = ipam.metadata.managed_fields.unwrap_or_default();
    let manager = (managers[0].manager.as_deref(), managers[0].operation.as_deref());
    assert_eq!(manager, (Some("Go-http-client"), Some("Update")));

    cluster.install_neighbour(Neighbour::DatastoreMigration).await?;
    cluster.install_neighbour(Neighbour::Installation).await?;
    let migrations = DynamicObjects::new(
        &cluster,
        "migration.projectcalico.org",
        "v1",
        "DatastoreMigration",
    );
    eventually("migrations are served", async || {
        Ok(migrations.list().await.is_ok())
    })
    .await
}

#[tokio::test]
async fn rights_are_enforced_and_writes_are_witnessed() -> Result<()> {
    let options = ClusterOptions {
        calico_api: CalicoApi::None,
        windows_nodes: 0,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    let start = jiff::Timestamp::now();
    let kubeconfig = cluster.token_kubeconfig("default", "default").await?;
    let user = "system:serviceaccount:default:default";
    let maps = Api::<ConfigMap>::namespaced(client(&kubeconfig).await?, "default");
    let map: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "x"}, "data": {"key": "value"}}))?;

    let refused = maps.create(&PostParams::default(), &map).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
    cluster
        .kubectl(&["create", "role", "maps", "--verb=create", "--resource=configmaps"])
        .await?;
    cluster
        .kubectl(&[
            "create",
            "rolebinding",
            "maps",
            "--role=maps",
            "--serviceaccount=default:default",
        ])
        .await?;
    eventually("the grant counts", async || {
        Ok(maps.create(&PostParams::default(), &map).await.is_ok())
    })
    .await?;
    assert!(maps.get("x").await.is_err(), "reading was not granted");

    eventually("the log has both writes", async || {
        let log = cluster.audit_log()?.since(start);
        let writes = log.writes_by(user);
        let codes: Vec<_> = writes.iter().map(|event| event.response_code).collect();
        Ok(codes.first() == Some(&403)
            && codes.last() == Some(&201)
            && writes
                .iter()
                .all(|event| event.verb == "create" && event.resource == "configmaps"))
    })
    .await?;
    let log = cluster.audit_log()?;
    let last = *log.writes_by(user).last().unwrap();
    assert_eq!(last.request_object.as_ref().unwrap()["data"]["key"], "value");
    assert!(last.stage_timestamp >= last.request_received);
    assert!(
        log.by(user)
            .iter()
            .any(|event| event.verb == "get" && event.request_object.is_none())
    );
    assert!(
        log.since(jiff::Timestamp::now() + Duration::from_secs(60))
            .events
            .is_empty()
    );
    Ok(())
}

/// A typed handle on objects of a kind that has no Rust type here.
struct DynamicObjects(Api<DynamicObject>);

impl DynamicObjects {
    fn new(cluster: &Cluster, group: &str, version: &str, kind: &str) -> Self {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Self(Api::all_with(cluster.client(), &resource))
    }

    async fn get(&self, name: &str) -> kube::Result<DynamicObject> {
        self.0.get(name).await
    }

    async fn list(&self) -> kube::Result<usize> {
        Ok(self.0.list(&ListParams::default()).await?.items.len())
    }
}
