//! What Windows nodes need of the Installation (tigera/operator `pkg/controller/installation/validation.go:405-424`,
//! `core_controller.go:483-531`, `pkg/render/windows.go:807`).

use ipnet::Ipv4Net;
use serde_json::{Map, Value, json};
use wn_api::calico::{ConfigKind, DEFAULT};
use wn_api::spec::WindowsNodeConfigSpec;

use super::spelling::nested;
use crate::calico::pools;
use crate::field::{Desired, FieldId, is_met, shown};
use crate::inputs;
use crate::network;
use crate::network::role::{Backend, CalicoRole};
use crate::observed::tigera::{BGP, POOLS, SERVICE_CIDRS, WINDOWS_DATAPLANE, pool_field};
use crate::observed::{ConfigObject, Observed};

fn desired(field: &str, value: Value) -> Desired {
    Desired {
        id: FieldId {
            kind: ConfigKind::Installation,
            name: DEFAULT.to_owned(),
            field: field.to_owned(),
        },
        value,
    }
}

/// Has tigera/operator run the agent on Windows nodes.
pub fn switch() -> Desired {
    desired(WINDOWS_DATAPLANE, json!("HNS"))
}

/// What must be right when the agent is switched on: tigera/operator refuses the whole Installation otherwise, or
/// renders an agent for another network than asked for.
pub fn prepared(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    installation: &ConfigObject,
) -> Vec<Desired> {
    let CalicoRole::Networking(backend) = network::of(spec.network.type_).calico else {
        return Vec::new();
    };
    // With BGP on, the Windows agent's backend is windows-bgp whatever the pools say.
    let bgp = match backend {
        Backend::Vxlan => "Disabled",
        Backend::Bgp => "Enabled",
    };
    let mut fields = vec![desired(BGP, json!(bgp))];
    fields.extend(encapsulations(observed, installation, backend));
    fields.extend(service_cidrs(spec, observed, installation));
    fields
}

/// Encapsulation of each IPv4 pool that can serve a Windows node, and of the first one, which tigera/operator
/// looks at whether it does or not.
pub fn encapsulations(observed: &Observed, installation: &ConfigObject, backend: Backend) -> Vec<Desired> {
    let encapsulation = match backend {
        Backend::Vxlan => "VXLAN",
        Backend::Bgp => "None",
    };
    let list = installation.spec.get(POOLS).and_then(Value::as_array);
    let v4 = list
        .into_iter()
        .flatten()
        .filter(|p| cidr(p).is_some_and(|c| c.parse::<Ipv4Net>().is_ok()));
    v4.enumerate()
        .filter(|(place, pool)| *place == 0 || pools::could_serve_windows(observed, pool))
        .filter_map(|(_, pool)| Some(desired(&pool_field(cidr(pool)?), json!(encapsulation))))
        .collect()
}

fn cidr(pool: &Value) -> Option<&str> {
    pool.get("cidr")?.as_str()
}

/// The stored list with what was found: a stored range that covers one that was found stays as it is, one that is part of
/// one that was found gives way to it. A range of IPv6 in the list is none of ours.
fn service_cidrs(
    spec: &WindowsNodeConfigSpec,
    observed: &Observed,
    installation: &ConfigObject,
) -> Option<Desired> {
    let found = inputs::service_cidrs(&spec.network, observed)?.value;
    let stored = installation.spec.get(SERVICE_CIDRS).and_then(Value::as_array);
    let mut list = stored.cloned().unwrap_or_default();
    for cidr in found {
        let net: Option<Ipv4Net> = cidr.parse().ok();
        let of = |value: &Value| value.as_str()?.parse::<Ipv4Net>().ok();
        let covers = |wide: Option<Ipv4Net>, narrow: Option<Ipv4Net>| {
            wide.zip(narrow)
                .is_some_and(|(wide, narrow)| wide.contains(&narrow))
        };
        if !list.iter().any(|known| covers(of(known), net)) {
            list.retain(|known| !covers(net, of(known)));
            list.push(json!(cidr));
        }
    }
    Some(desired(SERVICE_CIDRS, Value::Array(list)))
}

/// What is not as it must be, one clause a field.
pub fn differing(fields: &[Desired], installation: &ConfigObject) -> Vec<String> {
    let value = |d: &Desired| installation.spec.get(&d.id.field).cloned();
    fields
        .iter()
        .filter(|d| !is_met(d, value(d).as_ref()))
        .map(|d| {
            let (have, want) = (shown(value(d).as_ref()), shown(Some(&d.value)));
            format!("{} is {have}, Windows nodes need {want}", d.id)
        })
        .collect()
}

/// The command with which a person sets these fields.
pub fn patch(fields: &[Desired], installation: &ConfigObject) -> String {
    let met = |d: &&Desired| is_met(d, installation.spec.get(&d.id.field));
    let wrong: Map<_, _> = fields
        .iter()
        .filter(|d| !met(d))
        .map(|d| (d.id.field.clone(), d.value.clone()))
        .collect();
    let body = json!({ "spec": nested(wrong, installation) });
    format!("kubectl patch installation default --type=merge -p '{body}'")
}

/// Fields that would make an Installation of another network invalid, and all of Calico with it
/// (`validation.go:60-235`: encapsulation or BGP with another CNI plugin, VXLAN with host-local addresses).
pub fn mismatch(spec: &WindowsNodeConfigSpec, observed: &Observed) -> Option<String> {
    let facts = observed.installation.as_ref()?;
    let calico = matches!(facts.cni.as_str(), "" | "Calico");
    let network = spec.network.type_.as_str();
    match network::of(spec.network.type_).calico {
        CalicoRole::Networking(_) if !calico => Some(format!(
            "Installation default spec.cni.type is {}, with which Calico only enforces policy, and spec.network.type is {network}: set it \
             to CloudProvider",
            facts.cni
        )),
        CalicoRole::Networking(Backend::Vxlan) if facts.ipam == "HostLocal" => Some(format!(
            "Installation default spec.cni.ipam.type is HostLocal, which does not support VXLAN, and spec.network.type is {network}: set it to \
             CalicoBGP with spec.network.ipam HostLocal"
        )),
        CalicoRole::Policy { .. } if calico => Some(format!(
            "Calico networks the nodes (Installation default spec.cni), but spec.network.type is {network}: set it to CalicoVXLAN or CalicoBGP"
        )),
        CalicoRole::Networking(_) | CalicoRole::Policy { .. } => None,
    }
}
