//! The OCI image: one index over a manifest for each platform. Each image holds the program and the licence, nothing else.

pub mod digest;
mod layer;
pub mod layout;

use std::collections::HashMap;

use anyhow::Result;
use jiff::Timestamp;
use oci_spec::image::{
    ConfigBuilder, Descriptor, HistoryBuilder, ImageConfiguration, ImageConfigurationBuilder,
    ImageIndexBuilder, ImageManifestBuilder, MediaType, Os, PlatformBuilder, RootFsBuilder, SCHEMA_VERSION,
};

use crate::NAME;
use crate::platform::Platform;
use digest::Blob;
use layer::layer;

/// A number, not a name: the kubelet checks `runAsNonRoot` without an /etc/passwd.
pub const USER: &str = "65532:65532";
/// What `/livez`, `/readyz` and `/metrics` are served on.
pub const PORT: &str = "8080/tcp";
pub const DESCRIPTION: &str =
    "Makes the Windows nodes of a Calico cluster work, and says which do not and why";
pub const LICENSE: &str = "Apache-2.0";

/// What labels and annotations say.
#[derive(Clone, Debug)]
pub struct About {
    /// Without a `v`.
    pub version: String,
    /// The commit.
    pub revision: String,
    /// URL of the sources; no label without one.
    pub source: Option<String>,
    /// When the commit was made.
    pub created: Timestamp,
}

/// What the image of one platform holds.
pub struct Contents<'a> {
    pub platform: Platform,
    pub program: &'a [u8],
    pub license: &'a [u8],
}

/// The image of all platforms.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub version: String,
    pub index: Blob,
    pub platforms: Vec<PlatformImage>,
}

/// The image of one platform.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformImage {
    pub platform: Platform,
    pub manifest: Blob,
    pub config: Blob,
    pub layer: Blob,
}

impl PlatformImage {
    /// Bytes that a node pulls.
    pub fn compressed_size(&self) -> usize {
        self.manifest.bytes.len() + self.config.bytes.len() + self.layer.bytes.len()
    }
}

impl Image {
    pub fn assemble(contents: &[Contents<'_>], about: &About) -> Result<Self> {
        let platforms: Vec<PlatformImage> = contents
            .iter()
            .map(|contents| platform_image(contents, about))
            .collect::<Result<_>>()?;
        let index = ImageIndexBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageIndex)
            .manifests(platforms.iter().map(descriptor).collect::<Result<Vec<_>>>()?)
            .annotations(labels(about))
            .build()?;
        Ok(Self {
            version: about.version.clone(),
            index: Blob::json(MediaType::ImageIndex, &index)?,
            platforms,
        })
    }

    /// The same image for one platform only.
    pub(crate) fn only(&self, platform: &PlatformImage) -> Self {
        Self {
            version: self.version.clone(),
            index: platform.manifest.clone(),
            platforms: vec![platform.clone()],
        }
    }
}

fn platform_image(contents: &Contents<'_>, about: &About) -> Result<PlatformImage> {
    contents.platform.check(contents.program)?;
    let layer = layer(contents.program, contents.license)?;
    let config = Blob::json(
        MediaType::ImageConfig,
        &configuration(contents.platform, &layer.diff_id, about)?,
    )?;
    let manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .config(config.descriptor()?)
        .layers(vec![layer.blob.descriptor()?])
        .annotations(labels(about))
        .build()?;
    Ok(PlatformImage {
        platform: contents.platform,
        manifest: Blob::json(MediaType::ImageManifest, &manifest)?,
        config,
        layer: layer.blob,
    })
}

fn configuration(platform: Platform, diff_id: &str, about: &About) -> Result<ImageConfiguration> {
    let config = ConfigBuilder::default()
        .user(USER)
        .exposed_ports(vec![PORT.to_owned()])
        .entrypoint(vec![format!("/{NAME}")])
        .cmd(vec!["run".to_owned()])
        .labels(labels(about))
        .build()?;
    let root = RootFsBuilder::default()
        .typ("layers")
        .diff_ids(vec![diff_id.to_owned()])
        .build()?;
    let history = HistoryBuilder::default()
        .created(about.created.to_string())
        .created_by("cargo image")
        .build()?;
    let configuration = ImageConfigurationBuilder::default()
        .created(about.created.to_string())
        .architecture(platform.oci())
        .os(Os::Linux)
        .config(config)
        .rootfs(root)
        .history(vec![history])
        .build()?;
    Ok(configuration)
}

fn descriptor(image: &PlatformImage) -> Result<Descriptor> {
    let platform = PlatformBuilder::default()
        .architecture(image.platform.oci())
        .os(Os::Linux)
        .build()?;
    let mut descriptor = image.manifest.descriptor()?;
    descriptor.set_platform(Some(platform));
    Ok(descriptor)
}

fn labels(about: &About) -> HashMap<String, String> {
    let all = [
        ("title", Some(NAME)),
        ("description", Some(DESCRIPTION)),
        ("licenses", Some(LICENSE)),
        ("version", Some(&about.version)),
        ("revision", Some(&about.revision)),
        ("source", about.source.as_deref()),
    ];
    let given = all.into_iter().filter_map(|(key, value)| Some((key, value?)));
    given
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned()))
        .collect()
}
