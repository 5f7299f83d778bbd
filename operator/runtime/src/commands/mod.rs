//! Commands that look at files and print; none needs a cluster.

pub mod acls;
mod files;
pub mod images;
pub mod lint;
mod print;

use std::io::Write as _;
use std::process::ExitCode;

use clap::ValueEnum;

/// How a command prints.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// Where the input cannot be judged, as grave as an error in it.
const CANNOT_SAY: u8 = 2;

/// The exit code of a command, which says why it has no result.
pub fn told(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        // Nobody is left to tell where standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(CANNOT_SAY)
    })
}
