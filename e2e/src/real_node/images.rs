//! The images of a real node, in a registry of its own: the one that `cargo image` built, the same with another label, and
//! pause.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use wn_release::NAME;
use wn_release::image::{About, Contents, Image};
use wn_release::platform::Platform;

use super::REGISTRY;
use crate::control_plane::{node_programs, paths, release_tools};
use crate::registry::Registry;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub struct Images {
    registry: Registry,
    /// Digest of the image that differs in a label.
    other: String,
}

impl Images {
    /// The layout that `cargo image` writes.
    pub fn layout() -> PathBuf {
        paths::target().join("image").join("layout")
    }

    /// Starts the registry and pushes the images. Files are written into `folder`.
    pub async fn publish(folder: &Path) -> Result<Self> {
        let registry = Registry::start(folder).await?;
        let folder = folder.to_owned();
        let address = registry.address().to_owned();
        let other = tokio::task::spawn_blocking(move || push_all(&folder, &address)).await??;
        Ok(Self { registry, other })
    }

    /// Value of the chart: the registry, as the node reaches it.
    pub fn value() -> String {
        format!("image.registry={REGISTRY}")
    }

    /// Value of the chart for the other image.
    pub fn other_value(&self) -> String {
        format!("image.digest={}", self.other)
    }

    pub(super) fn address(&self) -> Result<SocketAddr> {
        Ok(self.registry.address().parse()?)
    }
}

/// The digest of the other image.
fn push_all(folder: &Path, registry: &str) -> Result<String> {
    let image = format!("{registry}/{NAME}:{VERSION}");
    crane(&["push", utf8(&Images::layout())?, &image])?;
    let layout = folder.join("pause");
    pause()?.write_layout(&layout)?;
    crane(&["push", utf8(&layout)?, &format!("{registry}/pause:1")])?;
    let platform = Platform::native().to_string();
    let label = "org.opencontainers.image.revision=another";
    let other = format!("{registry}/{NAME}:other");
    let reference = crane(&[
        "mutate",
        &image,
        "--platform",
        &platform,
        "--label",
        label,
        "--tag",
        &other,
    ])?;
    let (_, digest) = reference
        .trim()
        .split_once('@')
        .with_context(|| format!("crane mutate printed {reference:?}"))?;
    Ok(digest.to_owned())
}

fn crane(args: &[&str]) -> Result<String> {
    let output = Command::new(release_tools::crane()?).args(args).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "crane {}: {error}", args.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

/// The image of the process that holds a pod's namespaces.
fn pause() -> Result<Image> {
    let program = fs::read(node_programs()?.join("pause"))?;
    let about = About {
        version: "1".to_owned(),
        revision: String::new(),
        source: None,
        created: Timestamp::UNIX_EPOCH,
    };
    let contents = Contents {
        platform: Platform::native(),
        program: &program,
        license: b"",
    };
    Image::assemble(&[contents], &about)
}
