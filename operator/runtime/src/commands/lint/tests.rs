use std::path::PathBuf;

use rstest::rstest;
use wn_workloads::release::Release;

use super::*;
use crate::commands::files;

/// A pod of a Windows node, and a policy whose `except` Windows does not support.
const CLUSTER: &str = "\
apiVersion: v1
kind: Node
metadata: {name: win, labels: {kubernetes.io/os: windows}}
status: {addresses: [{type: InternalIP, address: 10.0.0.1}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: a, labels: {app: web}}
spec: {nodeName: win}
status: {podIP: 10.1.0.1}
";

const POLICY: &str = "\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web
  namespace: a
spec:
  podSelector: {}
  ingress:
  - from:
    - ipBlock:
        cidr: 10.0.0.0/8
        except: [10.9.0.0/16]
";

fn sources(policy: &str) -> Vec<Source> {
    [("cluster.yaml", CLUSTER), ("my policies.yaml", policy)]
        .map(|(name, text)| Source {
            name: name.to_owned(),
            file: Some(PathBuf::from(name)),
            text: text.to_owned(),
        })
        .into()
}

fn rendered(sources: &[Source], render: fn(&[Located<'_>]) -> String) -> String {
    let objects = files::objects(sources).unwrap();
    let findings = findings::all(&objects, Release::V3_31);
    let text = render(&located(&findings, sources));
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn people_see_the_line() {
    let text = rendered(&sources(POLICY), snippet::text);
    let expected = "\
error[WN2001]: NetworkPolicy.networking.k8s.io a/web spec.ingress[0].from[].ipBlock.except: on Windows the rule (Allow) is skipped: \
traffic that should be allowed is denied; no packet is allowed in this direction
  --> my policies.yaml:12:9
   |
10 |     - ipBlock:
11 |         cidr: 10.0.0.0/8
12 |         except: [10.9.0.0/16]
   |         ^^^^^^
   |
";
    assert!(text.starts_with(expected), "{text}");
    for part in [
        "= note: for example TCP",
        "= note: pods: a/web",
        "= help: write what is meant without negation",
        "`explain WN2001` says more",
        "\n1 errors, 0 warnings, 0 notes\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Lines that are too long are named and not shown; control characters of names do not reach the terminal.
#[rstest]
#[case::long_line(&POLICY.replace("except: [", &format!("except: [{}", " ".repeat(1000))), "--> my policies.yaml:12:9\n")]
#[case::windows_line_ends(&POLICY.replace('\n', "\r\n"), "12 |         except: [10.9.0.0/16]\n")]
#[case::after_another_document(&format!("kind: Secret\nmetadata: {{name: s}}\n---\n{POLICY}"), "--> my policies.yaml:15:9\n")]
#[case::control_characters(&POLICY.replace("name: web", "name: \"w\\e[31m\""), "a/w\u{241b}[31m")]
fn difficult_files(#[case] policy: &str, #[case] part: &str) {
    let text = rendered(&sources(policy), snippet::text);
    assert!(text.contains(part), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn github_commands() {
    let text = rendered(&sources(POLICY), github::text);
    let begin = "::error file=my policies.yaml,line=12,col=9,title=WN2001%3A A rule with a negative match is skipped::NetworkPolicy";
    assert!(text.starts_with(begin), "{text}");
    assert_eq!(text.lines().count(), 1, "a line break ends the command");
    assert!(text.contains("%0Afor example TCP"), "{text}");
}

/// What SARIF 2.1.0 requires (schema: `run`, `tool`, `toolComponent`, `reportingDescriptor`, `result`), and what GitHub's
/// code scanning needs besides.
#[test]
fn sarif_log() {
    let sources = sources(POLICY);
    let objects = files::objects(&sources).unwrap();
    let findings = findings::all(&objects, Release::V3_31);
    let log = serde_json::to_value(sarif::log(&located(&findings, &sources))).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "windows-node-operator");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len());
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    for result in results {
        assert!(ids.contains(result["ruleId"].as_str().unwrap()));
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20policies.yaml");
        assert_eq!(place["region"]["startLine"], 12);
        assert_eq!(place["region"]["startColumn"], 9);
    }
}

#[test]
fn json_has_positions() {
    let sources = sources(POLICY);
    let objects = files::objects(&sources).unwrap();
    let findings = findings::all(&objects, Release::V3_31);
    let output = serde_json::to_value(json(&located(&findings, &sources))).unwrap();
    let first = &output["findings"][0];
    assert_eq!(first["code"], "WN2001");
    let expected = serde_json::json!({"file": "my policies.yaml", "line": 12, "column": 9});
    assert_eq!(first["position"], expected);
}

/// Without a file there is no place that a machine could show.
#[test]
fn standard_input_has_no_file() {
    let mut sources = sources(POLICY);
    for source in &mut sources {
        source.file = None;
    }
    assert!(rendered(&sources, github::text).starts_with("::error title=WN2001"));
    let objects = files::objects(&sources).unwrap();
    let findings = findings::all(&objects, Release::V3_31);
    let log = sarif::log(&located(&findings, &sources));
    let location = &log["runs"][0]["results"][0]["locations"][0];
    assert!(location.get("physicalLocation").is_none());
    assert!(location["logicalLocations"][0]["fullyQualifiedName"].is_string());
}
