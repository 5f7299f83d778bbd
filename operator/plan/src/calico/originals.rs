//! The values to restore: what they are, when they are stored, when they are dropped.

use serde_json::Value;
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::names::{FINALIZER, managers};
use wn_api::reasons::Reason;
use wn_api::spec::{DeletionPolicy, GivenOriginal, UnknownOriginals, WindowsNodeConfigSpec};
use wn_api::status::Original;

use super::api;
use super::held::{api_of, object};
use super::judged::Judged;
use crate::field::FieldId;
use crate::finding::Finding;
use crate::observed::{ConfigObject, Observed};

/// The list to store before the next write: every wanted field, with the value it had when we first
/// wanted it, and which earlier values are still held (see `keeps`).
pub fn next(
    held: &[Original],
    judged: &Judged,
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
) -> Vec<Original> {
    let wanted = judged.wanted.iter().map(|w| (&w.desired.id, &w.desired.value));
    // After a deletion that restored, some field has another value than ours: what is ours of the others was restored.
    let untouched = held.is_empty()
        && wanted.clone().all(|(id, value)| {
            object(observed, id).is_none_or(|object| object.spec.get(&id.field) == Some(value))
        });
    let mut list: Vec<_> = wanted
        .map(|(id, value)| {
            let object = object(observed, id);
            // The object was deleted since, and its values with it.
            let lapsed = |o: &Original| lost_race(o, object) || (object.is_none() && o.uid.is_some());
            match held.iter().find(|o| id.is_of(o) && !lapsed(o)) {
                Some(known) => Original {
                    applied: value.clone(),
                    replaces: object.and_then(|o| replaced(known, value, o)),
                    ..known.clone()
                },
                None => first(id, value.clone(), held, observed, untouched),
            }
        })
        .collect();
    let fallow = held
        .iter()
        .filter(|o| !judged.wanted.iter().any(|w| w.desired.id.is_of(o)));
    list.extend(fallow.filter_map(|o| keeps(o, judged, observed)));
    for original in &mut list {
        given(original, spec);
        if let Some(object) = object(observed, &FieldId::of(original)).filter(|o| !o.uid.is_empty()) {
            original.uid = Some(object.uid.clone());
            original.api = api_of(original.kind, observed);
        }
    }
    list.sort_by(|a, b| (a.kind, &a.name, &a.field).cmp(&(b.kind, &b.name, &b.field)));
    list
}

/// A value that the user gives replaces the one we found.
fn given(original: &mut Original, spec: &WindowsNodeConfigSpec) {
    let id = FieldId::of(original);
    let mut given = spec.calico.originals.values.iter();
    let about = |g: &&GivenOriginal| g.kind == id.kind && g.name == id.name && g.field == id.field;
    if let Some(given) = given.find(about).filter(|_| !original.created) {
        original.previous = given.previous.clone();
        original.unknown = false;
    }
}

/// Fields whose original value is not known, unless the user accepts that.
pub fn unknown(list: &[Original], spec: &WindowsNodeConfigSpec) -> Option<Finding> {
    let fields: Vec<_> = list
        .iter()
        .filter(|o| o.unknown)
        .map(|o| FieldId::of(o).to_string())
        .collect();
    let matters = spec.deletion_policy == DeletionPolicy::Restore
        && spec.calico.originals.unknown == UnknownOriginals::Report;
    (matters && !fields.is_empty()).then(|| Finding {
        reason: Reason::OriginalsUnknown,
        message: format!(
            "an earlier WindowsNodeConfig set these fields and their original values are unknown, so deletion cannot restore them: {}; \
             give the values in spec.calico.originals.values, or set spec.calico.originals.unknown to Accept",
            fields.join(", ")
        ),
    })
}

/// We meant to create the object, and someone else did before us: it is theirs, with their values.
fn lost_race(original: &Original, object: Option<&ConfigObject>) -> bool {
    let unseen = original.created && original.uid.is_none();
    unseen && object.is_some_and(|o| !o.is_made_by_us(&original.field, &original.applied))
}

/// The operator's value that the next write replaces. Until then the field has it, and it must be known as the operator's.
fn replaced(known: &Original, applied: &Value, object: &ConfigObject) -> Option<Value> {
    let current = object.spec.get(&known.field)?;
    (object.has_value_of(known) && current != applied).then(|| current.clone())
}

