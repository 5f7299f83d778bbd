//! From wanted fields to writes, one an object.

use serde_json::{Map, Value, json};
use wn_api::calico::ConfigKind;
use wn_api::status::Original;

use super::judged::{Judged, Wanted};
use super::{Action, Write, originals};
use crate::field::Change;
use crate::observed::{ConfigObject, Observed};
use crate::tigera;

/// `list` is what `originals::next` makes of `held`, and is stored before these are made.
pub fn writes(judged: &Judged, observed: &Observed, held: &[Original], list: &[Original]) -> Vec<Write> {
    let mut objects: Vec<(ConfigKind, &str)> = Vec::new();
    let wanted = judged.wanted.iter().map(|w| &w.desired.id);
    for id in wanted.chain(&judged.released) {
        let key = (id.kind, id.name.as_str());
        if !objects.contains(&key) {
            objects.push(key);
        }
    }
    objects
        .into_iter()
        .filter_map(|(kind, name)| write(kind, name, judged, observed, held, list))
        .collect()
}

fn write(
    kind: ConfigKind,
    name: &str,
    judged: &Judged,
    observed: &Observed,
    held: &[Original],
    list: &[Original],
) -> Option<Write> {
    let of_object = |w: &&Wanted| w.desired.id.kind == kind && w.desired.id.name == name;
    let wanted: Vec<_> = judged.wanted.iter().filter(of_object).collect();
    let object = observed.object(kind, name);
    // An apply of less than we hold would remove the rest: the field is restored by itself, the rest follows.
    if let Some(write) = object.and_then(|o| release(kind, name, judged, o, held)) {
        return Some(write);
    }
    let mut changes: Vec<_> = wanted
        .iter()
        .filter(|w| w.differs)
        .map(|w| change(w, object))
        .collect();
    let here = |o: &&Original| o.kind == kind && o.name == name;
    changes.extend(
        held.iter()
            .filter(here)
            .filter_map(|o| restored(o, judged, object)),
    );
    if changes.is_empty() {
        return None;
    }
    let action = match object {
        None => Action::Create {
            spec: creation(kind, &wanted),
        },
        Some(object) => {
            let mut spec: Map<_, _> = wanted
                .iter()
                .filter(|w| holds(w, object))
                .map(|w| (w.desired.id.field.clone(), w.desired.value.clone()))
                .collect();
            let back = originals::restored(list, judged).filter(|(id, _)| id.kind == kind && id.name == name);
            spec.extend(back.map(|(id, value)| (id.field, value.clone())));
            if kind == ConfigKind::Installation {
                tigera::keep_pools(&mut spec, object, &changes);
            }
            Action::Apply {
                spec: spelt(kind, spec, object),
                resource_version: object.resource_version.clone(),
            }
        }
    };
    Some(Write {
        kind,
        name: name.to_owned(),
        action,
        changes,
    })
}

/// Restores the released fields of an object that still have the operator's value.
fn release(
    kind: ConfigKind,
    name: &str,
    judged: &Judged,
    object: &ConfigObject,
    held: &[Original],
) -> Option<Write> {
    let released = held
        .iter()
        .filter(|o| o.kind == kind && o.name == name && originals::released(o, judged));
    let changes: Vec<_> = released
        .filter_map(|o| restored(o, judged, Some(object)))
        .collect();
    let fields = returned(kind, &changes, object);
    (!changes.is_empty()).then(|| Write {
        kind,
        name: name.to_owned(),
        action: Action::Restore {
            spec: fields,
            resource_version: object.resource_version.clone(),
        },
        changes,
    })
}

/// `spec` of the patch that restores fields; null removes one.
pub fn returned(kind: ConfigKind, changes: &[Change], object: &ConfigObject) -> Map<String, Value> {
    let fields = changes.iter();
    let mut fields = fields
        .map(|c| (c.id.field.clone(), c.to.clone().unwrap_or(Value::Null)))
        .collect();
    if kind == ConfigKind::Installation {
        tigera::take_defaults_along(&mut fields, object);
    }
    spelt(kind, fields, object)
}

/// Fields as the object spells them.
fn spelt(kind: ConfigKind, fields: Map<String, Value>, object: &ConfigObject) -> Map<String, Value> {
    match kind {
        ConfigKind::Installation => tigera::nested(fields, object),
        ConfigKind::IpamConfiguration
        | ConfigKind::IpPool
        | ConfigKind::FelixConfiguration
        | ConfigKind::FlannelConfiguration => fields,
    }
}

fn change(wanted: &Wanted, object: Option<&ConfigObject>) -> Change {
    Change {
        id: wanted.desired.id.clone(),
        from: object.and_then(|o| o.spec.get(&wanted.desired.id.field)).cloned(),
        to: Some(wanted.desired.value.clone()),
        drifted_by: wanted.drifted_by.clone(),
    }
}

/// A lapsed field that still has our value and must go back to its own. An object we created has none of
/// its own: its fields go with it.
fn restored(original: &Original, judged: &Judged, object: Option<&ConfigObject>) -> Option<Change> {
    let object = object.filter(|_| !original.created && !original.unknown)?;
    let current = object.spec.get(&original.field);
    let ours = object.is_ours(original) && original.previous.as_ref() != current;
    (originals::lapsed(original, judged) && ours).then(|| Change {
        id: super::FieldId {
            kind: original.kind,
            name: original.name.clone(),
            field: original.field.clone(),
        },
        from: current.cloned(),
        to: original.previous.clone(),
        drifted_by: None,
    })
}

/// A field that is right already and that somebody else claims stays theirs: sharing it would keep it
/// alive after they drop it.
fn holds(wanted: &Wanted, object: &ConfigObject) -> bool {
    let owners = object.owners.get(&wanted.desired.id.field);
    wanted.differs || !owners.is_some_and(|o| o.iter().any(crate::observed::FieldOwner::claims))
}

/// Calico's schema requires both booleans of an IPAM configuration; `autoAllocateBlocks` is true by
/// Calico's own default.
fn creation(kind: ConfigKind, wanted: &[&Wanted]) -> Map<String, Value> {
    let mut spec: Map<_, _> = wanted
        .iter()
        .map(|w| (w.desired.id.field.clone(), w.desired.value.clone()))
        .collect();
    if kind == ConfigKind::IpamConfiguration {
        spec.insert("autoAllocateBlocks".to_owned(), json!(true));
    }
    spec
}
