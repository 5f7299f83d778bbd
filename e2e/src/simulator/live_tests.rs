//! The simulator on a real API server, with DaemonSets written here.

use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wn_api::calico::CalicoApi;

use super::cache::{AGENT, CalicoKind};
use super::{Fault, Simulator, feeds};
use crate::control_plane::{CalicoApi as InstalledApi, Cluster, ClusterOptions};

const NAMESPACE: &str = "default";
const NODE: &str = "windows-0";

struct Live {
    cluster: Cluster,
    simulator: Simulator,
    api: CalicoApi,
}

impl Live {
    async fn start(installed: InstalledApi, api: CalicoApi) -> Self {
        let options = ClusterOptions {
            calico_api: installed,
            linux_nodes: 0,
            windows_nodes: 2,
            ..Default::default()
        };
        let cluster = Cluster::start(options).await.unwrap();
        let simulator = Simulator::start(cluster.client());
        Self {
            cluster,
            simulator,
            api,
        }
    }

    fn client(&self) -> Client {
        self.cluster.client()
    }

    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
    {
        let object = serde_json::from_value(object).unwrap();
        Api::<K>::namespaced(self.client(), NAMESPACE)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    async fn patch(&self, object: CalicoKind, name: &str, spec: Value) {
        let objects: Api<DynamicObject> = Api::all_with(self.client(), &feeds::resource(self.api, object));
        let patch = json!({"spec": spec});
        objects
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    async fn pod(&self, app: &str, node: &str) -> Option<Pod> {
        let params = ListParams::default()
            .labels(&format!("k8s-app={app}"))
            .fields(&format!("spec.nodeName={node}"));
        Api::<Pod>::namespaced(self.client(), NAMESPACE)
            .list(&params)
            .await
            .unwrap()
            .items
            .pop()
    }

    /// Waits until the app's pod on `node` says `expected`.
    async fn until(&self, app: &str, node: &str, expected: &str) {
        let mut last = String::new();
        for _ in 0..150 {
            if let Some(pod) = self.pod(app, node).await {
                last = summary(&pod);
                if last.contains(expected) {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!(
            "{app} on {node}: {last}, not {expected}; {:?}",
            self.simulator.problems(node)
        );
    }
}

/// `Ready`, or phase and why the stuck container waits.
fn summary(pod: &Pod) -> String {
    if super::pod_status::is_ready(pod) {
        return "Ready".to_owned();
    }
    let status = json!(pod.status);
    let all = ["initContainerStatuses", "containerStatuses"];
    let statuses = all
        .iter()
        .flat_map(|list| status[list].as_array().cloned().unwrap_or_default());
    let reasons: Vec<String> = statuses
        .map(|one| {
            let reason = one["state"]["waiting"]["reason"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            reason
                + one["lastState"]["terminated"]["message"]
                    .as_str()
                    .unwrap_or_default()
        })
        .collect();
    format!(
        "{} {}",
        status["phase"].as_str().unwrap_or_default(),
        reasons.join(" ")
    )
}

fn daemon_set(app: &str, pod: Value) -> Value {
    let mut spec = json!({
        "hostNetwork": true,
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"windowsOptions": {
            "hostProcess": true, "runAsUserName": "NT AUTHORITY\\system",
        }},
    });
    for (key, value) in pod.as_object().unwrap() {
        spec[key] = value.clone();
    }
    let labels = json!({"k8s-app": app});
    json!({
        "metadata": {"name": app},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}

fn agent() -> Value {
    let node_name = json!({"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}});
    let env = json!([
        {"name": "KUBERNETES_SERVICE_HOST", "value": "172.20.255.1"},
        {"name": "CALICO_NETWORKING_BACKEND", "value": "vxlan"},
        {"name": "VXLAN_VNI", "value": "4096"},
        node_name,
    ]);
    let probe = json!({"httpGet": {"port": 9099, "path": "/readiness"}});
    daemon_set(
        AGENT,
        json!({"serviceAccountName": AGENT, "containers": [
            {"name": "node", "image": "node-windows:v3.32.1", "env": env},
            {"name": "felix", "image": "node-windows:v3.32.1", "readinessProbe": probe},
        ]}),
    )
}

fn kube_proxy(gates: &str) -> Value {
    let env = json!([
        {"name": "KUBERNETES_SERVICE_HOST", "value": "172.20.255.1"},
        {"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]);
    daemon_set(
        "kube-proxy-windows",
        json!({
            "containers": [{
                "name": "kube-proxy",
                "image": "kube-proxy:v1.36.0-calico-hostprocess",
                "args": ["$env:CONTAINER_SANDBOX_MOUNT_POINT/scripts/start.ps1", "--enable-dsr=true", gates],
                "env": env,
                "readinessProbe": {"httpGet": {"port": 10256, "path": "/healthz"}},
                "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
            }],
            "volumes": [{"name": "scripts", "configMap": {"name": "scripts"}}],
        }),
    )
}

/// Grants the agent's account everything in `groups`.
async fn grant(live: &Live, name: &str, groups: &[&str]) {
    let role = json!({
        "metadata": {"name": name},
        "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}],
    });
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": AGENT, "namespace": NAMESPACE}],
    });
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(binding).unwrap();
    let params = PostParams::default();
    Api::all(live.client()).create(&params, &role).await.unwrap();
    Api::all(live.client()).create(&params, &binding).await.unwrap();
}

async fn a_node_from_nothing_to_ready(installed: InstalledApi, api: CalicoApi) {
    let live = Live::start(installed, api).await;
    live.create::<ServiceAccount>(json!({"metadata": {"name": AGENT}}))
        .await;
    let all_but_kubevirt = [
        "",
        "discovery.k8s.io",
        "networking.k8s.io",
        "policy.networking.k8s.io",
        api.group(),
    ];
    grant(&live, "most", &all_but_kubevirt).await;
    let (agents, proxies) = ("calico-node-windows", "kube-proxy-windows");
    live.simulator.inject("windows-1", Fault::AgentImagePull);
    live.create::<DaemonSet>(agent()).await;
    live.create::<DaemonSet>(kube_proxy("--feature-gates=WinDSR=false"))
        .await;

    // As calico.yaml leaves the cluster: strictAffinity is false.
    live.until(agents, NODE, "Running").await;
    live.until(agents, "windows-1", "ImagePullBackOff").await;
    live.until(proxies, NODE, "Pending ContainerCreating").await;
    let problems = live.simulator.problems(NODE).join("\n");
    assert!(problems.contains("global strict affinity"), "{problems}");
    let script = json!({"metadata": {"name": "scripts"}, "data": {"start.ps1": "Calico_ep --source-vip"}});
    live.create::<ConfigMap>(script).await;
    live.until(proxies, NODE, "Running ").await;

    live.patch(CalicoKind::IpamConfig, "default", json!({"strictAffinity": true}))
        .await;
    // The network is there, but Felix is not in sync: forbidden is not the same as absent.
    live.until(proxies, NODE, "feature is locked to true").await;
    let problems = live.simulator.problems(NODE).join("\n");
    assert!(
        problems.contains("cannot list resource \"virtualmachineinstancemigrations\""),
        "{problems}"
    );
    live.until(agents, NODE, "Running").await;
    grant(&live, "kubevirt", &["kubevirt.io"]).await;
    live.until(agents, NODE, "Ready").await;
    let node = Api::<Node>::all(live.client()).get(NODE).await.unwrap();
    assert!(node.annotations()["projectcalico.org/IPv4VXLANTunnelAddr"].ends_with(".1"));
    let conditions = json!(node.status.unwrap().conditions);
    let up = conditions
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == "NetworkUnavailable")
        .unwrap();
    assert_eq!(
        (&up["status"], &up["reason"]),
        (&json!("False"), &json!("CalicoIsUp"))
    );
    let blocks = feeds::resource(api, CalicoKind::Block);
    let blocks = Api::<DynamicObject>::all_with(live.client(), &blocks)
        .list(&ListParams::default())
        .await
        .unwrap();
    let ours: Vec<_> = blocks
        .items
        .iter()
        .filter(|one| one.data["spec"]["affinity"] == "host:windows-0")
        .collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(
        ours[0].data["spec"]["attributes"][0]["secondary"]["note"],
        "windows host rsvd"
    );

    // A fault is repaired, flags are repaired, and a running agent ignores strictAffinity.
    live.simulator.clear("windows-1");
    live.until(agents, "windows-1", "Ready").await;
    live.patch(
        CalicoKind::IpamConfig,
        "default",
        json!({"strictAffinity": false}),
    )
    .await;
    live.simulator.inject(NODE, Fault::AgentNotReady);
    live.until(agents, NODE, "Running").await;
    live.simulator.clear(NODE);
    live.until(agents, NODE, "Ready").await;
    let sets = Api::<DaemonSet>::namespaced(live.client(), NAMESPACE);
    let patch = json!({"spec": {"template": kube_proxy("--v=2")["spec"]["template"]}});
    sets.patch(proxies, &PatchParams::default(), &Patch::Strategic(&patch))
        .await
        .unwrap();
    live.until(proxies, NODE, "Ready").await;
    live.until(proxies, "windows-1", "Ready").await;
    assert_eq!(live.simulator.problems(NODE), Vec::<String>::new());

    // Nothing changes, so nothing is written.
    let versions = || async {
        let node = Api::<Node>::all(live.client()).get(NODE).await.unwrap();
        let pods = [
            live.pod(agents, NODE).await.unwrap(),
            live.pod(proxies, NODE).await.unwrap(),
        ];
        (node.annotations().clone(), pods.map(|pod| pod.resource_version()))
    };
    let before = versions().await;
    live.simulator.shared.wake(NODE);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(versions().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_calico_v1() {
    a_node_from_nothing_to_ready(InstalledApi::V1, CalicoApi::V1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_calico_v3() {
    a_node_from_nothing_to_ready(InstalledApi::V3, CalicoApi::V3).await;
}
