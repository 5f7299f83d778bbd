//! The health check in docs/gitops.md, run by the interpreter that Argo CD has.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{binaries, documents, workspace};

/// The script as Argo CD reads it out of its ConfigMap.
fn script() -> Result<String> {
    let page = std::fs::read_to_string(workspace().join("docs/gitops.md"))?;
    let block = page
        .split("```yaml\n")
        .find(|block| block.starts_with("data:\n"))
        .and_then(|block| block.split("```").next())
        .context("no ConfigMap in docs/gitops.md")?;
    let config = documents(block)?.remove(0);
    let script = &config["data"]["resource.customizations.health.windowsnode.dev_WindowsNodeConfig"];
    Ok(script.as_str().context("no script")?.to_owned())
}

fn health(script: &str, object: &Value) -> Result<String> {
    let output = Command::new(binaries()?.lua)
        .args([script, &object.to_string()])
        .output()?;
    ensure!(
        output.status.success(),
        "{object}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn condition(type_: &str, status: &str, message: &str) -> Value {
    json!({ "type": type_, "status": status, "message": message })
}

#[test]
fn the_health_check_follows_the_status() -> Result<()> {
    let script = script()?;
    let object = |mode: &str, observed: i64, conditions: &[Value]| {
        json!({
            "metadata": { "name": "default", "generation": 2 },
            "spec": { "mode": mode, "network": { "type": "CalicoVXLAN" } },
            "status": { "observedGeneration": observed, "conditions": conditions },
        })
    };
    let ready = |status: &str| condition("Ready", status, "r");
    let stalled = |status: &str| condition("Stalled", status, "s");
    let mut deleted = object("Manage", 2, &[ready("False"), stalled("False")]);
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut silent = object("Manage", 2, &[]);
    silent.as_object_mut().context("an object")?.remove("status");
    let cases = [
        (silent, "Progressing: waiting for the operator"),
        // The CRD's default, before the operator has seen it.
        (object("Manage", -1, &[]), "Progressing: waiting for the operator"),
        (
            object("Manage", 1, &[ready("True")]),
            "Progressing: waiting for the operator",
        ),
        (
            object("Manage", 2, &[ready("True"), stalled("False")]),
            "Healthy: r",
        ),
        (
            object("Manage", 2, &[ready("False"), stalled("False")]),
            "Progressing: r",
        ),
        (
            object("Manage", 2, &[ready("False"), stalled("True")]),
            "Degraded: s",
        ),
        (
            object("Observe", 2, &[ready("False"), stalled("False")]),
            "Progressing: r",
        ),
        (
            object("Observe", 2, &[ready("True"), stalled("False")]),
            "Healthy: r",
        ),
        (deleted, "Progressing: r"),
    ];
    for (object, expected) in cases {
        assert_eq!(health(&script, &object)?, expected, "{object}");
    }
    Ok(())
}
