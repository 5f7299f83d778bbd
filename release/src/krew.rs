//! The plugin of kubectl: an archive for each platform, and the manifest by which krew installs them.
//!
//! The manifest is `release/krew.yaml`. Invariant: it lists every platform, and each archive under its name and checksum.

use anyhow::Result;

use crate::archive::{FILE, PROGRAM, gzip, tar};
use crate::image::digest::sha256;
use crate::platform::Platform;

/// Name of the program as a plugin: kubectl finds `kubectl-wnc` for `kubectl wnc`.
const PLUGIN: &str = "kubectl-wnc";
const MANIFEST: &str = include_str!("../krew.yaml");

/// Names and contents of the archives, and of the manifest if the URL of the sources is known, where the release will be.
pub fn files(
    version: &str,
    source: Option<&str>,
    programs: &[(Platform, &[u8])],
    license: &[u8],
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut manifest = MANIFEST.replace("VERSION", version);
    let mut files = Vec::new();
    for (platform, program) in programs {
        let architecture = platform.architecture();
        let archive = gzip(&tar([("LICENSE", FILE, license), (PLUGIN, PROGRAM, *program)])?)?;
        let checksum = format!("SHA256-OF-{}", architecture.to_uppercase());
        manifest = manifest.replace(&checksum, &sha256(&archive));
        files.push((format!("{PLUGIN}-{version}-linux-{architecture}.tar.gz"), archive));
    }
    if let Some(source) = source {
        // The first line is about the template.
        let (_, manifest) = manifest.split_once('\n').unwrap_or_default();
        let manifest = manifest.replace("SOURCE", source.trim_end_matches('/'));
        files.push((format!("{PLUGIN}-{version}.yaml"), manifest.into_bytes()));
    }
    Ok(files)
}
