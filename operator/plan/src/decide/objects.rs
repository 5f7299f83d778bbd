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

/// Notes what the workload is, and its objects where they differ.
pub fn add(
    plan: &mut Plan,
    workload: Option<Workload>,
    app: App,
    config: &WindowsNodeConfig,
    observed: &Observed,
) {
    let (target, manager) = match app {
        App::NodeAgent => (&mut plan.agent, managers::NODE_AGENT),
        App::NetworkAgent => (&mut plan.network_agent, managers::NETWORK_AGENT),
        App::KubeProxy => (&mut plan.proxy, managers::KUBE_PROXY),
    };
    let Some(workload) =
        workload.filter(|_| target.standing == Standing::Managed && target.blocked.is_none())
    else {
        return;
    };
    let containers = workload
        .daemon_set
        .spec
        .as_ref()
        .and_then(|s| s.template.spec.as_ref())
        .map(|s| &s.containers);
    target.image = containers.and_then(|c| c.first()).and_then(|c| c.image.clone());
    let daemon_set = workload.daemon_set.metadata.name.clone().unwrap_or_default();
    let maps = [&workload.config_map, &workload.followed];
    let maps = maps
        .into_iter()
        .flatten()
        .map(|map| (OwnKind::ConfigMap, to_json(map)));
    let writes: Vec<_> = maps
        .chain([(OwnKind::DaemonSet, to_json(&workload.daemon_set))])
        .collect();
    // Of another network type than before, some objects have others in their place, or none.
    let wanted = |o: &OwnObject| {
        let named = |body: &Value| body.pointer("/metadata/name").and_then(Value::as_str) == Some(&o.name);
        writes.iter().any(|(kind, body)| *kind == o.kind && named(body))
    };
    plan.deletions
        .extend(existing(app, observed).filter(|o| !wanted(o)));
    for (kind, body) in writes {
        plan.objects
            .extend(object_write(kind, body, manager, &daemon_set, config, observed));
    }
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
    last.filter(|w| w.management == Standing::Managed.as_str())
        .and_then(|w| w.daemon_set.as_deref())
        .is_some_and(|d| d == format!("{namespace}/{daemon_set}"))
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
    let names: &[&str] = match app {
        App::NodeAgent => &[node_agent::DAEMON_SET, node_agent::CONFIG_MAP],
        App::NetworkAgent => &[
            network_agent::FLANNEL_DAEMON_SET,
            network_agent::FLANNEL_CONFIG_MAP,
            network_agent::STATIC_ROUTES_DAEMON_SET,
            network_agent::STATIC_ROUTES_CONFIG_MAP,
            network_agent::STATIC_ROUTES_NODES,
        ],
        App::KubeProxy => &[kube_proxy::DAEMON_SET, kube_proxy::CONFIG_MAP],
    };
    observed
        .ours
        .keys()
        .filter(move |o| names.contains(&o.name.as_str()))
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
