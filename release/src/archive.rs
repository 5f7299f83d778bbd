//! Archives that depend on nothing but their content: files of root's with the time 0.

use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, GzBuilder};

/// Mode of a program.
pub(crate) const PROGRAM: u32 = 0o755;
/// Mode of any other file.
pub(crate) const FILE: u32 = 0o644;

/// Name, mode and content.
pub(crate) type Entry<'a> = (&'a str, u32, &'a [u8]);

pub(crate) fn tar<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, mode, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes)?;
    }
    Ok(archive.into_inner()?)
}

/// Neither a name nor a time is in the header.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
