//! The values to give back: what they are, when they are written down, when they lapse.

use wn_api::status::Original;

use super::ownership::Judged;
use crate::field::FieldId;
use crate::observed::{CalicoObject, Observed};

/// The list to store before the next write: every wanted field, with the value it had when we first
/// wanted it, and what earlier wishes still hold (see `keeps`).
pub fn next(held: &[Original], judged: &Judged, observed: &Observed) -> Vec<Original> {
    let wanted = judged.wanted.iter().map(|w| (&w.desired.id, &w.desired.value));
    let mut list: Vec<_> = wanted
        .map(|(id, value)| {
            let object = object(observed, id);
            match held.iter().find(|o| id.is_of(o) && !lost_race(o, object)) {
                Some(known) => Original {
                    applied: value.clone(),
                    ..known.clone()
                },
                None => first(id, value.clone(), held, object),
            }
        })
        .collect();
    let fallow = held
        .iter()
        .filter(|o| !judged.wanted.iter().any(|w| w.desired.id.is_of(o)));
    list.extend(fallow.filter_map(|o| keeps(o, judged, observed)));
    list.sort_by(|a, b| (a.kind, &a.name, &a.field).cmp(&(b.kind, &b.name, &b.field)));
    list
}

/// We meant to create the object, and someone else did before us: it is theirs, with their values.
fn lost_race(original: &Original, object: Option<&CalicoObject>) -> bool {
    original.created && object.is_some_and(|o| !o.is_made_by_us(&original.field, &original.applied))
}

fn first(
    id: &FieldId,
    applied: serde_json::Value,
    held: &[Original],
    object: Option<&CalicoObject>,
) -> Original {
    // A field that another network type adds to an object of our making is of our making, too.
    let made = |o: &Original| o.kind == id.kind && o.name == id.name && o.created && !lost_race(o, object);
    Original {
        kind: id.kind,
        name: id.name.clone(),
        field: id.field.clone(),
        previous: object.and_then(|o| o.spec.get(&id.field)).cloned(),
        applied,
        created: object.is_none() || held.iter().any(made),
    }
}

/// A field no longer wanted: reported on or contested, it keeps its entry for the day of deletion;
/// replaced by another network type, it is given back (`lapsed`), and then its entry says so.
fn keeps(original: &Original, judged: &Judged, observed: &Observed) -> Option<Original> {
    if original.created || !lapsed(original, judged) {
        return Some(original.clone());
    }
    let object = observed
        .calico
        .objects
        .get(&(original.kind, original.name.clone()))?;
    let current = object.spec.get(&original.field);
    if current != original.previous.as_ref() {
        // Until it is given back nothing may be forgotten: the write that does so may fail, or we may.
        return object
            .is_ours(&original.field, &original.applied)
            .then(|| original.clone());
    }
    let previous = original.previous.clone()?;
    Some(Original {
        applied: previous,
        ..original.clone()
    })
}

/// The object is written to, and this field of it is not among what we want; or it is released.
pub fn lapsed(original: &Original, judged: &Judged) -> bool {
    released(original, judged) || replaced(original, judged)
}

pub fn released(original: &Original, judged: &Judged) -> bool {
    judged.released.iter().any(|id| id.is_of(original))
}

fn replaced(original: &Original, judged: &Judged) -> bool {
    judged
        .wanted
        .iter()
        .any(|w| w.desired.id.kind == original.kind && w.desired.id.name == original.name)
        && !judged.wanted.iter().any(|w| w.desired.id.is_of(original))
}

fn object<'a>(observed: &'a Observed, id: &FieldId) -> Option<&'a CalicoObject> {
    observed.calico.objects.get(&(id.kind, id.name.clone()))
}

/// What we hold on an object besides what we want: values given back, which an apply without them would remove.
pub fn given_back<'a>(
    list: &'a [Original],
    judged: &'a Judged,
) -> impl Iterator<Item = (FieldId, &'a serde_json::Value)> {
    list.iter().filter(|o| lapsed(o, judged)).filter_map(|o| {
        let id = FieldId {
            kind: o.kind,
            name: o.name.clone(),
            field: o.field.clone(),
        };
        Some((id, o.previous.as_ref()?))
    })
}
