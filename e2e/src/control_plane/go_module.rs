//! The little that has to be known of a Go module: its versions and whether it changed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::once::fingerprint;

/// A directory with `go.mod` and `go.sum`.
pub(crate) struct GoModule {
    directory: PathBuf,
    go_mod: String,
    go_sum: String,
}

impl GoModule {
    pub(crate) fn load(directory: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
        };
        Ok(Self {
            directory: directory.to_owned(),
            go_mod: read("go.mod")?,
            go_sum: read("go.sum")?,
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The version a `require` line pins for `path`.
    pub(crate) fn version_of(&self, path: &str) -> Result<String> {
        self.lines()
            .find_map(|words| match words.as_slice() {
                ["require", found, version, ..] | [found, version, ..] if *found == path => {
                    Some((*version).to_owned())
                }
                _ => None,
            })
            .with_context(|| format!("{}/go.mod requires no {path}", self.directory.display()))
    }

    /// The oldest Go that builds this module.
    pub(crate) fn go_version(&self) -> Result<&str> {
        self.lines()
            .find_map(|words| match words.as_slice() {
                ["go", version] => Some(*version),
                _ => None,
            })
            .with_context(|| format!("{}/go.mod has no go directive", self.directory.display()))
    }

    /// Changes when a pinned version or checksum does.
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint([self.go_mod.as_str(), self.go_sum.as_str()])
    }

    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        self.go_mod.lines().map(|line| line.split_whitespace().collect())
    }
}
