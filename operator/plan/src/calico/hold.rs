//! Changes that interrupt traffic between running pods, and the message while one is held back
//! (`spec.calico.encapsulation.whenInUse`).

use std::collections::BTreeSet;

use serde_json::Value;
use wn_api::calico::ConfigKind;
use wn_api::names::{DEFAULT_VXLAN_VNI, VXLAN_PORT};
use wn_api::spec::WhenInUse;
use wn_api::status::Original;

use super::pools;
use crate::field::{Desired, FieldId, plain, shown};
use crate::finding::names_of;
use crate::observed::tigera::{POOLS, pool_field};
use crate::observed::{ConfigObject, Observed};

/// Fields of Felix that every packet of an overlay carries: nodes that differ in one do not reach each other, and all change
/// at another moment. With Felix' defaults (`felix/config/config_params.go`).
const CARRIED: [(&str, i32); 2] = [("vxlanVNI", DEFAULT_VXLAN_VNI), ("vxlanPort", VXLAN_PORT)];

/// Does a change of this field of Felix interrupt an overlay that pods on Linux nodes use?
pub fn interrupts_felix(observed: &Observed, field: &str, from: Option<&Value>, to: Option<&Value>) -> bool {
    let Some((_, default)) = CARRIED.iter().find(|(name, _)| *name == field) else {
        return false;
    };
    let value = |v: Option<&Value>| v.and_then(Value::as_i64).unwrap_or_else(|| i64::from(*default));
    value(from) != value(to) && overlays_in_use(observed).next().is_some()
}

/// Does a change of this field of a pool interrupt pods on Linux nodes?
pub fn interrupts_pool(
    observed: &Observed,
    pool: &ConfigObject,
    field: &str,
    from: Option<&Value>,
    to: Option<&Value>,
) -> bool {
    matches!(field, "ipipMode" | "vxlanMode") && mode(from) != mode(to) && pools::in_use(observed, pool)
}

/// A mode that is absent or empty is `Never` to Calico.
fn mode(value: Option<&Value>) -> &str {
    let mode = value.and_then(Value::as_str).unwrap_or_default();
    if mode.is_empty() { "Never" } else { mode }
}

/// Pools of an overlay whose addresses pods on Linux nodes have. A disabled pool counts: only new pods get none of it.
pub fn overlays_in_use(observed: &Observed) -> impl Iterator<Item = &str> {
    pools::all(observed)
        .filter(|(_, pool)| !matches!(pool.text("vxlanMode"), "" | "Never"))
        .filter(|(_, pool)| pools::in_use(observed, pool))
        .map(|(name, _)| name)
}

/// Fields of Felix that are not set because an overlay is in use.
pub fn felix_in_use(observed: &Observed, fields: &[&Desired]) -> String {
    let wanted: Vec<_> = fields
        .iter()
        .map(|d| format!("{}: {}", d.id.field, plain(&d.value)))
        .collect();
    let wanted = format!("{} of FelixConfiguration default", wanted.join(", "));
    in_use(
        &format!("IPPool {}", names_of(overlays_in_use(observed))),
        &wanted,
    )
}

/// Why originals are not restored now: pods on Linux nodes use what would change.
pub fn restoring(originals: &[Original], observed: &Observed) -> Option<String> {
    let encapsulation = &observed.config.as_ref()?.object().spec.calico.encapsulation;
    let mut pools = BTreeSet::new();
    let mut wanted = Vec::new();
    for original in originals {
        let used = interrupted(original, observed);
        if !used.is_empty() {
            wanted.push(format!(
                "{}: {}",
                FieldId::of(original),
                shown(original.previous.as_ref())
            ));
        }
        pools.extend(used);
    }
    let held = encapsulation.when_in_use == WhenInUse::Hold && !wanted.is_empty();
    let pool = format!("IPPool {}", names_of(pools.iter().map(String::as_str)));
    held.then(|| in_use(&pool, &wanted.join(", ")))
}

/// Pools whose pods lose their traffic when the original is restored.
fn interrupted(original: &Original, observed: &Observed) -> Vec<String> {
    let Some(object) = observed.object(original.kind, &original.name) else {
        return Vec::new();
    };
    let (field, previous) = (original.field.as_str(), original.previous.as_ref());
    let current = object.spec.get(field);
    if !object.is_ours(original) || current == previous {
        return Vec::new();
    }
    match original.kind {
        ConfigKind::FelixConfiguration if interrupts_felix(observed, field, current, previous) => {
            overlays_in_use(observed).map(str::to_owned).collect()
        }
        ConfigKind::IpPool if interrupts_pool(observed, object, field, current, previous) => {
            vec![original.name.clone()]
        }
        ConfigKind::Installation => cidr_in_use(observed, object, field).into_iter().collect(),
        ConfigKind::FelixConfiguration
        | ConfigKind::IpPool
        | ConfigKind::IpamConfiguration
        | ConfigKind::FlannelConfiguration => Vec::new(),
    }
}

/// The range of the pool in the Installation whose encapsulation the field is.
fn cidr_in_use(observed: &Observed, installation: &ConfigObject, field: &str) -> Option<String> {
    let list = installation.spec.get(POOLS)?.as_array()?;
    let mut cidrs = list.iter().filter_map(|p| p.get("cidr")?.as_str());
    let cidr = cidrs.find(|cidr| pool_field(cidr) == field)?;
    pools::in_use_cidr(observed, cidr).then(|| cidr.to_owned())
}

/// The message about a change that is held back.
pub fn in_use(pool: &str, wanted: &str) -> String {
    format!(
        "{pool} already serves pods on Linux nodes, whose traffic a change of encapsulation would interrupt; waiting to set {wanted}: \
         set spec.calico.encapsulation.whenInUse to Migrate to allow it"
    )
}
