//! The sources of `e2e/windows/dll`, compiled by mingw: DLLs, and the PowerShell that Calico's programs call.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::control_plane::process::Program;

/// Place in `system32`, sources, and what is linked to it.
const DLLS: &[(&str, &[&str], &[&str])] = &[
    (
        "computenetwork.dll",
        &["computenetwork.c", "wire.c"],
        &["-lws2_32", "-lole32"],
    ),
    (
        "vmcompute.dll",
        &["vmcompute.c", "wire.c"],
        &["-lws2_32", "-lole32"],
    ),
    ("bcryptprimitives.dll", &["bcryptprimitives.c"], &["-ladvapi32"]),
    ("WindowsPowerShell/v1.0/powershell.exe", &["powershell.c"], &[]),
];

/// The text of every source, to tell whether one changed.
pub fn sources(folder: &Path) -> Result<Vec<String>> {
    let mut names: Vec<_> = DLLS
        .iter()
        .flat_map(|(_, sources, _)| sources.iter().copied())
        .collect();
    names.push("wire.h");
    names.sort_unstable();
    names.dedup();
    let read = |name| fs::read_to_string(folder.join(name)).with_context(|| format!("read {name}"));
    names.into_iter().map(read).collect()
}

pub fn build(compiler: &Path, folder: &Path, into: &Path, logs: &Path) -> Result<()> {
    for (name, sources, libraries) in DLLS {
        let shared = name.ends_with(".dll").then_some("-shared");
        let mut run = Program::new("mingw", compiler, logs)
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-s"])
            .args(shared)
            .arg("-o")
            .arg(into.join(name))
            .args(sources.iter().map(|source| folder.join(source)))
            .args(*libraries)
            .start()?;
        if !run.wait()?.success() {
            bail!("{name} cannot be built:\n{}", run.log());
        }
    }
    Ok(())
}
