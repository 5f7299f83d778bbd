//! The only layer: the program and the licence.

use anyhow::Result;
use oci_spec::image::MediaType;

use super::digest::{Blob, sha256};
use crate::NAME;
use crate::archive::{FILE, PROGRAM, gzip, tar};

/// A layer, and the digest of what it unpacks to.
pub(super) struct Layer {
    pub blob: Blob,
    pub diff_id: String,
}

pub(super) fn layer(program: &[u8], license: &[u8]) -> Result<Layer> {
    let tar = tar([("LICENSE", FILE, license), (NAME, PROGRAM, program)])?;
    Ok(Layer {
        blob: Blob {
            media_type: MediaType::ImageLayerGzip,
            bytes: gzip(&tar)?,
        },
        diff_id: format!("sha256:{}", sha256(&tar)),
    })
}
