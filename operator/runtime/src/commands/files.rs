//! What the commands about policies read: manifests from files and standard input.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;
use wn_workloads::input::{Manifest, Objects};
use wn_workloads::release::Release;

use super::Format;

/// Bytes of one file.
const LARGEST: u64 = 256 << 20;

/// Arguments of every command about policies.
#[derive(Args)]
pub struct Input {
    /// Manifests with nodes, namespaces, pods, workloads, Services and policies; `-` is standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Release of Calico.
    #[arg(long, value_name = "VERSION", default_value_t = Release::NEWEST)]
    pub calico: Release,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

impl Input {
    pub fn objects(&self) -> anyhow::Result<Objects> {
        objects(&self.files)
    }
}

/// The objects of all files, in order; `-` is standard input.
pub fn objects(files: &[PathBuf]) -> anyhow::Result<Objects> {
    let texts = files
        .iter()
        .map(|file| Ok((file.display().to_string(), text(file)?)));
    let texts: Vec<(String, String)> = texts.collect::<anyhow::Result<_>>()?;
    let manifests = texts.iter().map(|(name, text)| Manifest { name, text });
    Ok(Objects::read(manifests)?)
}

/// The whole file, which must be UTF-8; `-` is standard input.
pub fn text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let bytes = if file.as_os_str() == "-" {
        bounded(std::io::stdin().lock())
    } else {
        File::open(file).and_then(bounded)
    };
    let bytes = bytes.with_context(|| format!("{name}: cannot be read"))?;
    ensure!(
        bytes.len() as u64 <= LARGEST,
        "{name}: is larger than {} MiB",
        LARGEST >> 20
    );
    String::from_utf8(bytes).with_context(|| format!("{name}: is not UTF-8"))
}

fn bounded(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
