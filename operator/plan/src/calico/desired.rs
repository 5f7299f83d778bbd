//! The value each Calico field should have.

use serde_json::{Value, json};
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::names::{MAX_VXLAN_VNI, MIN_VXLAN_VNI, VXLAN_PORT};
use wn_api::spec::{WhenInUse, WindowsNodeConfigSpec};
use wn_api::status::Original;

use super::{hold, pools};
use crate::field::{Change, Desired, FieldId};
use crate::network::role::Backend;
use crate::observed::Observed;

fn desired(kind: ConfigKind, name: &str, field: &str, value: Value) -> Desired {
    Desired {
        id: FieldId {
            kind,
            name: name.to_owned(),
            field: field.to_owned(),
        },
        value,
    }
}

/// Windows nodes cannot borrow addresses, and IPAM refuses to serve them while it is not strict
/// (libcalico-go `lib/ipam/ipam.go`, `ErrStrictAffinity`).
pub fn ipam() -> Vec<Desired> {
    vec![desired(
        ConfigKind::IpamConfiguration,
        DEFAULT,
        "strictAffinity",
        json!(true),
    )]
}

/// HNS knows neither IPIP nor a CrossSubnet mode: one encapsulation, always or never.
pub fn pool(name: &str, backend: Backend) -> Vec<Desired> {
    let vxlan = match backend {
        Backend::Vxlan => "Always",
        Backend::Bgp => "Never",
    };
    vec![
        desired(ConfigKind::IpPool, name, "ipipMode", json!("Never")),
        desired(ConfigKind::IpPool, name, "vxlanMode", json!(vxlan)),
    ]
}

/// Felix' own switches. A switch stays as it is while a pool that we do not change still needs it.
pub fn felix(
    spec: &WindowsNodeConfigSpec,
    backend: Backend,
    observed: &Observed,
    originals: &[Original],
) -> Vec<Desired> {
    let felix = |field: &str, value: Value| desired(ConfigKind::FelixConfiguration, DEFAULT, field, value);
    let mut fields = Vec::new();
    if !others_use(observed, "ipipMode") {
        fields.push(felix("ipipEnabled", json!(false)));
    }
    match backend {
        Backend::Vxlan => {
            fields.push(felix("vxlanEnabled", json!(true)));
            fields.push(felix(VNI, json!(vni(spec, observed, originals))));
            fields.push(felix("vxlanPort", json!(VXLAN_PORT)));
        }
        Backend::Bgp if !others_use(observed, "vxlanMode") => {
            fields.push(felix("vxlanEnabled", json!(false)));
        }
        Backend::Bgp => {}
    }
    if backend == Backend::Bgp && spec.calico.encapsulation.when_in_use == WhenInUse::Hold {
        fields.extend(kept(observed, originals));
    }
    fields
}

/// VNI and port that were set for Windows nodes stay while an overlay of Linux nodes uses them: giving them back
/// interrupts it as setting them did.
fn kept(observed: &Observed, originals: &[Original]) -> impl Iterator<Item = Desired> {
    let interrupts =
        |o: &&Original| hold::interrupts_felix(observed, &o.field, Some(&o.applied), o.previous.as_ref());
    let of_felix = originals
        .iter()
        .filter(|o| o.kind == ConfigKind::FelixConfiguration);
    of_felix
        .filter(interrupts)
        .map(|o| desired(o.kind, &o.name, &o.field, o.applied.clone()))
}

/// Is there a live pool, not ours to change, that encapsulates by `mode`? A disabled one lives as long as
/// pods hold addresses of it.
fn others_use(observed: &Observed, mode: &str) -> bool {
    let ours: Vec<_> = pools::serving_windows(observed)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    pools::all(observed)
        .filter(|(name, pool)| {
            !ours.contains(name) && (pools::is_enabled_v4(pool) || pools::in_use(observed, pool))
        })
        .any(|(_, pool)| !matches!(pool.text(mode), "" | "Never"))
}

/// The spec's; else the one we set before, so that a change by hand is drift and not a new choice; else the
/// cluster's if Windows can use it; else the lowest Windows can use.
fn vni(spec: &WindowsNodeConfigSpec, observed: &Observed, originals: &[Original]) -> i32 {
    let asked = spec.calico.vxlan.as_ref().and_then(|v| v.vni);
    let is_vni = |o: &&Original| o.kind == ConfigKind::FelixConfiguration && o.field == VNI;
    // Not usable: one that was restored, because for a while CalicoBGP was asked for.
    let set = || usable(number(&originals.iter().find(is_vni)?.applied)?);
    let found = || usable(found_vni(observed)?);
    asked.or_else(set).or_else(found).unwrap_or(MIN_VXLAN_VNI)
}

/// The VNI that agents use: that of Felix after the plan's writes. While the one we want is held back, reported on or
/// somebody else's, Linux nodes go on with the one that is stored.
pub fn agents_vni<'a>(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    mut changes: impl Iterator<Item = &'a Change>,
    originals: &[Original],
) -> i32 {
    let written = changes.find(|c| c.id.kind == ConfigKind::FelixConfiguration && c.id.field == VNI);
    let stored = || found_vni(observed).and_then(usable);
    written
        .and_then(|c| usable(number(c.to.as_ref()?)?))
        .or_else(stored)
        .unwrap_or_else(|| vni(spec, observed, originals))
}

const VNI: &str = "vxlanVNI";

/// `vxlanVNI` of `FelixConfiguration` `default` as it is.
pub fn found_vni(observed: &Observed) -> Option<i32> {
    let felix = (ConfigKind::FelixConfiguration, DEFAULT.to_owned());
    number(observed.calico.objects.get(&felix)?.spec.get(VNI)?)
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|n| i32::try_from(n).ok())
}

fn usable(vni: i32) -> Option<i32> {
    (MIN_VXLAN_VNI..=MAX_VXLAN_VNI).contains(&vni).then_some(vni)
}
