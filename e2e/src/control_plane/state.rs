//! The state folder of one cluster, and what is left of clusters whose process was killed.
//!
//! Invariant: a folder with an `owner.lock` that can be locked belongs to nobody. The lock is held
//! by the owner's open file, so the kernel gives it up however the owner ends, and the next cluster
//! that starts sweeps such folders away. A folder that is to be kept loses its lock file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

use super::paths;

const LOCK: &str = "owner.lock";
/// Set to anything, it keeps the state folder (logs, audit log) of every cluster.
const KEEP: &str = "WN_KEEP_CLUSTER";

/// Removed on drop.
pub(super) struct State {
    path: PathBuf,
    _owner: File,
}

impl State {
    pub(super) fn create() -> Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let clusters = paths::target().join("clusters");
        sweep(&clusters);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let started = jiff::Timestamp::now().as_millisecond();
        let path = clusters.join(format!("{started}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        // Locked before it has the name a sweep looks for.
        let fresh = path.join("fresh");
        let owner = File::create(&fresh)?;
        owner.lock()?;
        fs::rename(&fresh, path.join(LOCK))?;
        Ok(Self { path, _owner: owner })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next sweep tries again.
        if std::env::var_os(KEEP).is_some() {
            let _ = fs::remove_file(self.path.join(LOCK));
        } else {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn sweep(clusters: &Path) {
    for entry in fs::read_dir(clusters).into_iter().flatten().flatten() {
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
