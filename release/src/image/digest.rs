//! Content by its digest.

use std::fmt::Write as _;
use std::str::FromStr as _;

use anyhow::Result;
use oci_spec::image::{Descriptor, MediaType, Sha256Digest};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// SHA-256 in hex.
pub fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Bytes and what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    pub media_type: MediaType,
    pub bytes: Vec<u8>,
}

impl Blob {
    /// JSON with sorted keys: the types of `oci-spec` hold labels and annotations in maps without an order.
    pub(crate) fn json(media_type: MediaType, value: &impl Serialize) -> Result<Self> {
        let mut value = serde_json::to_value(value)?;
        value.sort_all_objects();
        Ok(Self {
            media_type,
            bytes: serde_json::to_vec(&value)?,
        })
    }

    /// Name of the file in an OCI layout.
    pub(crate) fn path(&self) -> String {
        format!("blobs/sha256/{}", sha256(&self.bytes))
    }

    /// `sha256:…`
    pub fn digest(&self) -> String {
        format!("sha256:{}", sha256(&self.bytes))
    }

    pub(crate) fn descriptor(&self) -> Result<Descriptor> {
        let digest = Sha256Digest::from_str(&sha256(&self.bytes))?;
        Ok(Descriptor::new(
            self.media_type.clone(),
            self.bytes.len() as u64,
            digest,
        ))
    }
}
