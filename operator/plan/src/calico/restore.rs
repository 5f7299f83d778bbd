//! Giving Calico back when the `WindowsNodeConfig` is deleted.

use wn_api::calico::ConfigKind;
use wn_api::spec::UnknownOriginals;
use wn_api::status::Original;

use super::writes::returned;
use super::{Action, Write, held, hold};
use crate::field::{Change, FieldId};
use crate::field::{plain, shown};
use crate::finding::names_of;
use crate::observed::{Config, ConfigObject, Observed};
use crate::tigera;

/// What is written, and what is left as it is and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restoration {
    /// In the order in which they are made.
    pub writes: Vec<Write>,
    /// One sentence for each field that is not restored, with the reason.
    pub left: Vec<String>,
    /// Why encapsulation, and what it depends on, is not restored yet.
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

/// Restores every field that still has the operator's value, as far as its original is known.
pub fn restoration(all: &[Original], observed: &Observed) -> Restoration {
    let runs_on = tigera::runs_on(observed);
    // An object that is gone took its fields along, and one created again under its name has its own.
    let there = all.iter().filter(|o| held::is_there(o, observed)).cloned();
    let (unknown, known): (Vec<_>, Vec<_>) = there.partition(|o| o.unknown);
    let (kept, known): (Vec<_>, Vec<_>) = known.into_iter().partition(|o| runs_on && KEPT.contains(&o.kind));
    let mut left = tigera::left_behind(observed);
    left.extend(kept.iter().filter_map(needed));
    let mut restoration = Restoration {
        held: hold::restoring(&known, observed),
        left,
        ..Restoration::default()
    };
    if !accepts_unknown(observed) {
        restoration.left.extend(unknown.iter().map(not_known));
    }
    // Felix and pools must fit each other, and tigera/operator makes pools of its Installation: all or none.
    let held = |kind: &ConfigKind| {
        use ConfigKind::{FelixConfiguration, Installation, IpPool};
        restoration.held.is_some() && matches!(kind, FelixConfiguration | Installation | IpPool)
    };
    let kinds: Vec<_> = ORDER.into_iter().filter(|kind| !held(kind)).collect();
    for kind in kinds {
        let mut names: Vec<_> = known
            .iter()
            .filter(|o| o.kind == kind)
            .map(|o| o.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let fields: Vec<_> = known
                .iter()
                .filter(|o| o.kind == kind && o.name == name)
                .collect();
            if let Some(object) = observed.object(kind, name) {
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
            "{}: the agent of tigera/operator on Windows nodes needs it; its original value was {}",
            FieldId::of(original),
            shown(original.previous.as_ref()),
        )
    })
}

fn restore_object(
    kind: ConfigKind,
    name: &str,
    fields: &[&Original],
    object: &ConfigObject,
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
            "{} {name}: the operator created it, but {writers} changed it since; delete it if nothing needs it",
            kind.as_str()
        ));
        // Its schema requires the field, so that cannot be taken back alone.
        if kind == ConfigKind::IpamConfiguration {
            return;
        }
    }
    let (ours, changed): (Vec<_>, Vec<_>) = fields.iter().copied().partition(|o| object.is_ours(o));
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

fn deletion(kind: ConfigKind, name: &str, fields: &[&Original], object: &ConfigObject) -> Write {
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

fn change(original: &Original, object: &ConfigObject) -> Change {
    Change {
        id: FieldId::of(original),
        from: object.spec.get(&original.field).cloned(),
        to: original.previous.clone(),
        drifted_by: None,
    }
}

fn accepts_unknown(observed: &Observed) -> bool {
    let config = observed.config.as_ref().map(Config::object);
    config.is_some_and(|c| c.spec.calico.originals.unknown == UnknownOriginals::Accept)
}

fn not_known(original: &Original) -> String {
    format!(
        "{}: an earlier WindowsNodeConfig set it to {}, and its original value is unknown",
        FieldId::of(original),
        plain(&original.applied)
    )
}

fn changed_since(original: &Original, object: &ConfigObject) -> String {
    let (id, previous) = (FieldId::of(original), shown(original.previous.as_ref()));
    let applied = plain(&original.applied);
    match object.spec.get(&original.field) {
        Some(now) if *now == original.applied => {
            let owners = object.owners.get(&original.field).into_iter().flatten();
            let owners = names_of(owners.map(|o| o.manager.as_str()));
            format!("{id}: {owners} also set {applied}; its original value was {previous}")
        }
        now => format!(
            "{id}: the operator set {applied}, and it is {} now; its original value was {previous}",
            shown(now)
        ),
    }
}
