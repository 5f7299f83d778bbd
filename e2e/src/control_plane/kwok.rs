//! kwok plays the kubelets: it registers heartbeats, makes nodes Ready and pods Running.
//!
//! How it moves objects is written in `e2e/control-plane/kwok/stages`. Invariant: it never touches
//! the status of the two Windows agents' pods, which belongs to the node simulator.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::binaries::Binaries;
use super::paths;
use super::process::{Process, Program};

/// Addresses of pods outside the host network: the pool that Calico's defaults bring.
const POD_RANGE: &str = "10.244.0.0/16";

pub(super) fn start(binaries: &Binaries, dir: &Path, kubeconfig: &Path) -> Result<Process> {
    let stages = paths::modules().join("kwok").join("stages");
    let mut program = Program::new("kwok", &binaries.kwok, dir)
        // It reads and writes ~/.kwok, which is nobody's business here.
        .env("HOME", dir)
        .flag("kubeconfig", kubeconfig)
        .flag("cidr", POD_RANGE)
        .args(["--manage-all-nodes=true", "--node-lease-duration-seconds=40"]);
    for stage in fs::read_dir(&stages).with_context(|| format!("read {}", stages.display()))? {
        program = program.flag("config", stage?.path());
    }
    program.start()
}
