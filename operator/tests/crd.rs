//! The shipped CustomResourceDefinition: as the types say and the binary prints it, documented, bounded.
//!
//! `UPDATE_CRDS=1 cargo test --workspace --test crd` regenerates it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds/windowsnode.dev_windowsnodeconfigs.yaml")
}

fn printed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_windows-node-operator"))
        .arg("crd")
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("YAML")
}

/// What the types say.
fn generated() -> String {
    let crd = wn_api::crd::custom_resource_definition();
    let yaml = serde_saphyr::to_string(&crd).expect("YAML");
    format!("# Generated from operator/api. Do not edit.\n{yaml}")
}

fn schema() -> Value {
    let crd = wn_api::crd::custom_resource_definition();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Every schema below `schema`, with its path; `[]` are items, `{}` values of a map.
fn walk(schema: &Value, path: &str, see: &mut impl FnMut(&str, &Map<String, Value>)) {
    let Some(map) = schema.as_object() else { return };
    see(path, map);
    for (name, property) in map
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        walk(property, &format!("{path}.{name}"), see);
    }
    if let Some(items) = map.get("items") {
        walk(items, &format!("{path}[]"), see);
    }
    if let Some(values) = map.get("additionalProperties") {
        walk(values, &format!("{path}{{}}"), see);
    }
}

fn violations(wrong: impl Fn(&str, &Map<String, Value>) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    walk(&schema(), "", &mut |path, schema| {
        if wrong(path, schema) {
            found.push(path.to_owned());
        }
    });
    found
}

#[test]
fn the_shipped_definition_is_up_to_date() {
    let generated = generated();
    if std::env::var_os("UPDATE_CRDS").is_some() {
        std::fs::write(shipped(), &generated).expect("crds/ is writable");
    }
    let stored = std::fs::read_to_string(shipped()).expect("crds/ holds the definition");
    let first = stored.lines().zip(generated.lines()).position(|(a, b)| a != b);
    assert!(
        stored == generated,
        "crds/ is out of date from line {first:?} on: run this test with UPDATE_CRDS=1"
    );
}

#[test]
fn the_binary_prints_the_shipped_definition() {
    let stored = std::fs::read_to_string(shipped()).expect("crds/ holds the definition");
    assert!(printed() == stored, "the program was built with an older one");
}

/// An API server warns of formats it does not know, and would store `null` for what may be null.
#[test]
fn the_schema_is_what_an_api_server_takes_without_a_warning() {
    let unknown = |s: &Map<String, Value>| {
        s.get("format")
            .and_then(Value::as_str)
            .is_some_and(|f| !["int32", "int64", "date-time"].contains(&f))
    };
    assert_eq!(violations(|_, s| unknown(s)), [""; 0], "formats");
    let null = |s: &Map<String, Value>| {
        s.contains_key("nullable") || s.get("enum").is_some_and(|e| e.to_string().contains("null"))
    };
    assert_eq!(violations(|_, s| null(s)), [""; 0], "null");
}

/// `kubectl explain` says something of every field.
#[test]
fn every_field_is_documented() {
    let inner = |path: &str| path.is_empty() || path.ends_with("[]") || path.ends_with("{}");
    let silent = |s: &Map<String, Value>| {
        s.get("description")
            .and_then(Value::as_str)
            .is_none_or(|d| d.trim().len() < 10)
    };
    assert_eq!(violations(|path, s| !inner(path) && silent(s)), [""; 0]);
}

/// A default that is applied is one that is documented.
#[test]
fn descriptions_name_the_default() {
    let scalar = |v: &Value| v.is_string() || v.is_number() || v.is_boolean();
    let unsaid = |s: &Map<String, Value>| {
        let default = s
            .get("default")
            .filter(|d| scalar(d))
            .map(|d| d.as_str().map_or_else(|| d.to_string(), str::to_owned));
        let description = s.get("description").and_then(Value::as_str).unwrap_or_default();
        default.is_some_and(|d| !description.contains(&format!("Default: {d}")))
    };
    assert_eq!(
        violations(|path, s| path.starts_with(".spec") && unsaid(s)),
        [""; 0]
    );
}

/// Nothing a user writes grows without end: CEL's cost, etcd and our memory are bounded with it.
#[test]
fn every_field_of_the_spec_is_bounded() {
    let type_ = |s: &Map<String, Value>| {
        s.get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let unbounded = |s: &Map<String, Value>| match type_(s).as_str() {
        "string" => !(s.contains_key("maxLength") || s.contains_key("enum")),
        "array" => !s.contains_key("maxItems"),
        "integer" | "number" => !(s.contains_key("minimum") && s.contains_key("maximum")),
        "object" => s.contains_key("additionalProperties") && !s.contains_key("maxProperties"),
        _ => false,
    };
    assert_eq!(
        violations(|path, s| path.starts_with(".spec") && unbounded(s)),
        [""; 0]
    );
}

/// Unknown fields are pruned or, with strict validation, refused: nothing is kept that nobody reads.
#[test]
fn the_schema_is_closed() {
    let open = |s: &Map<String, Value>| s.contains_key("x-kubernetes-preserve-unknown-fields");
    let found = violations(|_, s| open(s));
    // Values of Calico's fields: booleans, numbers and strings, which no structural schema can say in one.
    assert_eq!(
        found,
        [
            ".spec.calico.originals.values[].previous",
            ".status.calico.originals[].applied",
            ".status.calico.originals[].previous",
            ".status.calico.originals[].replaces"
        ]
    );
}
