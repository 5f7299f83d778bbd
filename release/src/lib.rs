//! Builds what a release consists of: static binaries, the image for every platform, SBOMs, the plugin of kubectl.
//!
//! Invariant: the same commit gives the same bytes, wherever and however often it is built. No clock, no user, no path of the
//! machine gets into an output.

mod archive;
pub mod audit;
pub mod binary;
pub mod dependencies;
pub mod image;
pub mod krew;
pub mod output;
pub mod platform;
pub mod revision;
pub mod sbom;
mod zig;

use std::path::{Path, PathBuf};

/// Name of the program, the image and the package.
pub const NAME: &str = "windows-node-operator";

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let release = Path::new(env!("CARGO_MANIFEST_DIR"));
    release.parent().unwrap_or(release).to_owned()
}
