//! The program for a platform: linked statically, stripped, with the list of its dependencies in it.
//!
//! rust-lld links, which comes with the toolchain and needs nothing of the host (docs/adr/0008-image.md).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::dependencies::Dependencies;
use crate::platform::Platform;
use crate::zig::Zig;
use crate::{NAME, audit, workspace};

/// A program, and what it is made of.
pub struct Binary {
    pub platform: Platform,
    pub program: Vec<u8>,
    pub dependencies: Dependencies,
}

/// Builds the program for each platform.
pub fn build(platforms: &[Platform]) -> Result<Vec<Binary>> {
    let target = target_folder();
    let zig = Zig::ensure(&target)?;
    add_targets(platforms)?;
    let mut cargo = Command::new(cargo());
    cargo
        .args(["build", "--locked", "--release", "--package", NAME])
        .args(
            platforms
                .iter()
                .flat_map(|platform| ["--target", platform.target()]),
        )
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(&target)?)
        .envs(zig.environment())
        .current_dir(workspace());
    for name in package_variables() {
        cargo.env_remove(name);
    }
    let status = cargo.status().context("run cargo build")?;
    ensure!(status.success(), "cargo build failed ({status})");
    platforms
        .iter()
        .map(|platform| finish(*platform, &target))
        .collect()
}

/// Variables that cargo set for this program about its package. Another cargo that inherits them runs the build script of `ring` again,
/// and builds again what depends on `ring`.
pub fn package_variables() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| {
        let text = name.to_string_lossy();
        text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_")
    })
}

fn finish(platform: Platform, target: &Path) -> Result<Binary> {
    let built = target.join(platform.target()).join("release").join(NAME);
    let dependencies = Dependencies::of(platform)?;
    let program = audit::embed(&built, &dependencies)?;
    platform.check(&program)?;
    ensure!(
        audit::read(&program)? == dependencies.audit_data()?,
        "the list of dependencies cannot be read back from the program"
    );
    Ok(Binary {
        platform,
        program,
        dependencies,
    })
}

pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(crate) fn target_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    workspace().join(target)
}

/// Joined as cargo takes them, by 0x1f. They replace flags that the environment or a configuration sets, which would change
/// the program.
fn rustflags(target: &Path) -> Result<OsString> {
    let cargo_home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => std::env::home_dir().context("no home folder")?.join(".cargo"),
    };
    // Messages of panics name source files. The last prefix that fits is replaced.
    let remapped = [
        (cargo_home, "/cargo"),
        (workspace(), "/src"),
        (target.to_owned(), "/src/target"),
    ];
    let mut flags = OsString::from("-Clinker=rust-lld\u{1f}-Clink-arg=--pack-dyn-relocs=relr");
    for (from, to) in remapped {
        flags.push("\u{1f}--remap-path-prefix=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    Ok(flags)
}

/// Has rustup install the standard library of the platforms. Where there is no rustup, cargo itself says what is missing.
fn add_targets(platforms: &[Platform]) -> Result<()> {
    let sysroot = sysroot()?;
    let missing = platforms.iter().map(|platform| platform.target());
    let missing: Vec<_> = missing
        .filter(|target| !sysroot.join("lib/rustlib").join(target).is_dir())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup
        .args(["target", "add"])
        .args(missing)
        .current_dir(workspace());
    let status = rustup.status().context("run rustup target add")?;
    ensure!(status.success(), "rustup target add failed ({status})");
    Ok(())
}

/// Where the toolchain is.
pub(crate) fn sysroot() -> Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(workspace())
        .output()
        .context("run rustc")?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim_end()))
}

/// Writes a program that can be run.
pub fn write(program: &[u8], to: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(to, program).with_context(|| format!("write {}", to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
