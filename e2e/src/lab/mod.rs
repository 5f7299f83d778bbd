//! A cluster for people: `lab up`, and `lab down` when done.
//!
//! The cluster lives in a background process, `lab hold`, which holds a lock on `target/lab/lock` for
//! as long as it lives. The lock, not a pid file, says whether there is a lab: it cannot be stale.

mod agent_proof;
mod bench;
mod demo;
mod down;
mod hold;
mod up;
mod windows_proof;

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

pub use bench::{ScaleOptions, bench, bench_scale};
pub use demo::demo;
pub use down::down;
pub use hold::hold;
pub use up::up;
pub use windows_proof::{ProofOptions, windows_proof};

use crate::control_plane::{CalicoApi, ClusterOptions, paths};

/// What the lab consists of.
#[derive(Args, Clone, Debug)]
pub struct LabOptions {
    /// Number of simulated Windows nodes
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub windows: usize,
    /// Number of simulated Linux nodes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub linux: usize,
    /// Which API of Calico is installed
    #[arg(long, value_enum, default_value_t = CalicoApiOption::V1, value_name = "API")]
    pub calico_api: CalicoApiOption,
    /// Install the chart and run the operator
    #[arg(long)]
    pub operator: bool,
    /// Add a Linux node with a real kubelet, which runs the image of `cargo image`, instead of simulated ones (needs root)
    #[arg(long)]
    pub real_node: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CalicoApiOption {
    /// CRDs of crd.projectcalico.org/v1
    V1,
    /// CRDs of projectcalico.org/v3
    V3,
    /// No Calico at all
    None,
}

impl LabOptions {
    pub fn cluster(&self) -> ClusterOptions {
        ClusterOptions {
            // A simulated one would take pods of the operator and only pretend to run them.
            linux_nodes: if self.real_node { 0 } else { self.linux },
            windows_nodes: self.windows,
            calico_api: match self.calico_api {
                CalicoApiOption::V1 => CalicoApi::V1,
                CalicoApiOption::V3 => CalicoApi::V3,
                CalicoApiOption::None => CalicoApi::None,
            },
            real_node: self.real_node,
            ..ClusterOptions::default()
        }
    }

    /// The same options as words of a command line.
    fn words(&self) -> Vec<String> {
        let calico_api = self
            .calico_api
            .to_possible_value()
            .map(|value| value.get_name().to_owned());
        let mut words = vec![
            format!("--windows={}", self.windows),
            format!("--linux={}", self.linux),
            format!("--calico-api={}", calico_api.unwrap_or_default()),
        ];
        for (given, word) in [(self.operator, "--operator"), (self.real_node, "--real-node")] {
            if given {
                words.push(word.to_owned());
            }
        }
        words
    }
}

fn folder() -> Result<PathBuf> {
    let folder = paths::target().join("lab");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}

/// The kubeconfig of the lab; it exists once the lab is ready.
fn kubeconfig() -> Result<PathBuf> {
    Ok(folder()?.join("kubeconfig"))
}

fn pid_file() -> Result<PathBuf> {
    Ok(folder()?.join("pid"))
}

fn log_file() -> Result<PathBuf> {
    Ok(folder()?.join("lab.log"))
}

/// The lock of the lab, held by nobody else, or `None` where a lab is up.
fn try_own() -> Result<Option<File>> {
    let lock = File::create(folder()?.join("lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(e)) => Err(e).context("lock the lab"),
    }
}
