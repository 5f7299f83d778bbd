//! Commands that look at files and print; none needs a cluster.

pub mod acls;
mod files;
pub mod images;
pub mod lint;
pub mod print;

use std::io::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;

/// How a command prints.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// The exit code when the input cannot be judged: as grave as an error in it.
const FAILED: u8 = 2;

/// The exit code of a command. An error is printed.
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(FAILED)
    })
}
