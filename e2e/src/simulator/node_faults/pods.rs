//! What befalls the two agents' pods of a node.

use anyhow::{Context as _, Result};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::undo::{self, Part, Undo};
use crate::objects::{self, text};
use crate::simulator::cache::{AGENT, FLANNEL, KUBE_PROXY, STATIC_ROUTES};

/// One of the programs on a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum App {
    Agent,
    KubeProxy,
    /// What networks the node where Calico does not.
    NetworkAgent,
}

impl App {
    const ALL: [Self; 3] = [Self::Agent, Self::KubeProxy, Self::NetworkAgent];

    /// Values of label `k8s-app`.
    fn labels(self) -> String {
        match self {
            Self::Agent => AGENT.to_owned(),
            Self::KubeProxy => KUBE_PROXY.to_owned(),
            Self::NetworkAgent => format!("{FLANNEL},{STATIC_ROUTES}"),
        }
    }
}

fn api(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(
        client.clone(),
        namespace,
        &objects::resource("", "v1", "Pod", "pods"),
    )
}

/// Pods of one app on the node.
async fn of(client: &Client, node: &str, app: App) -> Result<Vec<Value>> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &objects::resource("", "v1", "Pod", "pods"));
    let params = ListParams::default()
        .labels(&format!("k8s-app in ({})", app.labels()))
        .fields(&format!("spec.nodeName={node}"));
    all.list(&params).await?.iter().map(objects::json).collect()
}

/// Deletes the pod; its DaemonSet makes another one.
pub async fn replace(client: &Client, node: &str, app: App) -> Result<()> {
    for pod in of(client, node, app).await? {
        let pods = api(client, text(&pod, "/metadata/namespace"));
        pods.delete(text(&pod, "/metadata/name"), &Default::default())
            .await?;
    }
    Ok(())
}

/// Another image in the pod itself: the one thing of a running pod that may be changed.
pub async fn image(client: &Client, node: &str, app: App, tag: &str) -> Result<Undo> {
    let all = of(client, node, app).await?;
    let pod = all.first().context("the pod is not there")?;
    let container = pod
        .pointer("/spec/containers/0")
        .context("a pod without containers")?;
    let (repository, _) = text(container, "/image")
        .rsplit_once(':')
        .context("an image without a tag")?;
    let pods = api(client, text(pod, "/metadata/namespace"));
    let entry = json!({"name": container["name"], "image": format!("{repository}:{tag}")});
    let name = text(pod, "/metadata/name");
    undo::entry(&pods, name, Part::Main, ["spec", "containers"], "name", entry).await
}

/// Says of every running container of both apps that it started at a time `ago`.
pub async fn age(client: &Client, node: &str, ago: SignedDuration) -> Result<()> {
    started(client, node, Timestamp::now() - ago, 0).await
}

/// The containers of both apps ended and were started again, as after a reboot.
pub async fn restart(client: &Client, node: &str) -> Result<()> {
    started(client, node, Timestamp::now(), 1).await
}

/// Says of the first container of `app` that it was restarted so often, and that its last run ended a time `ago`.
pub async fn crashed(
    client: &Client,
    node: &str,
    app: App,
    restarts: i64,
    ago: SignedDuration,
) -> Result<()> {
    let end = time(Timestamp::now() - ago);
    let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": end, "finishedAt": end});
    for pod in of(client, node, app).await? {
        let mut statuses = pod
            .pointer("/status/containerStatuses")
            .cloned()
            .unwrap_or_default();
        statuses[0]["restartCount"] = json!(restarts);
        statuses[0]["lastState"] = json!({ "terminated": ended });
        tell(client, &pod, statuses).await?;
    }
    Ok(())
}

async fn tell(client: &Client, pod: &Value, statuses: Value) -> Result<()> {
    let pods = api(client, text(pod, "/metadata/namespace"));
    let patch = Patch::Merge(json!({ "status": { "containerStatuses": statuses } }));
    let name = text(pod, "/metadata/name");
    pods.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

async fn started(client: &Client, node: &str, at: Timestamp, restarts: i64) -> Result<()> {
    for app in App::ALL {
        for pod in of(client, node, app).await? {
            let mut statuses = pod
                .pointer("/status/containerStatuses")
                .cloned()
                .unwrap_or_default();
            for status in statuses.as_array_mut().into_iter().flatten() {
                run_since(status, at, restarts);
            }
            tell(client, &pod, statuses).await?;
        }
    }
    Ok(())
}

fn run_since(status: &mut Value, at: Timestamp, restarts: i64) {
    if let Some(started) = status.pointer_mut("/state/running/startedAt") {
        *started = json!(time(at));
        let count = status["restartCount"].as_i64().unwrap_or_default();
        status["restartCount"] = json!(count + restarts);
    }
}

/// No pod fits on the node any more, and the one of `app` was taken away: its successor waits for a place.
pub async fn no_room(client: &Client, node: &str, app: App) -> Result<Undo> {
    let undo = super::nodes::max_pods(client, node, 0).await?;
    replace(client, node, app).await?;
    Ok(undo)
}
