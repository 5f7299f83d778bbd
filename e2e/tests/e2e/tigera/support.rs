//! A cluster that tigera/operator installs Calico on, and who watches its nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use kube_runtime::watcher::{Config, Event, watcher};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{CalicoApi, Cluster, ClusterOptions, Neighbour};
use wn_e2e::objects;
use wn_e2e::operator::Operator;
use wn_e2e::simulator::Simulator;
use wn_e2e::test_cluster::TestCluster;
use wn_e2e::tigera::Tigera;

pub const POOL: &str = "default-ipv4-ippool";
pub const AGENT: &str = "calico-node-windows";
pub const THEIRS: &str = "calico-system";
pub const PERSON: &str = "kubectl-edit";

/// Calico's CRDs and tigera/operator's; no pool yet, because that is tigera/operator's to make.
pub async fn test_cluster(calico_api: CalicoApi, allowed: bool) -> Result<TestCluster> {
    let options = ClusterOptions {
        calico_api,
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await?;
    for namespace in ["tigera-operator", THEIRS] {
        cluster.kubectl(&["create", "namespace", namespace]).await?;
    }
    cluster.install_neighbour(Neighbour::Installation).await?;
    cluster.install_neighbour(Neighbour::TigeraStatus).await?;
    let client = cluster.client();
    let calico_api = objects::calico_api(&client)
        .await?
        .unwrap_or(wn_api::calico::CalicoApi::V1);
    let pools = objects::calico(&client, calico_api, ConfigKind::IpPool);
    pools.delete(POOL, &DeleteParams::default()).await?;
    let value = allowed.then_some(("tigeraOperator.enabled", "true"));
    Operator::install(&cluster, value.as_slice()).await?;
    let test = TestCluster {
        operator: None,
        simulator: Simulator::start(client.clone()),
        client,
        calico_api,
        cluster,
    };
    Ok(test)
}

/// Runs tigera/operator and gives it `custom-resources.yaml`; ends when it has made the pool.
pub async fn install_calico(test: &TestCluster) -> Result<Tigera> {
    let object = json!({
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"},
        "spec": {"calicoNetwork": {"ipPools": [{
            "name": POOL, "blockSize": 26, "cidr": "10.244.0.0/16", "encapsulation": "VXLANCrossSubnet",
            "natOutgoing": "Enabled", "nodeSelector": "all()",
        }]}},
    });
    test.until("Installation is served", async || {
        Ok(test
            .create("installations", object.clone())
            .await
            .is_ok()
            .then_some(()))
    })
    .await?;
    let tigera = Tigera::start(test.client.clone());
    test.field(ConfigKind::IpPool, POOL, "vxlanMode", json!("CrossSubnet"))
        .await?;
    test.until("tigera/operator's defaults", async || {
        let bgp = installation(test).await?["calicoNetwork"]["bgp"] == "Enabled";
        Ok(bgp.then_some(()))
    })
    .await?;
    Ok(tigera)
}

/// Runs tigera/operator with an Installation that has Windows switched on from the first.
pub async fn start_cold(test: &TestCluster) -> Result<Tigera> {
    let object = json!({
        "apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"},
        "spec": {"calicoNetwork": {"windowsDataplane": "HNS", "ipPools": [{
            "name": POOL, "cidr": "10.244.0.0/16", "encapsulation": "VXLAN",
        }]}},
    });
    test.until("Installation is served", async || {
        Ok(test
            .create("installations", object.clone())
            .await
            .is_ok()
            .then_some(()))
    })
    .await?;
    Ok(Tigera::start(test.client.clone()))
}

fn installations(test: &TestCluster) -> Api<DynamicObject> {
    let resource = objects::resource("operator.tigera.io", "v1", "Installation", "installations");
    Api::all_with(test.client.clone(), &resource)
}

/// `spec` of the Installation.
pub async fn installation(test: &TestCluster) -> Result<Value> {
    Ok(objects::json(&installations(test).get("default").await?)?["spec"].take())
}

/// Waits until `spec` of the Installation is as `look` wants it.
pub async fn installation_until(test: &TestCluster, what: &str, look: impl Fn(&Value) -> bool) -> Result<()> {
    test.until(what, async || Ok(look(&installation(test).await?).then_some(())))
        .await
}

/// A plain update of the Installation by a person.
pub async fn edit(test: &TestCluster, spec: Value) -> Result<()> {
    let params = PatchParams {
        field_manager: Some(PERSON.to_owned()),
        ..PatchParams::default()
    };
    installations(test)
        .patch("default", &params, &Patch::Merge(json!({ "spec": spec })))
        .await?;
    Ok(())
}

