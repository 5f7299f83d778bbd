//! From fields as the plan names them to the objects and the list the Installation is made of.

use serde_json::{Map, Value};
use wn_api::names::TIGERA_OPERATOR_MANAGERS;

use crate::field::Change;
use crate::observed::tigera::{POOLS, WINDOWS_DATAPLANE, WINDOWS_NODES, pool_field};
use crate::observed::{ConfigObject, FieldOwner};

/// `spec` of a write. The list of pools is the stored one, with no other change than the encapsulations given;
/// null removes a field.
pub fn nested(fields: Map<String, Value>, stored: &ConfigObject) -> Map<String, Value> {
    let mut spec = Map::new();
    let mut pools = None;
    for (field, value) in fields {
        if field.starts_with(&format!("{POOLS}[")) {
            let list = pools.get_or_insert_with(|| stored.spec.get(POOLS).cloned().unwrap_or_default());
            set_encapsulation(list, &field, value);
        } else {
            insert(&mut spec, &field, value);
        }
    }
    if let Some(list) = pools {
        insert(&mut spec, POOLS, list);
    }
    spec
}

/// Switched off again, Windows' folders must go as well: tigera/operator fills them in when it is switched on, and refuses
/// the whole Installation when they are there without it (`pkg/controller/installation/validation.go`). What anybody else
/// wrote there stays.
pub fn take_defaults_along(fields: &mut Map<String, Value>, stored: &ConfigObject) {
    let off = fields.get(WINDOWS_DATAPLANE).is_some_and(|v| v != "HNS");
    let owners = stored.owners.get(WINDOWS_NODES).map_or(&[][..], Vec::as_slice);
    if off && !owners.is_empty() && owners.iter().all(filled_in) {
        fields.insert(WINDOWS_NODES.to_owned(), Value::Null);
    }
}

/// Is it tigera/operator's own default?
pub fn filled_in(owner: &FieldOwner) -> bool {
    !owner.applied && TIGERA_OPERATOR_MANAGERS.contains(&owner.manager.as_str())
}

/// The list of pools is one field to the API server, and what an apply leaves out it removes: while it is ours, it is
/// part of every apply. In it an encapsulation that was absent is taken out again by name.
pub fn keep_pools(fields: &mut Map<String, Value>, stored: &ConfigObject, changes: &[Change]) {
    let of_pool = |c: &&Change| c.to.is_none() && c.id.field.starts_with(&format!("{POOLS}["));
    let gone: Vec<_> = changes.iter().filter(of_pool).collect();
    if let Some(list) = stored.spec.get(POOLS)
        && (stored.held.contains(POOLS) || !gone.is_empty())
    {
        fields.insert(POOLS.to_owned(), list.clone());
    }
    fields.extend(gone.into_iter().map(|c| (c.id.field.clone(), Value::Null)));
}

fn set_encapsulation(list: &mut Value, field: &str, value: Value) {
    let pools = list.as_array_mut().into_iter().flatten();
    let mut named = pools.filter(|p| p["cidr"].as_str().is_some_and(|cidr| pool_field(cidr) == field));
    let Some(pool) = named.next().and_then(Value::as_object_mut) else {
        return;
    };
    if value.is_null() {
        pool.remove("encapsulation");
    } else {
        pool.insert("encapsulation".to_owned(), value);
    }
}

/// Every name but the last is an object's.
fn insert(spec: &mut Map<String, Value>, field: &str, value: Value) {
    match field.split_once('.') {
        None => {
            spec.insert(field.to_owned(), value);
        }
        Some((object, rest)) => {
            let inner = spec.entry(object).or_insert_with(|| Value::Object(Map::new()));
            if let Some(inner) = inner.as_object_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wn_api::calico::ConfigKind;

    #[test]
    fn only_the_encapsulation_of_a_pool_changes() {
        let spec = json!({"calicoNetwork": {"bgp": "Enabled", "ipPools": [
            {"cidr": "10.0.0.0/16", "encapsulation": "IPIP", "natOutgoing": "Enabled"},
            {"cidr": "fd00::/48", "blockSize": 122},
            {"cidr": "10.1.0.0/16", "encapsulation": "VXLAN"},
        ]}});
        let stored = ConfigObject::read(ConfigKind::Installation, &json!({ "spec": spec }));
        let fields = [
            (pool_field("10.0.0.0/16"), json!("VXLAN")),
            (pool_field("10.1.0.0/16"), Value::Null),
            (pool_field("10.9.0.0/16"), json!("VXLAN")),
            ("calicoNetwork.bgp".to_owned(), json!("Disabled")),
            ("serviceCIDRs".to_owned(), json!(["10.96.0.0/12"])),
        ];
        let expected = json!({
            "serviceCIDRs": ["10.96.0.0/12"],
            "calicoNetwork": {"bgp": "Disabled", "ipPools": [
                {"cidr": "10.0.0.0/16", "encapsulation": "VXLAN", "natOutgoing": "Enabled"},
                {"cidr": "fd00::/48", "blockSize": 122},
                {"cidr": "10.1.0.0/16"},
            ]},
        });
        assert_eq!(
            Value::Object(nested(fields.into_iter().collect(), &stored)),
            expected
        );
    }
}
