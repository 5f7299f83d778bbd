//! `helm upgrade --reuse-values` renders this chart with the values of the earlier release alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{NAME, chart, find, helm, objects, template_of, text, workspace};

/// Everything that is off by default.
const ALL_ON: [&str; 2] = [
    "--set",
    "service.enabled=true,serviceMonitor.enabled=true,prometheusRule.enabled=true,grafanaDashboard.enabled=true,\
     tigeraOperator.enabled=true,etcd.secretName=calico-etcd-secrets,networkPolicy.enabled=true",
];

/// The charts of earlier versions.
fn fixtures() -> Result<Vec<PathBuf>> {
    let directory = workspace().join("e2e/fixtures/charts");
    let mut charts = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            charts.push(path);
        }
    }
    charts.sort();
    ensure!(charts.len() >= 2, "{charts:?}");
    Ok(charts)
}

/// Follows links, of which the chart has one.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// This chart with the values of an earlier one instead of its own.
fn with_values_of(earlier: &Path) -> Result<PathBuf> {
    let name = earlier.file_stem().unwrap_or_default();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reused").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    copy(&chart(), &directory)?;
    let values = helm(&["show", "values", &earlier.display().to_string()])?;
    ensure!(
        values.status.success(),
        "{}",
        String::from_utf8_lossy(&values.stderr)
    );
    fs::write(directory.join("values.yaml"), values.stdout)?;
    Ok(directory)
}

/// Kinds and names.
fn named(objects: &[Value]) -> BTreeSet<String> {
    let name = |object: &Value| format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
    objects.iter().map(name).collect()
}

fn of(objects: &[Value], kind: &str) -> Vec<Value> {
    objects
        .iter()
        .filter(|object| object["kind"] == kind)
        .cloned()
        .collect()
}

/// What a value that is missing means, is what its default means. Values whose default changed keep the earlier one.
#[test]
fn values_of_earlier_charts_render() -> Result<()> {
    for earlier in fixtures()? {
        let reused = with_values_of(&earlier)?;
        let replicas = ["--set", "replicaCount=1"];
        for switches in [&[][..], &ALL_ON] {
            let rendered = objects(&template_of(&reused, NAME, switches)?)?;
            let fresh = objects(&template_of(&chart(), NAME, &[&replicas, switches].concat())?)?;
            assert_eq!(named(&rendered), named(&fresh), "{}", earlier.display());
            assert_eq!(find(&rendered, "Deployment", NAME)?["spec"]["replicas"], 1);
            let container = |objects: &[Value]| -> Result<Value> {
                Ok(find(objects, "Deployment", NAME)?["spec"]["template"]["spec"]["containers"][0].clone())
            };
            assert_eq!(container(&rendered)?, container(&fresh)?);
            for kind in [
                "Service",
                "ServiceMonitor",
                "PrometheusRule",
                "ConfigMap",
                "NetworkPolicy",
            ] {
                assert_eq!(of(&rendered, kind), of(&fresh, kind), "{}", earlier.display());
            }
            let hook = format!("{NAME}-uninstall");
            assert_eq!(
                find(&rendered, "Job", &hook)?["spec"]["template"]["spec"]["containers"],
                find(&fresh, "Job", &hook)?["spec"]["template"]["spec"]["containers"]
            );
        }
    }
    Ok(())
}
