//! What each crate may depend on, asked of cargo itself: a comment that says "pure" does not keep a client out.

use std::collections::BTreeSet;
use std::process::Command;

/// Names of the crates `cargo tree` prints.
fn tree(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--format", "{p}"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree {arguments:?}: {stderr}");
    let lines = String::from_utf8(output.stdout).expect("names of crates");
    lines
        .lines()
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[test]
fn plan_and_workloads_are_pure() {
    let plan = tree(&["--package", "wn-plan", "--edges", "normal"]);
    assert!(plan.contains("wn-api"), "the tree is that of wn-plan: {plan:?}");
    let workloads = tree(&["--package", "wn-workloads", "--edges", "normal"]);
    assert!(
        workloads.contains("ipnet"),
        "the tree is that of wn-workloads: {workloads:?}"
    );
    let impure = [
        "tokio",
        "mio",
        "kube-client",
        "kube-runtime",
        "hyper",
        "reqwest",
        "rustls",
        "tracing",
        "rand",
        "chrono",
    ];
    for name in impure {
        assert!(!plan.contains(name), "wn-plan depends on {name}");
        assert!(!workloads.contains(name), "wn-workloads depends on {name}");
    }
}

/// Black-box tests that share code with what they test agree with its bugs.
#[test]
fn end_to_end_tests_know_the_api_only() {
    let tree = tree(&["--package", "wn-e2e"]);
    assert!(tree.contains("wn-api"));
    for name in ["wn-plan", "wn-runtime", "windows-node-operator"] {
        assert!(!tree.contains(name), "wn-e2e depends on {name}");
    }
}

#[test]
fn one_tls_provider() {
    let tree = tree(&["--workspace", "--edges", "normal,build"]);
    assert!(tree.contains("ring"));
    for name in ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"] {
        assert!(!tree.contains(name), "the workspace depends on {name}");
    }
}
