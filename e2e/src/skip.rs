//! Tests that need what a fresh checkout has not: Wine, skopeo, or fixtures of Calico's. Each that is skipped is noted in
//! `target/skipped`, which the last test of the workspace lists (`operator/runtime/tests/skipped.rs`).

use std::fs;
use std::io::Write as _;

use anyhow::{Result, bail};

use crate::control_plane::paths;

/// Set where everything must run, as `.ci/run` does: nothing passes there because nothing ran.
const TEST_ALL: &str = "WINDOWS_NODE_TEST_ALL";

/// Whether a test can run. Where it cannot, `missing` says why: an error where everything must run.
pub fn unless(can_run: bool, test: &str, missing: &str) -> Result<bool> {
    let folder = paths::target().join("skipped");
    let note = folder.join(test);
    if can_run {
        // That it was skipped before is no longer so.
        let _ = fs::remove_file(note);
        return Ok(true);
    }
    if std::env::var_os(TEST_ALL).is_some() {
        bail!("{test}: {missing}; {TEST_ALL} is set, with which nothing may be skipped");
    }
    fs::create_dir_all(&folder)?;
    fs::write(note, missing)?;
    // Past the test harness, which shows nothing of a test that passes.
    writeln!(std::io::stderr(), "skipped {test}: {missing}")?;
    Ok(false)
}
