//! Objects of ours: those that differ from what they should be, and those that should not be.

use serde_json::{Value, json};
use wn_api::WindowsNodeConfig;
use wn_api::names::annotations::INTENT;
use wn_api::names::{self, labels, managers, tigera};

use super::{ObjectWrite, Plan};
use crate::drift::covers;
use crate::inputs::Inputs;
use crate::observed::{App, Observed, OwnKind, OwnObject, Source};
use crate::standing::Standing;
use crate::tigera::Turn;
use crate::workload::Workload;

/// Notes what the workloads of an app are, and their objects where they differ. Without any, nothing is known of what
/// should be, and what is there stays.
pub fn add(
    plan: &mut Plan,
    workloads: &[Workload],
    app: App,
    config: &WindowsNodeConfig,
    observed: &Observed,
) {
    let (target, manager) = match app {
        App::NodeAgent => (&mut plan.agent, managers::NODE_AGENT),
        App::NetworkAgent => (&mut plan.network_agent, managers::NETWORK_AGENT),
        App::KubeProxy => (&mut plan.proxy, managers::KUBE_PROXY),
    };
    if target.standing != Standing::Managed || target.blocked.is_some() || workloads.is_empty() {
        return;
    }
    let mut writes = Vec::new();
    let mut kept = Vec::new();
    for workload in workloads {
        let daemon_set = workload.daemon_set.metadata.name.as_deref().unwrap_or_default();
        let planned = target.daemon_sets.iter_mut().find(|d| d.name == daemon_set);
        if let Some(planned) = planned {
            planned.image = image(workload);
            if planned.blocked.is_some() {
                kept.push(daemon_set);
                continue;
            }
        }
        let maps = [&workload.config_map, &workload.followed];
        let maps = maps
            .into_iter()
            .flatten()
            .map(|map| (OwnKind::ConfigMap, to_json(map)));
        let all = maps.chain([(OwnKind::DaemonSet, to_json(&workload.daemon_set))]);
        writes.extend(all.map(|(kind, body)| (kind, body, daemon_set)));
    }
    // Of another network type than before, or without a node of a group, some objects have others in their place, or
    // none.
    let wanted = |o: &OwnObject| {
        let named = |body: &Value| body.pointer("/metadata/name").and_then(Value::as_str) == Some(&o.name);
        kept.contains(&o.name.as_str())
            || writes
                .iter()
                .any(|(kind, body, _)| *kind == o.kind && named(body))
    };
    plan.deletions
        .extend(existing(app, observed).filter(|o| !wanted(o)));
    for (kind, body, daemon_set) in writes {
        plan.objects
            .extend(object_write(kind, body, manager, daemon_set, config, observed));
    }
}

fn image(workload: &Workload) -> Option<String> {
    let pod = workload.daemon_set.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.clone()
}

/// k8s-openapi types always serialize; null would never be applied because it names no object.
fn to_json(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn object_write(
    kind: OwnKind,
    mut body: Value,
    manager: &'static str,
    daemon_set: &str,
    config: &WindowsNodeConfig,
    observed: &Observed,
) -> Option<ObjectWrite> {
    let name = body.pointer("/metadata/name")?.as_str()?.to_owned();
    // The garbage collector then removes it with the CR, even when we are not there to do it.
    body["metadata"]["ownerReferences"] = json!([{
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "name": config.metadata.name,
        "uid": config.metadata.uid,
        "controller": true,
    }]);
    let object = OwnObject {
        kind,
        namespace: observed.namespace.clone(),
        name,
    };
    let stored = observed.ours.get(&object);
    let met = stored.is_some_and(|stored| covers(stored, &body));
    let drift = match stored {
        Some(stored) => annotation(stored, INTENT) == Some(&intent(&body)),
        None => was_there(config, manager, &observed.namespace, daemon_set),
    };
    body["metadata"]["annotations"][INTENT] = json!(intent(&body));
    (!met).then_some(ObjectWrite {
        object,
        manager,
        body,
        drift,
    })
}

/// Did our last status speak of this workload's DaemonSet? Then what is missing of it was deleted.
fn was_there(config: &WindowsNodeConfig, manager: &str, namespace: &str, daemon_set: &str) -> bool {
    let status = config.status.as_ref();
    let last = match manager {
        managers::NODE_AGENT => status.and_then(|s| s.node_agent.as_ref()),
        managers::NETWORK_AGENT => status.and_then(|s| s.network_agent.as_ref()),
        _ => status.and_then(|s| s.kube_proxy.as_ref()),
    };
    let place = format!("{namespace}/{daemon_set}");
    last.filter(|w| w.management == Standing::Managed.as_str())
        .is_some_and(|w| {
            w.daemon_set.as_ref() == Some(&place) || w.groups.iter().any(|g| g.daemon_set == place)
        })
}

fn intent(body: &Value) -> String {
    let mut bare = body.clone();
    if let Some(annotations) = bare
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(INTENT);
    }
    crate::checksum::of([bare.to_string().as_str()])
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

/// Our stored objects of a workload.
pub fn existing(app: App, observed: &Observed) -> impl Iterator<Item = OwnObject> {
    use names::{kube_proxy, network_agent, node_agent};
    let daemon_sets = match app {
        App::KubeProxy => kube_proxy::DAEMON_SETS,
        App::NodeAgent | App::NetworkAgent => &[],
    };
    let names: &[&str] = match app {
        App::NodeAgent => &[node_agent::DAEMON_SET, node_agent::CONFIG_MAP],
        App::NetworkAgent => &[
            network_agent::FLANNEL_DAEMON_SET,
            network_agent::FLANNEL_CONFIG_MAP,
            network_agent::STATIC_ROUTES_DAEMON_SET,
            network_agent::STATIC_ROUTES_CONFIG_MAP,
            network_agent::STATIC_ROUTES_NODES,
        ],
        App::KubeProxy => &[kube_proxy::CONFIG_MAP],
    };
    observed
        .ours
        .keys()
        .filter(move |o| names.iter().chain(daemon_sets).any(|name| o.name == *name))
        .cloned()
}

/// Beside tigera/operator when it runs, or is to run, the agent: the ConfigMap without which it does nothing
/// (tigera/operator `windows_controller.go`; calico#13702 asks for this).
pub fn services_endpoint(turn: Turn, observed: &Observed, inputs: &Inputs) -> Option<Value> {
    let wanted = turn == Turn::Theirs;
    let missing = !observed.sources.contains_key(&Source::ServicesEndpoint);
    let endpoint = &inputs.api_server.as_ref().filter(|_| wanted && missing)?.value;
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": tigera::SERVICES_ENDPOINT,
            "namespace": tigera::NAMESPACE,
            "labels": { (labels::MANAGED_BY): names::OPERATOR },
        },
        "data": { (tigera::ENDPOINT_HOST): endpoint.host, (tigera::ENDPOINT_PORT): endpoint.port.to_string() },
    }))
}
