//! Giving Calico back when the `WindowsNodeConfig` is deleted.

use wn_api::calico::ConfigKind;
use wn_api::status::Original;

use super::writes::returned;
use super::{Action, Write, hold};
use crate::field::{Change, FieldId};
use crate::field::{plain, shown};
use crate::observed::{CalicoObject, Observed};
use crate::tigera;

/// What is written, and what is left as it is and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restoration {
    pub writes: Vec<Write>,
    pub left: Vec<String>,
    /// Why encapsulation, and what it depends on, is not given back yet.
    pub held: Option<String>,
}

/// Felix before pools, the reverse of the way in: Felix must do IPIP again before a pool asks for it.
/// The Installation is where tigera/operator's pools come from.
const ORDER: [ConfigKind; 5] = [
    ConfigKind::FelixConfiguration,
    ConfigKind::Installation,
    ConfigKind::IpPool,
    ConfigKind::IpamConfiguration,
    ConfigKind::FlannelConfiguration,
];

/// What tigera/operator's agent needs while it runs on.
const KEPT: [ConfigKind; 2] = [ConfigKind::Installation, ConfigKind::IpamConfiguration];

pub fn restoration(originals: &[Original], observed: &Observed) -> Restoration {
    let runs_on = tigera::runs_on(observed);
    let (kept, originals): (Vec<_>, Vec<_>) = originals
        .iter()
        .cloned()
        .partition(|o| runs_on && KEPT.contains(&o.kind));
    let mut left = tigera::left_behind(observed);
    left.extend(kept.iter().filter_map(needed));
    let mut restoration = Restoration {
        held: hold::restoring(&originals, observed),
        left,
        ..Restoration::default()
    };
    // Felix and pools must fit each other, and tigera/operator makes pools of its Installation: all or none.
    let held = |kind: &ConfigKind| {
        use ConfigKind::{FelixConfiguration, Installation, IpPool};
        restoration.held.is_some() && matches!(kind, FelixConfiguration | Installation | IpPool)
    };
    let kinds: Vec<_> = ORDER.into_iter().filter(|kind| !held(kind)).collect();
    for kind in kinds {
        let mut names: Vec<_> = originals
            .iter()
            .filter(|o| o.kind == kind)
            .map(|o| o.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let fields: Vec<_> = originals
                .iter()
                .filter(|o| o.kind == kind && o.name == name)
                .collect();
            // An object that is gone took its fields along.
            if let Some(object) = observed.calico.objects.get(&(kind, name.to_owned())) {
                restore_object(kind, name, &fields, object, &mut restoration);
            }
        }
    }
    restoration
}

/// Why a field is kept; `None` where it had that value before us.
fn needed(original: &Original) -> Option<String> {
    let changed = original.previous.as_ref() != Some(&original.applied);
    changed.then(|| {
        format!(
            "{}: tigera/operator runs its agent on Windows nodes, which needs it; its value before us was {}",
            FieldId::of(original),
            shown(original.previous.as_ref()),
        )
    })
}

fn restore_object(
    kind: ConfigKind,
    name: &str,
    fields: &[&Original],
    object: &CalicoObject,
    to: &mut Restoration,
) {
    let created = fields.iter().all(|o| o.created);
    if created && object.foreign_writers.is_empty() {
        to.writes.push(deletion(kind, name, fields, object));
        return;
    }
    if created {
        let writers = object.foreign_writers.join(", ");
        to.left.push(format!(
            "{} {name}: the operator created it, but {writers} wrote to it since; delete it if nothing needs it",
            kind.as_str()
        ));
        return;
    }
    let (ours, changed): (Vec<_>, Vec<_>) = fields
        .iter()
        .copied()
        .partition(|o| object.is_ours(&o.field, &o.applied));
    let met = |o: &&Original| object.spec.get(&o.field) == o.previous.as_ref();
    to.left.extend(
        changed
            .into_iter()
            .filter(|o| !met(o))
            .map(|o| changed_since(o, object)),
    );
    let changes: Vec<_> = ours
        .into_iter()
        .filter(|o| !met(o))
        .map(|o| change(o, object))
        .collect();
    if !changes.is_empty() {
        let spec = returned(kind, &changes, object);
        let resource_version = object.resource_version.clone();
        to.writes.push(Write {
            kind,
            name: name.to_owned(),
            action: Action::Restore {
                spec,
                resource_version,
            },
            changes,
        });
    }
}

fn deletion(kind: ConfigKind, name: &str, fields: &[&Original], object: &CalicoObject) -> Write {
    let action = Action::Delete {
        uid: object.uid.clone(),
        resource_version: object.resource_version.clone(),
    };
    let changes = fields.iter().map(|o| change(o, object)).collect();
    Write {
        kind,
        name: name.to_owned(),
        action,
        changes,
    }
}

fn change(original: &Original, object: &CalicoObject) -> Change {
    Change {
        id: FieldId::of(original),
        from: object.spec.get(&original.field).cloned(),
        to: original.previous.clone(),
        drifted_by: None,
    }
}

fn changed_since(original: &Original, object: &CalicoObject) -> String {
    format!(
        "{}: we set {}, it is {} now; its value before us was {}",
        FieldId::of(original),
        plain(&original.applied),
        shown(object.spec.get(&original.field)),
        shown(original.previous.as_ref()),
    )
}
