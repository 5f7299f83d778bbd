//! What git says of the sources: the commit, and when it was made.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;

use crate::workspace;

#[derive(Clone, Debug)]
pub struct Revision {
    /// The hash of the commit; ends in `-dirty` where tracked files differ from it.
    pub commit: String,
    /// When it was made, which the image has as its time: the time of a build would change its digest.
    pub time: Timestamp,
}

impl Revision {
    /// The commit that is checked out.
    pub fn of_workspace() -> Result<Self> {
        let seconds = git(&["show", "--no-patch", "--format=%ct", "HEAD"])?;
        let mut commit = git(&["rev-parse", "HEAD"])?;
        if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            commit.push_str("-dirty");
        }
        Ok(Self {
            commit,
            time: Timestamp::from_second(seconds.parse()?)?,
        })
    }
}

fn git(args: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(args)
        .current_dir(workspace())
        .output()
        .context("run git")?;
    if !output.status.success() {
        bail!(
            "git {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
