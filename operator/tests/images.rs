//! `images`, as a person runs it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn images(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windows-node-operator"));
    command
        .args(["images", "--calico", "v3.32.1", "--kubernetes", "v1.36.3"])
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.output().expect("the program runs")
}

#[test]
fn images_are_printed_one_a_line() {
    let output = images(&[]);
    assert!(output.status.success());
    let expected = "docker.io/sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess\n\
                    quay.io/calico/cni-windows:v3.32.1\n\
                    quay.io/calico/node-windows:v3.32.1\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn the_object_says_where_images_come_from() {
    let output = images(&["-f", "manifests/samples/air-gapped.yaml", "-o", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let registry = "registry.example.com/mirror";
    let expected = [
        "calico/cni-windows:v3.32.1",
        "calico/node-windows:v3.32.1",
        "sigwindowstools/kube-proxy:v1.36.3-calico-hostprocess",
    ];
    let expected = expected.map(|image| format!("{registry}/{image}"));
    assert_eq!(found, json!({ "images": expected }));
}

#[test]
fn a_field_that_does_not_exist_is_refused() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("images.yaml");
    let text = "apiVersion: windowsnode.dev/v1alpha1\nkind: WindowsNodeConfig\nmetadata: {name: default}\n\
                spec: {network: {type: CalicoVXLAN}, registry: example.com}\n";
    std::fs::write(&file, text).expect("the folder of tests can be written");
    let output = images(&["-f", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.contains("images.yaml") && stderr.contains("registry"),
        "{stderr}"
    );
}
