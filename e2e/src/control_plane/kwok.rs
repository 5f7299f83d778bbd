//! kwok plays the kubelets of simulated nodes: it registers heartbeats, makes nodes Ready and pods Running.
//!
//! How it moves objects is written in `e2e/control-plane/kwok/stages`. Invariant: it never touches
//! the status of the two Windows agents' pods, which belongs to the node simulator; at scale there is no
//! simulator, and the files in `e2e/control-plane/kwok/scale` make it play those, too.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::binaries::Binaries;
use super::cluster::ClusterOptions;
use super::paths;
use super::process::{Process, Program};

/// Addresses of pods outside the host network: the pool that Calico's defaults bring.
const POD_RANGE: &str = "10.244.0.0/16";

pub(super) fn start(
    binaries: &Binaries,
    dir: &Path,
    kubeconfig: &Path,
    options: &ClusterOptions,
) -> Result<Process> {
    let module = paths::modules().join("kwok");
    // A lease of each of 5000 nodes would be 500 writes a second.
    let lease = if options.scale { 0 } else { 40 };
    let mut program = Program::new("kwok", &binaries.kwok, dir)
        // It reads and writes ~/.kwok, which is nobody's business here.
        .env("HOME", dir)
        .flag("kubeconfig", kubeconfig)
        .flag("cidr", POD_RANGE)
        .flag("node-lease-duration-seconds", lease.to_string());
    program = if options.real_node {
        // The annotation of the nodes that `NodeSpec` describes.
        program.flag("manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake")
    } else {
        program.arg("--manage-all-nodes=true")
    };
    let folders: &[&str] = if options.scale {
        &["stages", "scale"]
    } else {
        &["stages"]
    };
    for folder in folders.iter().map(|name| module.join(name)) {
        for file in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            program = program.flag("config", file?.path());
        }
    }
    program.start()
}
