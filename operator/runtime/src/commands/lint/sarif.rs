//! Findings in SARIF 2.1.0 (docs.oasis-open.org/sarif/sarif/v2.1.0), which code scanning reads.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use wn_workloads::findings::{Code, Severity};

use super::Located;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub fn log(located: &[Located<'_>]) -> Value {
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": wn_api::names::OPERATOR,
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Code::ALL.map(rule).as_slice(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": located.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn rule(code: Code) -> Value {
    let entry = code.entry();
    json!({
        "id": entry.code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.what},
        "help": {"text": format!("{}. Severity: {}. Source: {}", entry.fix, entry.severity, entry.source)},
    })
}

fn result(one: &Located<'_>) -> Value {
    let level = match one.finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let lines = [one.sentence()]
        .into_iter()
        .chain(one.details())
        .chain([one.fix()]);
    let mut location = json!({
        "logicalLocations": [{"fullyQualifiedName": one.finding.object, "kind": "object"}],
    });
    if let Some((file, position)) = one.in_file() {
        location["physicalLocation"] = json!({
            "artifactLocation": {"uri": uri(file)},
            "region": {"startLine": position.line, "startColumn": position.column},
        });
    }
    json!({
        "ruleId": one.finding.code,
        "level": level,
        "message": {"text": lines.collect::<Vec<_>>().join("\n")},
        "locations": [location],
    })
}

/// A path as a URI reference: other characters than the unreserved ones of RFC 3986 are percent-encoded.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    if path.is_absolute() {
        uri.push_str("file://");
    }
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("policies/web.yaml", "policies/web.yaml")]
    #[case("my policies/ü.yaml", "my%20policies/%C3%BC.yaml")]
    #[case("/tmp/a:b.yaml", "file:///tmp/a%3Ab.yaml")]
    fn paths_are_encoded(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(uri(Path::new(path)), expected);
    }
}
