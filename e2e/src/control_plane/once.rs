//! Building something once.
//!
//! Invariant: what has its final name is complete, because a build happens beside it and is moved into
//! place by one rename, under a lock that other processes wait for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// `root/<name>-<tag>`, built by `build` into the empty folder it is given, where it does not exist yet.
pub(crate) fn once(
    root: &Path,
    name: &str,
    tag: &str,
    build: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let done = root.join(format!("{name}-{tag}"));
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(root).with_context(|| format!("create {}", root.display()))?;
    let lock = File::create(root.join(format!("{name}.lock")))?;
    lock.lock()
        .with_context(|| format!("wait for another process that builds {name}"))?;
    // Whoever held the lock may have built it.
    if done.is_dir() {
        return Ok(done);
    }
    let building = root.join(format!("{name}.building"));
    // Left over from a build that was interrupted; the lock says nobody works in it.
    let _ = fs::remove_dir_all(&building);
    fs::create_dir_all(&building)?;
    build(&building)?;
    fs::rename(&building, &done).with_context(|| format!("move the build to {}", done.display()))?;
    Ok(done)
}

/// Changes when one of the texts does. FNV-1a: it only has to tell two states of a few files apart, and has
/// to be the same with every Rust release, which `DefaultHasher` is not.
pub(crate) fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let bytes = texts.into_iter().flat_map(str::bytes);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{:08x}", hash >> 32)
}
