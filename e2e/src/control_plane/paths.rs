//! Where things are in the checkout.

use std::path::{Path, PathBuf};

/// The root of the workspace. Absolute, so that programs started elsewhere understand it.
pub fn workspace() -> PathBuf {
    let e2e = Path::new(env!("CARGO_MANIFEST_DIR"));
    e2e.parent().unwrap_or(e2e).to_owned()
}

/// Everything built or run lives here, so that `cargo clean` takes it all away.
pub fn target() -> PathBuf {
    workspace().join("target")
}

/// Go modules, stages and CRDs the control plane is made of.
pub fn modules() -> PathBuf {
    workspace().join("e2e").join("control-plane")
}

/// Go modules and C sources of what runs for Windows.
pub fn windows() -> PathBuf {
    workspace().join("e2e").join("windows")
}

/// Fixtures that are not part of this repository (Calico's real CRDs): the directory named by
/// `WINDOWS_NODE_SHARED`, else `shared` beside the checkout. `None` where there is no such directory.
pub fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("WINDOWS_NODE_SHARED")
        .map(PathBuf::from)
        .or_else(|| workspace().parent().map(|parent| parent.join("shared")))?;
    shared.is_dir().then_some(shared)
}
