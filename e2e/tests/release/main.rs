//! A release, rehearsed on this machine: the workflows are sound, and image and chart are installed from a registry.

mod dry_run;
mod workflows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use wn_release::image::{About, Contents, Image};
use wn_release::platform::Platform;

const NAME: &str = "windows-node-operator";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a program printed.
fn output(program: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output()?;
    ensure!(
        output.status.success(),
        "{} {}: {}{}",
        program.display(),
        args.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// An empty folder for a test.
fn folder(test: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The image, with headers of ELF files instead of programs.
fn image() -> Result<Image> {
    let about = About {
        version: VERSION.to_owned(),
        revision: "0123abc".to_owned(),
        source: None,
        created: jiff::Timestamp::UNIX_EPOCH,
    };
    let programs = Platform::ALL.map(|platform| (platform, platform.stand_in()));
    let contents: Vec<Contents<'_>> = programs
        .iter()
        .map(|(platform, program)| Contents {
            platform: *platform,
            program,
            license: b"a licence",
        })
        .collect();
    Image::assemble(&contents, &about)
}
