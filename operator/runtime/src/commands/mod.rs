//! The commands for users. Each reads files or a cluster and prints; none writes to a cluster.

pub mod acls;
pub mod bundle;
mod cluster;
mod connection;
mod decided;
pub mod diagnose;
pub mod explain;
mod files;
pub mod images;
mod input;
pub mod lint;
mod listing;
pub mod plan;
pub mod print;
pub mod status;

use std::io::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use wn_api::reasons::conditions as types;

/// How a command prints.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// The exit code of usage errors and of input that cannot be read: 1 and 2 are results of `lint`.
pub const FAILED: u8 = 3;

/// The exit code of a command. An error is printed.
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(FAILED)
    })
}

/// Runs the requests of a command.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    crate::cli::runtime()?.block_on(work)
}

/// Does the condition report something that holds work back, fails or needs attention?
fn is_wrong(condition: &Condition) -> bool {
    let is_true = condition.status == "True";
    match condition.type_.as_str() {
        types::RECONCILING | types::STALLED | types::ADVISORIES => is_true,
        _ => !is_true,
    }
}
