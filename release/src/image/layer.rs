//! The only layer: the program and the licence.

use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use oci_spec::image::MediaType;

use super::digest::{Blob, sha256};
use crate::NAME;

/// A layer, and the digest of what it unpacks to.
pub(super) struct Layer {
    pub blob: Blob,
    pub diff_id: String,
}

pub(super) fn layer(program: &[u8], license: &[u8]) -> Result<Layer> {
    let mut archive = tar::Builder::new(Vec::new());
    append(&mut archive, "LICENSE", 0o644, license)?;
    append(&mut archive, NAME, 0o755, program)?;
    let tar = archive.into_inner()?;
    // Neither a name nor a time is in the header of gzip.
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(&tar)?;
    Ok(Layer {
        blob: Blob {
            media_type: MediaType::ImageLayerGzip,
            bytes: encoder.finish()?,
        },
        diff_id: format!("sha256:{}", sha256(&tar)),
    })
}

/// Adds a file of root's with the time 0.
pub(super) fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, mode: u32, bytes: &[u8]) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes.len() as u64);
    Ok(archive.append_data(&mut header, name, bytes)?)
}
