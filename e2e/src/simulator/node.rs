//! One look at one node: what becomes of its agent and its kube-proxy now, and the writes that follow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams};
use kube::{Error, ResourceExt as _};
use serde_json::json;
use wn_api::calico::CalicoApi;

use super::agent_run;
use super::cache::{AGENT, Cache, FLANNEL, KUBE_PROXY, KUBE_PROXY_NO_DSR, STATIC_ROUTES};
use super::containers::{self, PodContext, Resolved, Unresolved};
use super::engine::Shared;
use super::failure::{Failure, Kind};
use super::faults::{self, Fault};
use super::ipam;
use super::kube_proxy::{self, Network, ProxyInput};
use super::network_agent;
use super::pod_status::{self, Outcome};

/// What is remembered of a node between two looks.
#[derive(Clone, Default)]
pub struct Run {
    /// HNS network `Calico`: it outlives the agent that made it.
    pub network: Option<Network>,
    /// Name and type of the HNS network that flannel or static routes made.
    pub other: Option<(String, Network)>,
    /// Starts of pods (`start_id`) that succeeded, and when they began.
    pub started: BTreeMap<String, String>,
    /// What running containers were given when they started: a ConfigMap edited since does not reach them.
    given: BTreeMap<String, Arc<Vec<Resolved>>>,
}

/// By the node's UID: a reinstalled host with an old name has no network.
pub type Runs = BTreeMap<String, Run>;

/// The node and its agents at one moment.
pub struct View {
    pub node: Arc<Node>,
    /// When this look began: what starts in it started then, before anything it wrote.
    pub at: String,
    pub ip: Option<String>,
    pub agents: Vec<Arc<Pod>>,
    network_agents: Vec<Arc<Pod>>,
    proxies: Vec<Arc<Pod>>,
    pub faults: BTreeSet<Fault>,
    pub run: Run,
}

/// An outcome, and what the log says when it is not a good one.
pub type Seen = (Outcome, Option<String>);

pub async fn sync(shared: &Shared, name: &str) -> Result<(), Error> {
    let Some(mut view) = view(shared, name) else {
        shared.set_problems(name, Vec::new());
        return Ok(());
    };
    let mut problems = Vec::new();
    for pod in view.agents.clone() {
        let seen = agent_run::look(shared, &mut view, &pod).await;
        shared.runs().insert(uid(&*view.node), view.run.clone());
        let (outcome, problem) = seen?;
        problems.extend(problem.map(|problem| format!("{AGENT}: {problem}")));
        write(shared, &view, &pod, &outcome).await?;
    }
    for pod in view.network_agents.clone() {
        let (outcome, problem) = network_agent::look(shared, &mut view, &pod);
        problems.extend(problem.map(|problem| format!("{}: {problem}", pod.name_any())));
        shared.runs().insert(uid(&*view.node), view.run.clone());
        write(shared, &view, &pod, &outcome).await?;
    }
    for pod in view.proxies.clone() {
        let (outcome, problem) = kube_proxy(shared, &mut view, &pod);
        problems.extend(problem.map(|problem| format!("{KUBE_PROXY}: {problem}")));
        shared.runs().insert(uid(&*view.node), view.run.clone());
        write(shared, &view, &pod, &outcome).await?;
    }
    shared.set_problems(name, problems);
    Ok(())
}

