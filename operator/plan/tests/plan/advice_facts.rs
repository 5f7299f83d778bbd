//! Facts that rules of advice read of Calico's objects.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_plan::observed::{BlockFacts, ConfigObject};

fn block(attributes: Value, allocations: Value) -> Value {
    json!({"spec": {"cidr": "10.0.0.0/26", "attributes": attributes, "allocations": allocations}})
}

#[test]
fn a_change_of_nat_is_that_of_another_than_the_maker() {
    let pool = |by: &str, fields: Value| {
        json!({"metadata": {"managedFields": [
            {"manager": "calico-node", "operation": "Update", "time": "2026-01-01T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:cidr": {}, "f:blockSize": {}}}},
            {"manager": by, "operation": "Update", "time": "2026-02-01T00:00:00Z", "fieldsV1": {"f:spec": fields}},
        ]}})
    };
    let change = |object: &Value| ConfigObject::read(ConfigKind::IpPool, object).nat_change;
    let found = change(&pool("kubectl-edit", json!({"f:natOutgoing": {}}))).unwrap();
    assert_eq!(
        (found.at.to_string(), found.by.as_str()),
        ("2026-02-01T00:00:00Z".to_owned(), "kubectl-edit")
    );
    assert_eq!(
        change(&pool("kubectl-edit", json!({"f:natOutgoing": {}, "f:cidr": {}}))),
        None
    );
    assert_eq!(change(&pool("kubectl-edit", json!({"f:disabled": {}}))), None);
}

#[test]
fn the_oldest_pod_of_a_windows_block() {
    let pod = |at: &str| json!({"handle_id": "p", "secondary": {"pod": "p", "timestamp": at}});
    let windows = json!({"handle_id": "windows-reserved-ipam-handle"});
    let late = pod("2026-05-01 10:00:00.123456789 +0000 UTC");
    let early = pod("2026-04-01 10:00:00 +0000 UTC");
    let attributes = json!([windows, late, early, pod("who knows")]);
    let facts = BlockFacts::read(&block(attributes.clone(), json!([0, 0, 0, 1, 2, 3]))).unwrap();
    assert_eq!(facts.oldest.unwrap().to_string(), "2026-04-01T10:00:00Z");
    let at = |t: &str| t.parse().unwrap();
    assert!(facts.older_in("10.0.0.0/16".parse().unwrap(), at("2026-04-02T00:00:00Z")));
    assert!(!facts.older_in("10.0.0.0/16".parse().unwrap(), at("2026-03-02T00:00:00Z")));
    assert!(!facts.older_in("10.1.0.0/16".parse().unwrap(), at("2026-04-02T00:00:00Z")));
    let only_late = BlockFacts::read(&block(attributes, json!([0, 0, 0, 1, null, null]))).unwrap();
    assert_eq!(
        only_late.oldest.unwrap().to_string(),
        "2026-05-01T10:00:00.123456789Z"
    );
    let linux = BlockFacts::read(&block(json!([early]), json!([0]))).unwrap();
    assert_eq!(linux.oldest, None, "a Linux node's pods follow at once");
}

#[test]
fn reserved_addresses_are_not_free() {
    let object =
        json!({"spec": {"cidr": "10.0.0.0/29", "allocations": [], "attributes": [], "unallocated": [3, 5]}});
    let (facts, free) = (BlockFacts::read(&object).unwrap(), BlockFacts::free(&object));
    assert_eq!(free, [Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 5)]);
    let reserving = |cidrs: &[&str]| {
        let nets = cidrs.iter().map(|c| c.parse().unwrap()).collect();
        let facts = facts.clone().reserving(&free, &[("r".to_owned(), nets)].into());
        facts.exhausted
    };
    assert!(!reserving(&[]));
    assert!(!reserving(&["10.0.0.3/32"]));
    assert!(reserving(&["10.0.0.3/32", "10.0.0.4/30"]));
}
