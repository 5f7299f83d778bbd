//! Parses the command line and hands over; everything else lives in the crates below.

use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    wn_runtime::main()
}
