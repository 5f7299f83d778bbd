//! Every shared case: what the real Felix made of it, ACL by ACL, rule by rule, verdict by verdict.

mod common;

use std::path::Path;

use common::{cases, folders, json, name, objects};
use serde_json::{Value, json};
use wn_policy::output::Report;
use wn_policy::release::Release;

#[test]
fn every_case_is_reproduced() {
    let Some(folder) = cases("policy-cases") else {
        return;
    };
    let cases = folders(&folder.join("cases"));
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(case)).collect();
    let right = cases.len() - wrong.len();
    assert!(
        wrong.is_empty(),
        "{right} of {}:\n{}",
        cases.len(),
        wrong.join("\n")
    );
}

fn difference(case: &Path) -> Option<String> {
    let mut expected = json(&case.join("expected.json"));
    let report = Report::new(&objects(&case.join("input.yaml")), Release::NEWEST);
    let mut found = serde_json::to_value(report).unwrap();
    for value in [&mut expected, &mut found] {
        let fields = value.as_object_mut().unwrap();
        fields.remove("description");
        fields.remove("constructs");
        // The sample of packets is our own.
        for endpoint in value["endpoints"].as_array_mut().unwrap() {
            endpoint.as_object_mut().unwrap().remove("difference");
        }
    }
    let mut lines = Vec::new();
    compare("", &expected, &found, &mut lines);
    (!lines.is_empty()).then(|| format!("{}\n  {}", name(case), lines.join("\n  ")))
}

/// Where two values differ.
fn compare(at: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(e), Value::Object(f)) => {
            let mut names: Vec<&String> = e.keys().chain(f.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let null = json!(null);
                let (e, f) = (e.get(name).unwrap_or(&null), f.get(name).unwrap_or(&null));
                compare(&format!("{at}.{name}"), e, f, lines);
            }
        }
        (Value::Array(e), Value::Array(f)) if e.len() == f.len() => {
            for (i, (e, f)) in e.iter().zip(f).enumerate() {
                compare(&format!("{at}[{i}]"), e, f, lines);
            }
        }
        _ if expected == found => {}
        _ => lines.push(format!("{at}: expected {expected}, found {found}")),
    }
}