fn first(id: &FieldId, applied: Value, held: &[Original], observed: &Observed, untouched: bool) -> Original {
    let object = object(observed, id);
    let of_object = || held.iter().filter(|o| o.kind == id.kind && o.name == id.name);
    // A field that another network type adds to an object that we created is created by us, too.
    let made = of_object().any(|o| o.created && !lost_race(o, object));
    // Nobody else ever wrote to it: an earlier WindowsNodeConfig created it.
    let found_made = object.is_some_and(ConfigObject::is_ours_alone) && of_object().next().is_none();
    let created = id.kind.is_created() && (object.is_none() || made || found_made);
    let set_before = |o: &ConfigObject| untouched && was_set_before(o, id, observed);
    let known = object.filter(|o| !created && !set_before(o));
    Original {
        kind: id.kind,
        name: id.name.clone(),
        field: id.field.clone(),
        previous: known.and_then(|o| o.spec.get(&id.field)).cloned(),
        applied,
        replaces: None,
        created,
        unknown: !created && known.is_none(),
        uid: None,
        api: None,
    }
}

/// Was a field that has our value and no entry set by an earlier `WindowsNodeConfig`? Managed fields show it. Where there are
/// none (etcd, a cluster restored from a backup) the present object shows it: it was created with our finalizer and without a
/// status.
fn was_set_before(object: &ConfigObject, id: &FieldId, observed: &Observed) -> bool {
    let held = object.held.contains(&id.field) && !object.owners.contains_key(&id.field);
    held || observed.readable().is_some_and(is_restored)
}

fn is_restored(config: &WindowsNodeConfig) -> bool {
    let mut finalizers = config.metadata.finalizers.iter().flatten();
    let mut entries = config.metadata.managed_fields.iter().flatten();
    let status = config.status.as_ref();
    finalizers.any(|f| f == FINALIZER)
        && entries.all(|m| m.manager.as_deref() != Some(managers::FINALIZER))
        && status.and_then(|s| s.observed_generation).is_none_or(|g| g < 0)
}

/// A field no longer wanted: reported on or contested, it keeps its entry for the day of deletion;
/// replaced by another network type, it is restored (`lapsed`), and then its entry says so. Once it has its own
/// value again and nothing of its object is wanted, the entry goes.
fn keeps(original: &Original, judged: &Judged, observed: &Observed) -> Option<Original> {
    let Some(object) = object(observed, &FieldId::of(original)) else {
        // While Calico's API cannot be read, a missing object proves nothing.
        let proven = ConfigKind::OF_CALICO.contains(&original.kind)
            && api::in_use(&observed.calico).is_some()
            && api::unclear(&observed.calico).is_none()
            && api::pause(&observed.calico).is_none();
        return (!proven || (original.created && original.uid.is_none())).then(|| original.clone());
    };
    if original.created || original.unknown {
        return Some(original.clone());
    }
    let returned = object.spec.get(&original.field) == original.previous.as_ref();
    match (lapsed(original, judged), returned) {
        // Until it is restored nothing may be forgotten: the write that does so may fail, or we may.
        (true, false) => {
            let ours = object.is_ours(original);
            ours.then(|| original.clone())
        }
        (true, true) if released(original, judged) => None,
        (true, true) => Some(Original {
            applied: original.previous.clone()?,
            replaces: None,
            ..original.clone()
        }),
        // Restored. Who changes the field from now on changes a value that is not ours.
        (false, true) if !object.held.contains(&original.field) && !is_contested(original, judged) => None,
        (false, _) => Some(original.clone()),
    }
}

fn is_contested(original: &Original, judged: &Judged) -> bool {
    judged.given_up.iter().any(|id| id.is_of(original))
}

/// The object is written to, and this field of it is not among what we want; or it is released.
pub fn lapsed(original: &Original, judged: &Judged) -> bool {
    released(original, judged) || is_of_another_type(original, judged)
}

/// Is the entry about a field that the operator no longer wants to set?
pub fn released(original: &Original, judged: &Judged) -> bool {
    judged.released.iter().any(|id| id.is_of(original))
}

fn is_of_another_type(original: &Original, judged: &Judged) -> bool {
    judged
        .wanted
        .iter()
        .any(|w| w.desired.id.kind == original.kind && w.desired.id.name == original.name)
        && !judged.wanted.iter().any(|w| w.desired.id.is_of(original))
}

/// What an apply must keep on an object besides what we want, or it would remove it: values restored, and values whose
/// originals are not known.
pub fn restored<'a>(list: &'a [Original], judged: &'a Judged) -> impl Iterator<Item = (FieldId, &'a Value)> {
    list.iter().filter(|o| lapsed(o, judged)).filter_map(|o| {
        let value = o.previous.as_ref().or(o.unknown.then_some(&o.applied));
        Some((FieldId::of(o), value?))
    })
}
