//! Bad input is refused by the API server or by us, with one clear message, and nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_yaml_snapshot;
use serde::Deserialize;
use serde_json::Value;
use wn_api::WindowsNodeConfigSpec;
use wn_plan::status::{Outcome, assemble};
use wn_plan::validate::{Violation, validate};

use crate::common::*;

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Refuser {
    ApiServer,
    Operator,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    spec: Option<Value>,
    object: Option<Value>,
    #[serde(default)]
    accepted: bool,
    refused_by: Option<Refuser>,
    contains: Option<String>,
}

fn table() -> Vec<Case> {
    serde_saphyr::from_str(include_str!("data/bad-input.yaml")).unwrap()
}

fn decode(case: &Case) -> Result<WindowsNodeConfigSpec, serde_json::Error> {
    let spec = case
        .spec
        .clone()
        .or_else(|| Some(case.object.as_ref()?["spec"].clone()));
    serde_json::from_value(spec.unwrap_or_default())
}

fn violations(spec: &WindowsNodeConfigSpec) -> Vec<Violation> {
    validate(spec, &Cluster::vxlan().observed)
        .err()
        .unwrap_or_default()
}

#[test]
fn the_table_is_well_formed() {
    let table = table();
    let bad = table.iter().filter(|c| !c.accepted).count();
    assert!(bad >= 60, "{bad} cases of bad input");
    let names: BTreeSet<_> = table.iter().map(|c| &c.name).collect();
    assert_eq!(names.len(), table.len(), "names are unique");
    for case in &table {
        assert_eq!(case.refused_by.is_none(), case.accepted, "{}", case.name);
        assert_eq!(
            case.contains.is_none(),
            case.accepted,
            "{}: what must the message contain?",
            case.name
        );
        assert_ne!(
            case.spec.is_some(),
            case.object.is_some(),
            "{}: a spec or an object",
            case.name
        );
    }
}

/// What the API server refuses, too, as far as it fits our types: under an older CRD it is stored.
#[test]
fn what_the_operator_refuses_says_what_to_do() {
    let mut messages = BTreeMap::new();
    for case in &table() {
        let spec = match (decode(case), case.refused_by) {
            (Ok(spec), Some(_)) => spec,
            (Err(e), Some(Refuser::Operator)) => panic!("{}: the API server would take it: {e}", case.name),
            (Err(_), Some(Refuser::ApiServer)) | (_, None) => continue,
        };
        let found = violations(&spec);
        let text: Vec<_> = found.iter().map(ToString::to_string).collect();
        if case.refused_by == Some(Refuser::ApiServer) && text.is_empty() {
            continue;
        }
        if case.refused_by == Some(Refuser::Operator) {
            let part = case.contains.as_deref().unwrap();
            assert!(
                text.iter().any(|t| t.contains(part)),
                "{}: {text:?} lacks {part:?}",
                case.name
            );
            assert_eq!(text.len(), 1, "{}: one mistake, one message: {text:?}", case.name);
        }
        messages.insert(case.name.clone(), text.join("; "));
    }
    assert_yaml_snapshot!(messages);
}

#[test]
fn near_misses_are_accepted() {
    for case in table().iter().filter(|c| c.accepted) {
        let spec = decode(case).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert_eq!(violations(&spec), [], "{}", case.name);
    }
}

/// What the schema refuses we refuse too where we look at the same: an old CRD must not let it through.
#[test]
fn ranges_do_not_rest_on_the_schema_alone() {
    let names = [
        "VNI too low for HNS",
        "VNI that Felix for Windows cuts to 16 bits",
        "VXLAN settings with BGP",
        "empty host",
        "host with scheme",
        "port zero",
        "port out of range",
        "tag and digest",
        "host with port",
        "CIDR without prefix length",
        "DNS server by name",
        "search domain with a blank",
        "etcd endpoint without port",
        "flannel without an image",
        "VXLAN adapter with BGP",
        "several networks with flannel",
        "kube-proxy of ours in the cloud's network",
        "digest of the agent, which is two images",
        "repository of another image",
        "quantity that is none",
        "nodes of another system",
        "nodes by the label of the operator",
        "nodes by a value that is none",
        "ready nodes in words",
    ];
    let table = table();
    for name in names {
        let case = table
            .iter()
            .find(|c| c.name == name)
            .unwrap_or_else(|| panic!("no case {name:?}"));
        assert_ne!(violations(&decode(case).unwrap()), [], "{name}");
    }
}

/// Unknown fields and wrong types do not reach us as something else.
#[test]
fn unknown_fields_are_not_swallowed() {
    for case in table()
        .iter()
        .filter(|c| c.name.starts_with("unknown") || c.name.ends_with("as text"))
    {
        let refused = decode(case).map_or(true, |spec| !violations(&spec).is_empty());
        assert!(refused, "{}", case.name);
    }
}

#[test]
fn a_refused_spec_keeps_what_was_known() {
    let mut cluster = Cluster::vxlan();
    cluster.pass();
    let before = cluster.config().status.clone().unwrap();
    let mut spec = spec("network: {apiServer: {host: 10.96.0.1}, serviceCIDRs: [10.96.0.0]}");
    std::mem::swap(&mut cluster.config_mut().spec, &mut spec);
    let found = violations(&cluster.config().spec);
    assert_eq!(found.len(), 2);
    let status = assemble(cluster.config(), Outcome::Refused { violations: &found }, at(5));
    assert_eq!(status.calico, before.calico, "the originals most of all");
    assert_eq!(status.nodes, before.nodes);
    let stalled = status.conditions.iter().find(|c| c.type_ == "Stalled").unwrap();
    assert_eq!(
        (stalled.status.as_str(), stalled.reason.as_str()),
        ("True", "InvalidSpec")
    );
    assert!(
        found.iter().all(|v| stalled.message.contains(&v.to_string())),
        "{}",
        stalled.message
    );
}
