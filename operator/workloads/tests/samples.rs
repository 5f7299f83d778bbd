//! Manifests as users write them, with everything that `lint` reports.

#![allow(clippy::unwrap_used, reason = "in tests, an error is a failure")]

use std::fs;
use std::path::Path;

use rstest::rstest;
use wn_workloads::findings;
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::limits::{self, Known};
use wn_workloads::release::Release;

/// All findings, as `WN4001 Error Deployment shop/web`.
fn lint(files: &[&str]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let texts: Vec<_> = files
        .iter()
        .map(|file| fs::read_to_string(folder.join(file)).unwrap())
        .collect();
    let manifests = files
        .iter()
        .zip(&texts)
        .map(|(name, text)| Manifest { name, text });
    let objects = Objects::read(manifests).unwrap();
    let mut found = findings::all(&objects, Release::NEWEST);
    found.extend(limits::findings(&objects, &Known::default()));
    findings::sort(&mut found);
    let lines = found
        .iter()
        .map(|f| format!("{} {:?} {}", f.code, f.severity, f.object));
    lines.collect()
}

#[rstest]
#[case::alone(&["windows-webserver.yaml"], &[
    "WN3011 Info Service default/win-webserver",
    "WN4008 Info Deployment default/win-webserver",
])]
#[case::with_nodes(&["nodes.yaml", "windows-webserver.yaml"], &[
    "WN4005 Error Deployment default/win-webserver",
    "WN3011 Info Service default/win-webserver",
    "WN4008 Info Deployment default/win-webserver",
])]
#[case::runtime_class(&["windows-runtime-class.yaml"], &[
    "WN4004 Error Deployment shop/iis",
    "WN3002 Warning Service shop/iis",
    "WN4009 Warning Deployment shop/iis",
    "WN4011 Warning Deployment shop/iis",
    "WN4012 Warning PodDisruptionBudget shop/iis",
    "WN3009 Info Service backend/orders",
    "WN3011 Info Service shop/iis",
])]
#[case::host_process(&["nodes.yaml", "host-process.yaml"], &["WN4015 Info DaemonSet monitoring/exporter"])]
#[case::linux_alone(&["linux.yaml"], &[])]
#[case::linux_with_windows_nodes(&["nodes.yaml", "linux.yaml"], &["WN4007 Warning Deployment default/frontend"])]
fn findings_of(#[case] files: &[&str], #[case] expected: &[&str]) {
    assert_eq!(lint(files), expected);
}
