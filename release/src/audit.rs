//! The list of dependencies in the program, in the format of `cargo auditable`: zlib-compressed JSON in an ELF section, which
//! scanners read.
//!
//! It is added to the linked program, so that no wrapper stands between cargo and rustc.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use auditable_serde::VersionInfo;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::binary;
use crate::dependencies::Dependencies;

/// Name of the section (`PARSING.md` of cargo-auditable).
const SECTION: &str = ".dep-v0";

/// The bytes of a linked program with the list in it.
pub fn embed(program: &Path, dependencies: &Dependencies) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&serde_json::to_vec(&dependencies.audit_data()?)?)?;
    let (list, with) = (
        program.with_extension("dep-v0"),
        program.with_extension("auditable"),
    );
    fs::write(&list, encoder.finish()?)?;
    let output = Command::new(objcopy()?)
        .arg("--add-section")
        .arg(format!(
            "{SECTION}={}",
            list.to_str().context("the path is not UTF-8")?
        ))
        .args([program, &with])
        .output()
        .context("run rust-objcopy")?;
    ensure!(
        output.status.success(),
        "rust-objcopy: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::read(&with).with_context(|| format!("read {}", with.display()))
}

/// The list in a program, read as scanners do.
pub fn read(program: &[u8]) -> Result<VersionInfo> {
    Ok(auditable_info::audit_info_from_slice(program, 1 << 20)?)
}

/// It comes with the toolchain, in the folder of the host's target.
fn objcopy() -> Result<std::path::PathBuf> {
    let targets = binary::sysroot()?.join("lib/rustlib");
    let found = fs::read_dir(&targets)?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/rust-objcopy")))
        .find(|path| path.is_file());
    found.with_context(|| format!("no rust-objcopy in {}", targets.display()))
}
