//! A tar.gz archive of bounded size.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;

/// Bytes of all files before compression.
const LARGEST: usize = 64 << 20;
/// Kept for the file that names what was left out.
const RESERVE: usize = 1 << 20;

pub struct Archive {
    tar: tar::Builder<GzEncoder<File>>,
    size: usize,
    time: u64,
}

impl Archive {
    /// A new file that only its owner can read.
    pub fn create(file: &Path, now: Timestamp) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let created = options.write(true).create_new(true).mode(0o600).open(file);
        let created = created.with_context(|| format!("{}: cannot be created", file.display()))?;
        Ok(Self {
            tar: tar::Builder::new(GzEncoder::new(created, Compression::default())),
            size: 0,
            time: u64::try_from(now.as_second()).unwrap_or_default(),
        })
    }

    /// Adds a file; false if there is no room for it.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<bool> {
        let room = if name == "errors.txt" {
            LARGEST + RESERVE
        } else {
            LARGEST
        };
        if self.size + bytes.len() > room {
            return Ok(false);
        }
        self.size += bytes.len();
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(self.time);
        self.tar.append_data(&mut header, name, bytes)?;
        Ok(true)
    }

    pub fn finish(self) -> anyhow::Result<()> {
        self.tar.into_inner()?.finish()?;
        Ok(())
    }
}
