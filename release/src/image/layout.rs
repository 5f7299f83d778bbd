//! The image as files: an OCI layout, as a folder or as one tar archive.
//!
//! An archive with one platform also has the `manifest.json` of `docker save`, which older Docker needs.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use oci_spec::image::{
    ImageIndex, ImageIndexBuilder, ImageManifest, MediaType, OciLayoutBuilder, SCHEMA_VERSION,
};
use serde_json::json;

use super::digest::Blob;
use super::{Image, PlatformImage};
use crate::NAME;
use crate::archive::{FILE, tar};

/// Path in the layout and content.
type File = (String, Vec<u8>);

impl Image {
    /// Writes the layout into a folder, which replaces the one that is there.
    pub fn write_layout(&self, folder: &Path) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
        }
        for (name, bytes) in self.files()? {
            let path = folder.join(name);
            path.parent().map(fs::create_dir_all).transpose()?;
            fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }

    /// The layout of all platforms as an archive.
    pub fn archive(&self) -> Result<Vec<u8>> {
        pack(&self.files()?)
    }

    /// The layout of one platform as an archive, which is also one of `docker save`.
    pub fn platform_archive(&self, platform: &PlatformImage) -> Result<Vec<u8>> {
        let mut files = self.only(platform).files()?;
        let manifest = json!([{
            "Config": platform.config.path(),
            "RepoTags": [format!("{NAME}:{}", self.version)],
            "Layers": [platform.layer.path()],
        }]);
        files.push(("manifest.json".to_owned(), serde_json::to_vec(&manifest)?));
        pack(&files)
    }

    fn files(&self) -> Result<Vec<File>> {
        let layout = OciLayoutBuilder::default()
            .image_layout_version("1.0.0")
            .build()?;
        let mut descriptor = self.index.descriptor()?;
        let names = [
            ("org.opencontainers.image.ref.name", self.version.clone()),
            // `ctr image import` gives the image this name; a bare name is Docker Hub's, as in a pod.
            (
                "io.containerd.image.name",
                format!("docker.io/library/{NAME}:{}", self.version),
            ),
        ];
        descriptor.set_annotations(Some(names.map(|(key, value)| (key.to_owned(), value)).into()));
        let index = ImageIndexBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageIndex)
            .manifests(vec![descriptor])
            .build()?;
        let mut files = vec![
            ("oci-layout".to_owned(), serde_json::to_vec(&layout)?),
            (
                "index.json".to_owned(),
                Blob::json(MediaType::ImageIndex, &index)?.bytes,
            ),
        ];
        let mut blobs: Vec<&Blob> = vec![&self.index];
        for platform in &self.platforms {
            blobs.extend([&platform.manifest, &platform.config, &platform.layer]);
        }
        files.extend(blobs.into_iter().map(|blob| (blob.path(), blob.bytes.clone())));
        // The index of an image with one platform is its manifest.
        files.sort();
        files.dedup();
        Ok(files)
    }
}

fn pack(files: &[File]) -> Result<Vec<u8>> {
    tar(files
        .iter()
        .map(|(name, bytes)| (name.as_str(), FILE, bytes.as_slice())))
}

/// Bytes that a node pulls for each platform, by its name as in `linux/amd64`, of the layout in a folder.
pub fn compressed_sizes(folder: &Path) -> Result<Vec<(String, u64)>> {
    let blob = |digest: &oci_spec::image::Digest| folder.join("blobs/sha256").join(digest.digest());
    let outer = ImageIndex::from_file(folder.join("index.json"))?;
    let entry = outer.manifests().first().context("the layout is empty")?;
    let index = ImageIndex::from_file(blob(entry.digest()))?;
    let sizes = index.manifests().iter().map(|descriptor| {
        let manifest = ImageManifest::from_file(blob(descriptor.digest()))?;
        let layers: u64 = manifest
            .layers()
            .iter()
            .map(oci_spec::image::Descriptor::size)
            .sum();
        let platform = descriptor
            .platform()
            .as_ref()
            .context("a manifest has no platform")?;
        let name = format!("{}/{}", platform.os(), platform.architecture());
        Ok((name, descriptor.size() + manifest.config().size() + layers))
    });
    let sizes = sizes.collect::<Result<Vec<_>>>()?;
    ensure!(!sizes.is_empty(), "the index has no manifest");
    Ok(sizes)
}
