//! Compares every shared case with the output of the real Felix: ACLs, rules and verdicts.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

mod common;

use std::path::Path;

use common::{cases, folders, json, name, objects};
use serde_json::{Value, json};
use wn_workloads::input::Objects;
use wn_workloads::output::{Report, RuleLine};
use wn_workloads::release::Release;
use wn_workloads::update;

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
        for endpoint in value["endpoints"].as_array_mut().unwrap() {
            let fields = endpoint.as_object_mut().unwrap();
            // The sample of packets is not part of the shared cases.
            fields.remove("difference");
        }
    }
    let mut lines = Vec::new();
    compare("", &expected, &found, &mut lines);
    (!lines.is_empty()).then(|| format!("{}\n  {}", name(case), lines.join("\n  ")))
}

#[test]
fn every_edit_is_reproduced() {
    let Some(folder) = cases("policy-updates") else {
        return;
    };
    for update in folders(&folder.join("updates")) {
        let mut expected = json(&update.join("expected.json"));
        expected.as_object_mut().unwrap().remove("description");
        let pod = expected["pod"].clone();
        let (before, edit) = (
            objects(&update.join("input.yaml")),
            objects(&update.join("update.yaml")),
        );
        let updates = update::of(&before, &edit, Release::NEWEST);
        let of_pod = updates.iter().find(|u| pod == u.pod.as_str()).unwrap();
        let found = serde_json::to_value(of_pod).unwrap();
        let mut lines = Vec::new();
        compare("", &expected, &found, &mut lines);
        assert!(lines.is_empty(), "{}\n  {}", name(&update), lines.join("\n  "));
    }
}

#[test]
fn every_release_is_reproduced() {
    let Some(folder) = cases("policy-releases") else {
        return;
    };
    let versions = json(&folder.join("versions.json"));
    let mut wrong = Vec::new();
    for of_release in versions["releases"].as_array().unwrap() {
        let version = of_release["version"].as_str().unwrap();
        let release: Release = version.parse().unwrap();
        for (case, expected) in of_release["cases"].as_object().unwrap() {
            let input = objects(&folder.join("cases").join(case).join("input.yaml"));
            let found = release_summary(&input, release);
            let mut lines = Vec::new();
            compare("", expected, &found, &mut lines);
            wrong.extend(lines.iter().map(|line| format!("{version} {case} {line}")));
        }
        for (name, expected) in of_release["updates"].as_object().unwrap() {
            let folder = folder.join("updates").join(name);
            let (before, edit) = (
                objects(&folder.join("input.yaml")),
                objects(&folder.join("update.yaml")),
            );
            let updates = update::of(&before, &edit, release);
            let stale = updates.iter().any(|update| update.stale);
            if expected["stale"] != stale {
                wrong.push(format!("{version} {name}: stale {stale}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The summary of a case with another release, in the form of `versions.json`.
fn release_summary(input: &Objects, release: Release) -> Value {
    let (newest, report) = (Report::new(input, Release::NEWEST), Report::new(input, release));
    let pods = |entries: Vec<(&str, &str)>| {
        let verdicts = entries
            .into_iter()
            .map(|(pod, verdict)| (pod.to_owned(), json!(verdict)));
        Value::Object(verdicts.collect())
    };
    let of = |report: &Report| {
        pods(
            report
                .endpoints
                .iter()
                .map(|e| (e.pod.as_str(), e.verdict))
                .collect(),
        )
    };
    let rules: Vec<Value> = report
        .rules
        .iter()
        .filter_map(|rule| other_effect(rule, &newest))
        .collect();
    let rejected = |report: &Report| !report.rejected.is_empty();
    let mut summary = json!({
        "pods": of(&report),
        "differs": of(&report) != of(&newest)
            || !rules.is_empty()
            || !report.unknown.is_empty()
            || rejected(&report) != rejected(&newest),
    });
    if !rules.is_empty() {
        summary["rules"] = json!(rules);
    }
    if !report.unknown.is_empty() {
        summary["unknown"] = json!(report.unknown);
    } else if rejected(&report) == rejected(&newest) {
        if let Some(change) = acl_change(&report, &newest) {
            summary["acls"] = json!(change);
        }
    } else {
        summary["rejected"] = json!(rejected(&report));
        summary["message"] = json!(report.rejected[0].split_once(": ").unwrap().1);
        let stored = report.if_stored.as_ref().unwrap();
        let verdicts = stored.endpoints.iter().map(|e| (e.pod.as_str(), e.verdict));
        summary["ifStored"] = json!({"pods": pods(verdicts.collect()), "differs": false});
        // Without the object, the rules of the other release are not comparable.
        summary.as_object_mut().unwrap().remove("rules");
    }
    summary
}

fn other_effect(rule: &RuleLine, newest: &Report) -> Option<Value> {
    let place = |r: &RuleLine| (r.policy.clone(), r.direction, r.index, r.part);
    let was = newest.rules.iter().find(|r| place(r) == place(rule))?;
    let effect = |r: &RuleLine| match r.reason_code {
        Some(code) => format!("{}:{code}", r.effect),
        None => r.effect.to_owned(),
    };
    (effect(was) != effect(rule)).then(|| {
        json!({
            "policy": rule.policy, "direction": rule.direction, "index": rule.index, "part": rule.part,
            "effect": effect(rule), "v3.32.1": effect(was),
        })
    })
}

fn acl_change(report: &Report, newest: &Report) -> Option<&'static str> {
    let lists = |report: &Report| {
        report
            .endpoints
            .iter()
            .map(|e| e.acls.clone())
            .collect::<Vec<_>>()
    };
    let without_priorities = |report: &Report| {
        let mut lists = lists(report);
        lists.iter_mut().flatten().for_each(|acl| acl.priority = 0);
        lists
    };
    let sorted = |report: &Report| {
        let mut lists = without_priorities(report);
        lists
            .iter_mut()
            .for_each(|acls| acls.sort_by_key(|acl| format!("{acl:?}")));
        lists
    };
    if lists(report) == lists(newest) {
        None
    } else if without_priorities(report) == without_priorities(newest) {
        Some("priority")
    } else if sorted(report) == sorted(newest) {
        Some("order")
    } else {
        Some("content")
    }
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
