//! The value each Calico field should have.

use serde_json::{Value, json};
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::names::{MIN_VXLAN_VNI, VXLAN_PORT};
use wn_api::spec::WindowsNodeConfigSpec;
use wn_api::status::Original;

use super::pools;
use crate::field::{Desired, FieldId};
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
            fields.push(felix("vxlanVNI", json!(vni(spec, observed, originals))));
            fields.push(felix("vxlanPort", json!(VXLAN_PORT)));
        }
        Backend::Bgp if !others_use(observed, "vxlanMode") => {
            fields.push(felix("vxlanEnabled", json!(false)));
        }
        Backend::Bgp => {}
    }
    fields
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

/// The spec's; else the one we set before, so that a change by hand is drift and not a new wish; else the
/// cluster's if Windows can use it; else the lowest Windows can use.
pub fn vni(spec: &WindowsNodeConfigSpec, observed: &Observed, originals: &[Original]) -> i32 {
    const FIELD: &str = "vxlanVNI";
    let asked = spec.calico.vxlan.as_ref().and_then(|v| v.vni);
    let is_vni = |o: &&Original| o.kind == ConfigKind::FelixConfiguration && o.field == FIELD;
    let usable = |vni: &i32| *vni >= MIN_VXLAN_VNI;
    // Not usable: one that was given back, because for a while CalicoBGP was asked for.
    let set = || {
        originals
            .iter()
            .find(is_vni)
            .and_then(|o| number(&o.applied))
            .filter(usable)
    };
    asked
        .or_else(set)
        .or_else(|| found_vni(observed).filter(usable))
        .unwrap_or(MIN_VXLAN_VNI)
}

/// `vxlanVNI` of `FelixConfiguration` `default` as it is.
pub fn found_vni(observed: &Observed) -> Option<i32> {
    let felix = (ConfigKind::FelixConfiguration, DEFAULT.to_owned());
    number(observed.calico.objects.get(&felix)?.spec.get("vxlanVNI")?)
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|n| i32::try_from(n).ok())
}
