//! A cluster with one Windows node about which there is nothing to say, and what is advised of it.

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_e2e::control_plane::{CalicoApi, ClusterOptions, NodeSpec};
use wn_e2e::objects::text;
use wn_e2e::test_cluster::TestCluster;

pub const FELIX: ConfigKind = ConfigKind::FelixConfiguration;
pub const POOL: ConfigKind = ConfigKind::IpPool;
pub const DEFAULT: &str = "default";
pub const POOL_NAME: &str = "default-ipv4-ippool";
pub const NODE: &str = "win-0";
/// A plain write by this manager is somebody's `kubectl edit`.
pub const PERSON: &str = "kubectl-edit";
const ANNOTATION: &str = "projectcalico.org/RouteReflectorClusterID";

/// The chart is installed, the operator does not run yet.
pub async fn test_cluster(calico_api: CalicoApi, annotated: bool) -> Result<TestCluster> {
    let options = ClusterOptions {
        calico_api,
        windows_nodes: 0,
        ..ClusterOptions::default()
    };
    let test = TestCluster::without_operator(options).await?;
    // With more pods than a block of 64 addresses holds there would be advice in any case.
    let node = NodeSpec::windows(NODE).max_pods(60);
    let node = if annotated {
        node.annotation(ANNOTATION, "244.0.0.1")
    } else {
        node
    };
    test.cluster.add_node(node).await?;
    Ok(test)
}

/// Creates an object of Calico's in the API of this cluster.
pub async fn create(test: &TestCluster, kind: &str, plural: &str, name: &str, spec: Value) -> Result<()> {
    let api_version = format!("{}/{}", test.calico_api.group(), test.calico_api.version());
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    // Its API may need a moment to be served.
    test.until(&format!("{kind} {name} is made"), async || {
        Ok(test.create(plural, object.clone()).await.ok())
    })
    .await
}

pub async fn delete(test: &TestCluster, plural: &str, name: &str) -> Result<()> {
    let resource = format!("{plural}.{}", test.calico_api.group());
    test.cluster.kubectl(&["delete", &resource, name]).await?;
    Ok(())
}

pub async fn no_route_reflector(test: &TestCluster) -> Result<()> {
    let remove = format!("{ANNOTATION}-");
    test.cluster.kubectl(&["annotate", "node", NODE, &remove]).await?;
    Ok(())
}

pub async fn felix(test: &TestCluster, spec: Value) -> Result<()> {
    test.edit(FELIX, DEFAULT, spec, PERSON).await
}

/// Changes the spec of an object of Calico's of any kind.
pub async fn patch(test: &TestCluster, kind: &str, plural: &str, name: &str, spec: Value) -> Result<()> {
    let (group, version) = (test.calico_api.group(), test.calico_api.version());
    let resource = wn_e2e::objects::resource(group, version, kind, plural);
    let api = kube::Api::<kube::api::DynamicObject>::all_with(test.client.clone(), &resource);
    api.patch(
        name,
        &PatchParams::default(),
        &Patch::Merge(json!({ "spec": spec })),
    )
    .await?;
    Ok(())
}

/// `status.advisories.list`.
pub fn list(config: &Value) -> Vec<Value> {
    let list = config
        .pointer("/status/advisories/list")
        .and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

pub fn codes(config: &Value) -> Vec<String> {
    list(config).iter().map(|a| text(a, "/code").to_owned()).collect()
}

/// Waits until these advisories are in the status and no others, in this order.
pub async fn advised(test: &TestCluster, wanted: &[&str]) -> Result<Value> {
    test.until(&format!("advisories {wanted:?}"), async || {
        let config = test.config().await?;
        Ok((codes(&config) == wanted).then_some(config))
    })
    .await
}

/// Notes of the Events about advisories, each as often as it was written, with their type.
pub async fn advisory_events(test: &TestCluster) -> Result<Vec<(String, String)>> {
    let mut events = test.events_on("WindowsNodeConfig", DEFAULT).await?;
    events.retain(|e| e["reason"] == "AdvisoriesFound");
    events.sort_by_key(|e| text(e, "/eventTime").to_owned());
    let times = |e: &Value| e.pointer("/series/count").and_then(Value::as_u64).unwrap_or(1);
    Ok(events
        .iter()
        .flat_map(|e| {
            let one = (text(e, "/type").to_owned(), text(e, "/note").to_owned());
            vec![one; usize::try_from(times(e)).unwrap_or_default()]
        })
        .collect())
}

/// A value of the operator's metrics.
pub async fn metric(test: &TestCluster, series: &str) -> Result<Option<f64>> {
    let Some(operator) = &test.operator else {
        return Ok(None);
    };
    let body = operator.get("/metrics").await?;
    let value = body
        .lines()
        .find_map(|line| line.strip_prefix(&format!("windows_node_operator_{series} ")));
    Ok(value.and_then(|v| v.trim().parse().ok()))
}