fn view(shared: &Shared, name: &str) -> Option<View> {
    let cache = shared.cache();
    let node = Arc::clone(cache.nodes.get(name)?);
    let pods = cache.pods.get(name);
    let of = |app: &str| -> Vec<Arc<Pod>> {
        let all = pods.into_iter().flat_map(BTreeMap::values);
        all.filter(|pod| lives(pod) && pod.labels().get("k8s-app").map(String::as_str) == Some(app))
            .cloned()
            .collect()
    };
    let agents = of(AGENT);
    let proxies: Vec<_> = [KUBE_PROXY, KUBE_PROXY_NO_DSR].into_iter().flat_map(of).collect();
    let network_agents: Vec<_> = [FLANNEL, STATIC_ROUTES].into_iter().flat_map(of).collect();
    let known = shared.runs().get(&uid(&*node)).cloned();
    let all = || agents.iter().chain(&network_agents).chain(&proxies);
    // Another simulator may have run these pods before.
    let ready = || all().filter(|pod| pod_status::is_ready(pod));
    let mut run = known.unwrap_or_else(|| Run {
        network: network_of(&cache, &node),
        started: ready().map(|pod| (start_id(pod), now())).collect(),
        ..Run::default()
    });
    let live: BTreeSet<String> = all().map(|pod| uid(&**pod)).collect();
    let starts: BTreeSet<String> = all().map(|pod| start_id(pod)).collect();
    run.started.retain(|start, _| starts.contains(start));
    run.given.retain(|pod, _| live.contains(pod));
    Some(View {
        at: now(),
        ip: internal_ip(&node),
        node,
        agents,
        network_agents,
        proxies,
        faults: shared.faults().of(name),
        run,
    })
}

fn kube_proxy(shared: &Shared, view: &mut View, pod: &Pod) -> Seen {
    let id = start_id(pod);
    let crash = view.faults.iter().find_map(|fault| fault.kube_proxy_crash());
    if crash.is_some() {
        view.run.started.remove(&id);
    }
    if view.run.started.contains_key(&id) {
        return running_proxy(view);
    }
    let given = match given(shared, view, pod, Fault::KubeProxyImagePull) {
        Ok(given) => given,
        Err(seen) => return seen,
    };
    let Some(container) = given.iter().find(|one| one.name == "kube-proxy").or(given.last()) else {
        return (Outcome::Running, Some("the pod has no container".to_owned()));
    };
    if let Some(words) = crash {
        return failed(view, pod, &container.name, Failure::exit(words));
    }
    let cluster_ip = shared.cache().cluster_ip.clone();
    let name = view.node.name_any();
    let info = view
        .node
        .status
        .as_ref()
        .and_then(|status| status.node_info.as_ref());
    let verdict = kube_proxy::start(&ProxyInput {
        host_process: is_host_process(pod),
        script: kube_proxy::script_of(container),
        flags: kube_proxy::flags(&container.args),
        minor: kube_proxy::minor(&container.image, &container.env),
        env: &container.env,
        node_name: &name,
        cluster_ip: cluster_ip.as_deref(),
        kernel: info.map_or("", |info| info.kernel_version.as_str()),
        network: view.run.network,
        other: view
            .run
            .other
            .as_ref()
            .map(|(name, network)| (name.as_str(), *network)),
        endpoint: has_tunnel(&view.node),
    });
    match verdict {
        Err(failure) => failed(view, pod, &container.name, failure),
        Ok(()) => {
            view.run.started.insert(id, view.at.clone());
            running_proxy(view)
        }
    }
}

fn running_proxy(view: &View) -> Seen {
    if view.faults.contains(&Fault::KubeProxyNotReady) {
        (
            Outcome::Running,
            Some("kube-proxy is not ready: injected".to_owned()),
        )
    } else {
        (Outcome::Ready, None)
    }
}

/// What the pod's containers are given, or why they cannot be started.
pub fn given(
    shared: &Shared,
    view: &mut View,
    pod: &Pod,
    image_fault: Fault,
) -> Result<Arc<Vec<Resolved>>, Seen> {
    if let Some(given) = view.run.given.get(&uid(pod)) {
        return Ok(Arc::clone(given));
    }
    let report = |outcome: Outcome| {
        let message = match &outcome {
            Outcome::Waiting { reason, message, .. } => Some(format!("{reason}: {message}")),
            _ => None,
        };
        (outcome, message)
    };
    if let Some(outcome) = faults::image_problem(pod, view.faults.contains(&image_fault)) {
        return Err(report(outcome));
    }
    let cache = shared.cache();
    let context = PodContext {
        config_maps: &cache.config_maps,
        cluster_ip: cache.cluster_ip.as_deref(),
        node_ip: view.ip.as_deref().unwrap_or_default(),
    };
    match containers::resolve(pod, &context) {
        Ok(resolved) => {
            let given = Arc::new(resolved);
            view.run.given.insert(uid(pod), Arc::clone(&given));
            Ok(given)
        }
        Err(Unresolved::Volume(message)) => Err((Outcome::Creating, Some(message))),
        Err(Unresolved::Container { name, message }) => Err(report(Outcome::Waiting {
            container: name,
            reason: "CreateContainerConfigError",
            message,
        })),
    }
}

