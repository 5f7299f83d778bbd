//! Zig as a C compiler for every platform, from PyPI, at the version and hashes of `release/zig.txt`.
//!
//! `ring` is the only crate that compiles C. Zig compiles it for both platforms on any host, without a sysroot.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::platform::Platform;
use crate::workspace;

const REQUIREMENTS: &str = include_str!("../zig.txt");

/// A folder with Zig and wrappers of it.
pub struct Zig {
    folder: PathBuf,
}

impl Zig {
    /// Installs it into `target` where it is missing.
    pub fn ensure(target: &Path) -> Result<Self> {
        let folder = target.join("zig").join(version()?);
        if !folder.is_dir() {
            install(&folder)?;
        }
        let zig = Self { folder };
        for platform in Platform::ALL {
            zig.write_wrapper(
                &zig.compiler(platform),
                &compiler_script(&zig.program(), platform),
            )?;
        }
        zig.write_wrapper(
            &zig.archiver(),
            &format!("#!/bin/sh\nexec '{}' ar \"$@\"\n", zig.program().display()),
        )?;
        Ok(zig)
    }

    /// What cc-rs and Zig read.
    pub fn environment(&self) -> Vec<(String, PathBuf)> {
        let mut all: Vec<(String, PathBuf)> = Platform::ALL
            .into_iter()
            .flat_map(|platform| {
                let target = platform.target().replace('-', "_");
                [
                    (format!("CC_{target}"), self.compiler(platform)),
                    (format!("AR_{target}"), self.archiver()),
                ]
            })
            .collect();
        let cache = self.folder.join("cache");
        all.push(("ZIG_GLOBAL_CACHE_DIR".to_owned(), cache.clone()));
        all.push(("ZIG_LOCAL_CACHE_DIR".to_owned(), cache));
        all
    }

    fn program(&self) -> PathBuf {
        self.folder.join("ziglang").join("zig")
    }

    fn compiler(&self, platform: Platform) -> PathBuf {
        self.folder.join(format!("cc-{}", platform.architecture()))
    }

    fn archiver(&self) -> PathBuf {
        self.folder.join("ar")
    }

    fn write_wrapper(&self, path: &Path, script: &str) -> Result<()> {
        fs::write(path, script).with_context(|| format!("write {}", path.display()))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }
}

/// Zig refuses the `--target` that cc-rs passes to clang, because it names targets in its own way.
fn compiler_script(zig: &Path, platform: Platform) -> String {
    format!(
        "#!/bin/sh\nfor arg do\n  shift\n  case $arg in --target=*) ;; *) set -- \"$@\" \"$arg\" ;; esac\ndone\nexec '{}' cc -target {} \"$@\"\n",
        zig.display(),
        platform.zig_target()
    )
}

fn version() -> Result<&'static str> {
    let line = REQUIREMENTS
        .lines()
        .find_map(|line| line.strip_prefix("ziglang=="));
    line.and_then(|line| line.split_whitespace().next())
        .context("release/zig.txt names no version of ziglang")
}

fn install(folder: &Path) -> Result<()> {
    let building = folder.with_extension("building");
    // Left over from an install that was interrupted.
    let _ = fs::remove_dir_all(&building);
    let status = Command::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--root-user-action",
            "ignore",
            "--no-deps",
        ])
        .args(["--require-hashes", "--requirement"])
        .arg(workspace().join("release").join("zig.txt"))
        .arg("--target")
        .arg(&building)
        .status()
        .context("run python3 -m pip: Python 3 with pip installs Zig, which compiles C for every platform")?;
    ensure!(status.success(), "pip cannot install release/zig.txt ({status})");
    fs::rename(&building, folder).with_context(|| format!("move Zig to {}", folder.display()))
}
