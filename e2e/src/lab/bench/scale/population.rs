//! Windows nodes as kubelets and Calico's agents leave them. The node simulator judges every pod of an
//! agent and cannot keep up with thousands, so what a successful start writes is written right away.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use wn_api::calico::CalicoApi;
use wn_api::names;

use super::field::{Field, POOL_BASE, now, together};
use crate::control_plane::NodeSpec;
use crate::objects;
use crate::operator::NAME;
use crate::simulator::ipam::{self, Cidr};

/// A block of 64 addresses has 60 for pods; more would be advice on every node.
const BLOCK: u32 = 64;
const MAX_PODS: u32 = 60;
const CONTAINER_RUNTIME: &str = "containerd://2.0.5";
/// Patience without a further pod becoming ready.
const STALL: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(500);
/// Of a kubelet with nothing new to say: `nodeStatusReportFrequency`.
pub const HEARTBEAT: Duration = Duration::from_mins(5);

pub fn name(number: usize) -> String {
    format!("windows-{number}")
}

/// Adds Windows nodes until there are so many, with whatever runs their pods, and waits until those are ready.
pub async fn populate(field: &mut Field, nodes: usize) -> Result<()> {
    together((field.nodes..nodes).map(|number| node(field, number))).await?;
    pods_ready(&field.client, nodes).await?;
    field.nodes = nodes;
    Ok(())
}

/// The same where nothing runs pods any more. Scheduler, kwok and the controller's own pace would take many
/// minutes for thousands of nodes; so the pods are copies of those of the first node, there before their
/// node is, and the DaemonSet controller finds nothing to do but to count.
pub async fn multiply(field: &mut Field, nodes: usize) -> Result<Duration> {
    let began = Instant::now();
    pods_ready(&field.client, field.nodes).await?;
    let patterns = patterns(field).await?;
    field.cluster.end_players();
    together((field.nodes..nodes).map(|number| with_pods(field, &patterns, number))).await?;
    pods_ready(&field.client, nodes).await?;
    field.nodes = nodes;
    Ok(began.elapsed())
}

async fn with_pods(field: &Field, patterns: &[Pod], number: usize) -> Result<()> {
    together(patterns.iter().map(|pattern| copy(field, pattern, number))).await?;
    node(field, number).await
}

/// The pods of the first node.
async fn patterns(field: &Field) -> Result<Vec<Pod>> {
    let params = ListParams::default().fields(&format!("spec.nodeName={}", name(0)));
    let pods = field.pods().list(&params).await?.items;
    if pods.len() != 2 {
        bail!(
            "node {} has {} pods, not those of agent and kube-proxy",
            name(0),
            pods.len()
        );
    }
    Ok(pods)
}

async fn copy(field: &Field, pattern: &Pod, number: usize) -> Result<()> {
    let node = name(number);
    let owner = pattern
        .owner_references()
        .first()
        .context("a DaemonSet's pod has an owner")?;
    let pod = format!("{}-{number}", owner.name);
    let mut spec = json!(pattern.spec);
    spec["nodeName"] = json!(node);
    let terms = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    *spec
        .pointer_mut(&format!("{terms}/0/matchFields/0/values"))
        .context("a DaemonSet's pod is meant for one node")? = json!([node]);
    let object = json!({
        "metadata": {
            "name": pod,
            "labels": pattern.labels(),
            "annotations": pattern.annotations(),
            "ownerReferences": [owner],
        },
        "spec": spec,
    });
    let params = PostParams::default();
    field
        .pods()
        .create(&params, &serde_json::from_value(object)?)
        .await
        .with_context(|| format!("create pod {pod}"))?;
    let status = json!({"status": pattern.status});
    field
        .pods()
        .patch_status(&pod, &PatchParams::default(), &Patch::Merge(status))
        .await
        .with_context(|| format!("status of pod {pod}"))?;
    Ok(())
}

/// A node and its block of addresses.
async fn node(field: &Field, number: usize) -> Result<()> {
    let base = u32::from(POOL_BASE) + BLOCK * u32::try_from(number)?;
    let [address, tunnel] = [base, base + 1].map(std::net::Ipv4Addr::from);
    let block = Cidr::parse(&format!("{address}/26")).context("a block is a CIDR")?;
    let [a, b, c, d] = tunnel.octets();
    let name = name(number);
    let spec = NodeSpec::windows(&name)
        .container_runtime(CONTAINER_RUNTIME)
        .max_pods(MAX_PODS)
        .ready()
        .annotation("projectcalico.org/IPv4Address", format!("172.20.{c}.{d}/16"))
        .annotation("projectcalico.org/IPv4VXLANTunnelAddr", tunnel.to_string())
        .annotation(
            "projectcalico.org/VXLANTunnelMACAddr",
            format!("0e:2a:{a:02x}:{b:02x}:{c:02x}:{d:02x}"),
        );
    let calico_api = CalicoApi::V1;
    let affinity = ipam::affinity(calico_api, block, &name, "confirmed");
    create(&field.client, "blockaffinities", affinity).await?;
    let owned = ipam::block(calico_api, block, &name, &now(), 1);
    create(&field.client, "ipamblocks", owned).await?;
    field.cluster.add_node(spec).await
}

async fn create(client: &Client, plural: &str, object: Value) -> Result<()> {
    let kind = objects::text(&object, "/kind");
    let resource: ApiResource =
        objects::resource(CalicoApi::V1.group(), CalicoApi::V1.version(), kind, plural);
    let object: DynamicObject = serde_json::from_value(object)?;
    Api::all_with(client.clone(), &resource)
        .create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("create an object of {plural}"))?;
    Ok(())
}

async fn pods_ready(client: &Client, nodes: usize) -> Result<()> {
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), NAME);
    let wanted = i32::try_from(nodes)?;
    let (mut most, mut since) = (0, Instant::now());
    loop {
        let mut ready = [0; 2];
        for (count, name) in ready
            .iter_mut()
            .zip([names::node_agent::DAEMON_SET, names::kube_proxy::DAEMON_SET])
        {
            *count = sets
                .get(name)
                .await?
                .status
                .map_or(0, |status| status.number_ready);
        }
        if ready == [wanted; 2] {
            return Ok(());
        }
        let sum = ready.iter().sum();
        if sum > most {
            (most, since) = (sum, Instant::now());
        }
        if since.elapsed() > STALL {
            bail!("of {nodes} pods of agent and kube-proxy {ready:?} are ready, and no more become so");
        }
        tokio::time::sleep(POLL).await;
    }
}

/// What a kubelet writes of a node that has not changed.
pub async fn heartbeat(client: Client, node: String) -> Result<()> {
    let now = now();
    let conditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
        .map(|type_| json!({"type": type_, "lastHeartbeatTime": now}));
    Api::<Node>::all(client)
        .patch_status(
            &node,
            &PatchParams::default(),
            &Patch::Strategic(json!({"status": {"conditions": conditions}})),
        )
        .await
        .with_context(|| format!("heartbeat of {node}"))?;
    Ok(())
}
