//! Objects of ours: those that differ from what they should be, and those that should not be.

use jiff::Timestamp;
use serde_json::{Value, json};
use wn_api::component::Component;
use wn_api::names;
use wn_api::names::annotations::INTENT;

use super::ownership::Ownership;
use super::plan::{Basis, Changes, DaemonSetPlan, ObjectWrite};
use crate::drift::covers;
use crate::observed::{Observed, OwnKind, OwnObject};
use crate::workload::Workload;

/// An object of a workload as it should be.
struct Wanted<'a> {
    kind: OwnKind,
    body: Value,
    /// The DaemonSet that it belongs to, or is.
    daemon_set: &'a str,
}

/// What makes the stored objects of a component those of its workloads. A DaemonSet that is blocked is left as it is.
pub fn changes(
    component: Component,
    planned: &[DaemonSetPlan],
    workloads: &[Workload],
    basis: &Basis,
) -> Changes {
    let is_blocked = |name: &str| planned.iter().any(|d| d.name == name && d.blocked.is_some());
    let (kept, rolled_out): (Vec<_>, Vec<_>) = workloads.iter().partition(|w| is_blocked(w.name()));
    let wanted: Vec<_> = rolled_out.into_iter().flat_map(wanted).collect();
    // Of another network type than before, or without a node of a group, some objects have others in their place, or
    // none.
    let stays = |o: &OwnObject| {
        let named = |body: &Value| body.pointer("/metadata/name").and_then(Value::as_str) == Some(&o.name);
        kept.iter().any(|w| w.name() == o.name) || wanted.iter().any(|w| w.kind == o.kind && named(&w.body))
    };
    let mut changes = Changes {
        deletions: existing(component, basis.observed)
            .filter(|o| !stays(o))
            .map(|o| (component, o))
            .collect(),
        ..Changes::default()
    };
    for write in wanted
        .into_iter()
        .filter_map(|w| object_write(component, w, basis))
    {
        match resting_until(&write, basis) {
            Some(until) => {
                changes.revisit = changes.revisit.into_iter().chain([until]).min();
                changes.contested.push(write.object);
            }
            None => changes.objects.push(write),
        }
    }
    changes
}

/// An object of ours that someone changes again and again is left for a time: each repair of a DaemonSet restarts
/// networking on the nodes. One that is missing is made in any case, as nothing runs without it.
fn resting_until(write: &ObjectWrite, basis: &Basis) -> Option<Timestamp> {
    let changed = write.drift && basis.observed.ours.contains_key(&write.object);
    let until = basis.flaps.resting_until(&write.object, basis.now);
    until.filter(|_| changed)
}

fn wanted(workload: &Workload) -> impl Iterator<Item = Wanted<'_>> {
    let maps = [&workload.config_map, &workload.followed].into_iter().flatten();
    let maps = maps.map(|map| (OwnKind::ConfigMap, to_json(map)));
    let all = maps.chain([(OwnKind::DaemonSet, to_json(&workload.daemon_set))]);
    all.map(|(kind, body)| Wanted {
        kind,
        body,
        daemon_set: workload.name(),
    })
}

/// Image of the first container of a DaemonSet.
pub fn image(workloads: &[Workload], daemon_set: &str) -> Option<String> {
    let workload = workloads.iter().find(|w| w.name() == daemon_set)?;
    let pod = workload.daemon_set.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.clone()
}

/// k8s-openapi types always serialize; null would never be applied because it names no object.
fn to_json(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn object_write(component: Component, wanted: Wanted, basis: &Basis) -> Option<ObjectWrite> {
    let Wanted {
        kind,
        mut body,
        daemon_set,
    } = wanted;
    let metadata = &basis.config.metadata;
    let name = body.pointer("/metadata/name")?.as_str()?.to_owned();
    // The garbage collector then removes it with the CR, even when we are not there to do it.
    body["metadata"]["ownerReferences"] = json!([{
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": true,
    }]);
    let object = OwnObject {
        kind,
        namespace: basis.observed.namespace.clone(),
        name,
    };
    let stored = basis.observed.ours.get(&object);
    let intent = intent(&body);
    let same_intent = stored.is_some_and(|stored| annotation(stored, INTENT) == Some(&intent));
    // What is no longer wanted, such as a label of a selector, is still stored: only the intent differs.
    let met = same_intent && stored.is_some_and(|stored| covers(stored, &body));
    let drift = match stored {
        Some(_) => same_intent,
        None => was_there(component, daemon_set, basis),
    };
    body["metadata"]["annotations"][INTENT] = json!(intent);
    (!met).then_some(ObjectWrite {
        object,
        component,
        body,
        drift,
    })
}

/// Did the last status list the DaemonSet of this workload? Then a missing object was deleted.
fn was_there(component: Component, daemon_set: &str, basis: &Basis) -> bool {
    let status = basis.config.status.as_ref();
    let last = status.and_then(|status| status.component(component));
    let place = format!("{}/{daemon_set}", basis.observed.namespace);
    last.filter(|w| w.management == Ownership::Managed.as_str())
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

/// Our stored objects of a component.
pub fn existing(component: Component, observed: &Observed) -> impl Iterator<Item = OwnObject> {
    let ours = observed.ours.keys();
    ours.filter(move |object| component.objects().any(|name| object.name == name))
        .cloned()
}
