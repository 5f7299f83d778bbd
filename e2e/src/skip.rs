//! Tests that need what a fresh checkout has not: Wine, skopeo, a container runtime, or fixtures of Calico's. Each that is skipped is noted in
//! `target/skipped`, which the last test of the workspace lists (`operator/runtime/tests/skipped.rs`).

use std::fs;
use std::io::Write as _;

use anyhow::{Result, bail};

use crate::control_plane::paths;
use crate::real_node;

/// Set where everything must run, as `.ci/run` does: nothing passes there because nothing ran.
const TEST_ALL: &str = "WINDOWS_NODE_TEST_ALL";
/// Set where a real node must run. A variable of its own, because few machines of CI services give root and cgroups away.
const REAL_NODE: &str = "WINDOWS_NODE_REAL_NODE";

/// Whether a test can run. Where it cannot, `missing` says why: an error where everything must run.
pub fn unless(can_run: bool, test: &str, missing: &str) -> Result<bool> {
    unless_required_by(TEST_ALL, can_run, test, missing)
}

/// The same for a test of a real node.
pub fn unless_real_node(test: &str) -> Result<bool> {
    let missing = real_node::missing();
    unless_required_by(REAL_NODE, missing.is_none(), test, &missing.unwrap_or_default())
}

fn unless_required_by(variable: &str, can_run: bool, test: &str, missing: &str) -> Result<bool> {
    let folder = paths::target().join("skipped");
    let note = folder.join(test);
    if can_run {
        // That it was skipped before is no longer so.
        let _ = fs::remove_file(note);
        return Ok(true);
    }
    if std::env::var_os(variable).is_some() {
        bail!("{test}: {missing}; {variable} is set, with which it may not be skipped");
    }
    fs::create_dir_all(&folder)?;
    fs::write(note, missing)?;
    // Past the test harness, which shows nothing of a test that passes.
    writeln!(std::io::stderr(), "skipped {test}: {missing}")?;
    Ok(false)
}