/// Reads the pod's files again: a mounted ConfigMap changes under a running container.
pub fn reread(view: &mut View, pod: &Pod) {
    view.run.given.remove(&uid(pod));
}

/// A container that did not stay up is started again, and then reads everything again.
pub fn failed(view: &mut View, pod: &Pod, container: &str, failure: Failure) -> Seen {
    let (container, message) = (container.to_owned(), failure.message.clone());
    let outcome = match failure.kind {
        Kind::Waits => return (Outcome::Running, Some(message)),
        Kind::Create => Outcome::Waiting {
            container,
            reason: "CreateContainerError",
            message,
        },
        Kind::Exit => Outcome::Crashing { container, message },
    };
    view.run.given.remove(&uid(pod));
    (outcome, Some(failure.message))
}

/// As a kubelet writes it, and only when it says something new.
async fn write(shared: &Shared, view: &View, pod: &Pod, outcome: &Outcome) -> Result<(), Error> {
    let began = view.run.started.get(&start_id(pod)).unwrap_or(&view.at);
    let status = pod_status::status(pod, view.ip.as_deref(), outcome, began);
    if pod_status::says(&json!(pod.status), &status) {
        return Ok(());
    }
    let params = PatchParams {
        field_manager: Some("kubelet".to_owned()),
        ..PatchParams::default()
    };
    // The UID keeps the status away from a pod of the same name that came since.
    let patch = json!({"metadata": {"uid": uid(pod)}, "status": status});
    let pods: Api<Pod> = Api::namespaced(shared.client.clone(), &pod.namespace().unwrap_or_default());
    match pods
        .patch_status(&pod.name_any(), &params, &Patch::Merge(&patch))
        .await
    {
        Err(Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
        result => result.map(drop),
    }
}

/// What an earlier simulator left on the node.
fn network_of(cache: &Cache, node: &Node) -> Option<Network> {
    if has_tunnel(node) {
        return Some(Network::Overlay);
    }
    let name = node.name_any();
    let holds = |api| ipam::block_of(&cache.calico(api).blocks(), &name).is_some();
    let started = node.annotations().contains_key("projectcalico.org/IPv4Address");
    (started && (holds(CalicoApi::V1) || holds(CalicoApi::V3))).then_some(Network::L2Bridge)
}

fn has_tunnel(node: &Node) -> bool {
    node.annotations()
        .contains_key("projectcalico.org/IPv4VXLANTunnelAddr")
}

fn internal_ip(node: &Node) -> Option<String> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    addresses
        .iter()
        .find(|one| one.type_ == "InternalIP")
        .map(|one| one.address.clone())
}

fn lives(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// `securityContext.windowsOptions.hostProcess`, of the container or else of the pod, with the host
/// network that it needs.
pub fn is_host_process(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let of_pod = spec
        .security_context
        .as_ref()
        .and_then(|context| context.windows_options.as_ref());
    containers::all_containers(spec).all(|container| {
        let own = container
            .security_context
            .as_ref()
            .and_then(|context| context.windows_options.as_ref());
        let flag = own
            .and_then(|own| own.host_process)
            .or(of_pod.and_then(|pod| pod.host_process));
        flag == Some(true)
    }) && spec.host_network == Some(true)
}

/// The pod, and of Calico's agent the run of its container `node`: each one runs startup again (`node-service.ps1`).
pub fn start_id(pod: &Pod) -> String {
    let statuses = pod.status.as_ref().and_then(|s| s.container_statuses.as_ref());
    let node = statuses.into_iter().flatten().find(|one| one.name == "node");
    format!("{}/{}", uid(pod), node.map_or(0, |one| one.restart_count))
}

pub fn uid(object: &impl kube::ResourceExt) -> String {
    object.uid().unwrap_or_default()
}

pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
