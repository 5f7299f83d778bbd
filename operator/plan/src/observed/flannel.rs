//! flannel's configuration: `net-conf.json` in ConfigMap `kube-flannel-cfg`, one text of JSON, whose fields are read as
//! Calico's are, under their path.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wn_api::names::flannel::{BACKEND_DATA, NET_CONF_KEY};
use wn_api::names::managers;

use super::config_object::{ConfigObject, FieldOwner};
use super::{items, text};

/// Fields that are set or read, under the names flannel's documentation has.
pub const FIELDS: [&str; 5] = [
    "Network",
    "Backend.Type",
    "Backend.VNI",
    "Backend.Port",
    "Backend.DirectRouting",
];

/// Name under which the whole text is kept: what we do not know of it must survive our change.
pub const TEXT: &str = NET_CONF_KEY;

/// The object. Whoever wrote the text owns each field in it.
pub fn read(config_map: &Value) -> ConfigObject {
    let entries: Vec<_> = items(config_map, "/metadata/managedFields")
        .filter(|e| e.pointer("/fieldsV1/f:data/f:net-conf.json").is_some())
        .collect();
    let (ours, foreign): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|e| managers::is_ours(text(e, "/manager")));
    let owners: Vec<_> = foreign
        .into_iter()
        .map(|e| FieldOwner {
            manager: text(e, "/manager").to_owned(),
            applied: text(e, "/operation") == "Apply",
        })
        .collect();
    let net_conf = config_map
        .pointer("/data")
        .and_then(|d| d.get(NET_CONF_KEY))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut spec = fields(net_conf);
    spec.insert(TEXT.to_owned(), net_conf.into());
    let all = || FIELDS.into_iter().map(str::to_owned);
    ConfigObject {
        spec,
        foreign_writers: owners.iter().map(|o| o.manager.clone()).collect(),
        owners: if owners.is_empty() {
            BTreeMap::new()
        } else {
            all().map(|f| (f, owners.clone())).collect()
        },
        written_by_us: !ours.is_empty(),
        held: if ours.is_empty() {
            BTreeSet::new()
        } else {
            all().collect()
        },
        managed_by_tigera: false,
        nat_change: None,
        etcd_writes: None,
        resource_version: text(config_map, "/metadata/resourceVersion").to_owned(),
        uid: text(config_map, "/metadata/uid").to_owned(),
    }
}

fn fields(net_conf: &str) -> BTreeMap<String, Value> {
    let parsed: Value = serde_json::from_str(net_conf).unwrap_or_default();
    FIELDS
        .into_iter()
        .filter_map(|path| {
            let value = path.split('.').try_fold(&parsed, member)?;
            Some((path.to_owned(), value.clone()))
        })
        .collect()
}

/// flannel is written in Go, which reads names in any case.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let object = object.as_object()?;
    object.get(name).or_else(|| {
        object
            .iter()
            .find(|(k, _)| k.eq_ignore_ascii_case(name))
            .map(|(_, v)| v)
    })
}

/// VNI that flannel on a node works with, as it says itself; releases before v0.14 do not.
pub fn announced_vni(node: &Value) -> Option<i64> {
    let data = node
        .pointer("/metadata/annotations")?
        .get(BACKEND_DATA)?
        .as_str()?;
    serde_json::from_str::<Value>(data).ok()?.get("VNI")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_and_owners_are_those_of_the_text() {
        let object = json!({
            "metadata": {"resourceVersion": "7", "managedFields": [
                {"manager": "kubectl-client-side-apply", "operation": "Update",
                 "fieldsV1": {"f:data": {"f:cni-conf.json": {}, "f:net-conf.json": {}}}},
                {"manager": "labeller", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
            ]},
            "data": {"net-conf.json": r#"{"Network": "10.244.0.0/16", "backend": {"type": "vxlan", "VNI": 1}}"#},
        });
        let facts = read(&object);
        assert_eq!(facts.text("Backend.Type"), "vxlan");
        assert_eq!(facts.spec["Backend.VNI"], 1);
        assert!(!facts.spec.contains_key("Backend.Port"));
        assert_eq!(
            facts.owners["Backend.Port"][0].manager,
            "kubectl-client-side-apply"
        );
        assert!(!facts.written_by_us && facts.held.is_empty());
    }

    #[test]
    fn what_is_no_json_has_no_fields() {
        let facts = read(&json!({"data": {"net-conf.json": "{"}}));
        assert_eq!(facts.spec.len(), 1);
        assert_eq!(facts.text(TEXT), "{");
    }

    #[test]
    fn a_node_says_its_vni() {
        let node = |data: &str| json!({"metadata": {"annotations": {BACKEND_DATA: data}}});
        assert_eq!(
            announced_vni(&node(r#"{"VNI":1,"VtepMAC":"82:5a:00:00:00:01"}"#)),
            Some(1)
        );
        assert_eq!(announced_vni(&node(r#"{"VtepMAC":"82:5a:00:00:00:01"}"#)), None);
        assert_eq!(announced_vni(&node("null")), None);
    }
}