/// The condition of a TigeraStatus that is True, and its message; empty where there is none.
pub async fn tigera_says(test: &TestCluster, name: &str) -> Result<String> {
    let resource = objects::resource("operator.tigera.io", "v1", "TigeraStatus", "tigerastatuses");
    let api: Api<DynamicObject> = Api::all_with(test.client.clone(), &resource);
    let Some(status) = api.get_opt(name).await? else {
        return Ok(String::new());
    };
    let status = objects::json(&status)?;
    let all = status["status"]["conditions"].as_array();
    let on = all.into_iter().flatten().find(|c| c["status"] == "True");
    Ok(on.map_or_else(String::new, |c| format!("{}: {}", c["type"], c["message"])))
}

pub async fn tigera_until(test: &TestCluster, name: &str, part: &str) -> Result<()> {
    test.until(&format!("TigeraStatus {name} says {part}"), async || {
        Ok(tigera_says(test, name).await?.contains(part).then_some(()))
    })
    .await
}

/// Whether DaemonSet `calico-system/calico-node-windows` exists.
pub async fn theirs_exists(test: &TestCluster) -> Result<bool> {
    Ok(theirs(test).get_opt(AGENT).await?.is_some())
}

pub fn theirs(test: &TestCluster) -> Api<DynamicObject> {
    let resource = objects::resource("apps", "v1", "DaemonSet", "daemonsets");
    Api::namespaced_with(test.client.clone(), THEIRS, &resource)
}

/// Has one pod of the agent in a namespace take its time to end, as one on a slow node does; its name.
pub async fn hold_a_pod(test: &TestCluster, namespace: &str) -> Result<String> {
    let label = format!("k8s-app={AGENT}");
    let list = ["get", "pods", "-n", namespace, "-l", &label, "-o", "name"];
    let pods = test.cluster.kubectl(&list).await?;
    let pod = pods.lines().next().unwrap_or_default().to_owned();
    finalizers(test, namespace, &pod, json!(["lab.example/slow"])).await?;
    Ok(pod)
}

pub async fn let_go(test: &TestCluster, namespace: &str, pod: &str) -> Result<()> {
    finalizers(test, namespace, pod, Value::Null).await
}

async fn finalizers(test: &TestCluster, namespace: &str, pod: &str, list: Value) -> Result<()> {
    let patch = json!({"metadata": {"finalizers": list}}).to_string();
    let line = ["patch", pod, "-n", namespace, "--type=merge", "-p", &patch];
    test.cluster.kubectl(&line).await?;
    Ok(())
}

/// Watches every pod of an agent, and remembers nodes that had pods of two agents at once.
pub struct Witness {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    /// Namespaces of agents' pods, by node and name of the pod.
    pods: BTreeMap<(String, String), String>,
    /// Every namespace an agent ran from.
    namespaces: BTreeSet<String>,
    together: Vec<String>,
}

impl Witness {
    pub fn start(client: Client) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let config = Config::default().labels(&format!("k8s-app={AGENT}"));
            let mut events = watcher(Api::<Pod>::all(client), config).boxed();
            while let Some(event) = events.next().await {
                if event.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Ok(Event::Apply(pod) | Event::InitApply(pod)) => seen.here(&pod),
                    Ok(Event::Delete(pod)) => drop(seen.pods.remove(&key(&pod))),
                    Ok(Event::Init | Event::InitDone) | Err(_) => {}
                }
            }
        });
        Self { seen, task }
    }

    /// Fails when two agents were on one node, or when not both were ever seen.
    pub fn swears(&self) -> Result<()> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(
            seen.together.is_empty(),
            "two agents on one node: {:?}",
            seen.together
        );
        ensure!(seen.namespaces.len() == 2, "only seen: {:?}", seen.namespaces);
        Ok(())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    fn here(&mut self, pod: &Pod) {
        let (node, name) = key(pod);
        let namespace = pod.namespace().unwrap_or_default();
        let others = self
            .pods
            .iter()
            .filter(|((at, _), from)| *at == node && **from != namespace);
        let others: Vec<_> = others
            .map(|((_, other), from)| format!("{from}/{other}"))
            .collect();
        if !others.is_empty() {
            self.together
                .push(format!("{node}: {namespace}/{name} beside {others:?}"));
        }
        self.namespaces.insert(namespace.clone());
        self.pods.insert((node, name), namespace);
    }
}

/// The node a pod is on, or is made for before it is placed, and the pod's name.
fn key(pod: &Pod) -> (String, String) {
    let spec = serde_json::to_value(&pod.spec).unwrap_or_default();
    const TERMS: &str = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    (objects::text(&spec, TERMS).to_owned(), pod.name_any())
}
