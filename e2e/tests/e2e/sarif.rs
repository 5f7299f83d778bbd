//! Findings of `lint` as code scanning reads them, by the published schema of SARIF.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wn_e2e::control_plane::{paths, release_tools};
use wn_e2e::operator::Operator;

/// Findings at a field, at an object, and without a file.
const MANIFESTS: &str = r"
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
spec: {nodeName: win, containers: [{name: web, image: web, securityContext: {privileged: true}}]}
status: {podIP: 10.1.0.1}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: a}
spec:
  podSelector: {}
  ingress:
  - from:
    - ipBlock: {cidr: 10.0.0.0/8, except: [10.9.0.0/16]}
";

/// Whether the log is valid, and what the validator prints.
fn validate(log: &Value) -> Result<(bool, String)> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint.sarif");
    fs::write(&file, log.to_string())?;
    let output = Command::new(release_tools::jv()?)
        .arg("--assert-format")
        .arg(paths::workspace().join("e2e/fixtures/sarif/sarif-schema-2.1.0.json"))
        .arg(file)
        .output()?;
    let print = [output.stdout, output.stderr].concat();
    Ok((
        output.status.success(),
        String::from_utf8_lossy(&print).into_owned(),
    ))
}

#[tokio::test]
async fn findings_are_valid() -> Result<()> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sarif.yaml");
    fs::write(&file, MANIFESTS)?;
    let path = file.display().to_string();
    // Findings of standard input have no file.
    for input in [&path, "-"] {
        let mut lint = Command::new(Operator::built().await?);
        lint.args(["lint", "-o", "sarif", "-f", input])
            .stdin(fs::File::open(&file)?);
        let output = lint.output()?;
        let log: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let results = log["runs"][0]["results"].as_array().context("no results")?;
        ensure!(results.len() > 1, "{log:#}");
        let (valid, print) = validate(&log)?;
        assert!(valid, "{print}");
        // A validator that accepts everything would accept these, too.
        for (field, wrong) in [("level", json!("fatal")), ("severity", json!("error"))] {
            let mut broken = log.clone();
            broken["runs"][0]["results"][0][field] = wrong;
            let (valid, print) = validate(&broken)?;
            assert!(!valid && print.contains(field), "{print}");
        }
    }
    Ok(())
}
