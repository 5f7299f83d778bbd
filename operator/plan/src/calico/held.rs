//! The stored original values of objects that are still there.

use wn_api::calico::{CalicoApi, ConfigKind};
use wn_api::status::Original;

use super::api;
use crate::field::FieldId;
use crate::observed::{ConfigObject, Observed};

/// The stored entries without those of objects that were deleted and created again under their name.
pub fn held(observed: &Observed) -> Vec<Original> {
    let mut held = observed.originals();
    held.retain(|o| {
        let object = object(observed, &FieldId::of(o));
        object.is_none_or(|object| is_about(o, object, observed))
    });
    held
}

/// Is the object there that the entry is about?
pub fn is_there(original: &Original, observed: &Observed) -> bool {
    let object = object(observed, &FieldId::of(original));
    object.is_some_and(|object| is_about(original, object, observed))
}

/// Does the entry belong to this object? In another API of Calico the same object has another uid.
fn is_about(original: &Original, object: &ConfigObject, observed: &Observed) -> bool {
    let uid = original
        .uid
        .as_ref()
        .filter(|_| original.api == api_of(original.kind, observed));
    uid.is_none_or(|uid| *uid == object.uid)
}

/// The API that Calico uses, for a kind that Calico defines; `None` for other kinds.
pub fn api_of(kind: ConfigKind, observed: &Observed) -> Option<CalicoApi> {
    let calico_api = api::in_use(&observed.calico);
    calico_api.filter(|_| ConfigKind::OF_CALICO.contains(&kind))
}

/// The configuration object that has the field.
pub fn object<'a>(observed: &'a Observed, id: &FieldId) -> Option<&'a ConfigObject> {
    observed.object(id.kind, &id.name)
}
