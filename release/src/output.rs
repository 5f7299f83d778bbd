//! What `cargo image` leaves in its folder, and its figures.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::binary::Binary;
use crate::image::{About, Contents, Image};
use crate::{NAME, binary, krew, sbom, workspace};

/// Bytes of a program that are acceptable.
pub const LARGEST_BINARY: usize = 15 << 20;
/// Bytes of the image of one platform, compressed, that are acceptable.
pub const LARGEST_IMAGE: usize = 8 << 20;

/// Writes everything into `folder`, and returns the index' digest.
pub fn write(binaries: &[Binary], about: &About, folder: &Path) -> Result<String> {
    let license = fs::read(workspace().join("LICENSE"))?;
    let contents: Vec<Contents<'_>> = binaries
        .iter()
        .map(|binary| Contents {
            platform: binary.platform,
            program: &binary.program,
            license: &license,
        })
        .collect();
    let image = Image::assemble(&contents, about)?;
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    image.write_layout(&folder.join("layout"))?;
    let version = &about.version;
    fs::write(folder.join(format!("{NAME}-{version}.tar")), image.archive()?)?;
    for (binary, platform) in binaries.iter().zip(&image.platforms) {
        let name = format!("{NAME}-{version}-linux-{}", binary.platform.architecture());
        binary::write(&binary.program, &folder.join(&name))?;
        let bill = sbom::document(&binary.dependencies, &binary.program, about.created);
        fs::write(folder.join(format!("{name}.cdx.json")), format!("{bill:#}\n"))?;
        fs::write(
            folder.join(format!("{name}.tar")),
            image.platform_archive(platform)?,
        )?;
    }
    let programs = binaries
        .iter()
        .map(|binary| (binary.platform, binary.program.as_slice()));
    let programs: Vec<_> = programs.collect();
    for (name, bytes) in krew::files(version, about.source.as_deref(), &programs, &license)? {
        fs::write(folder.join(name), bytes)?;
    }
    let digest = image.index.digest();
    fs::write(folder.join("digest"), format!("{digest}\n"))?;
    ensure_small(binaries, &image)?;
    Ok(digest)
}

fn ensure_small(binaries: &[Binary], image: &Image) -> Result<()> {
    for (binary, platform) in binaries.iter().zip(&image.platforms) {
        let figures = [
            ("binary", binary.program.len(), LARGEST_BINARY),
            ("compressed image", platform.compressed_size(), LARGEST_IMAGE),
        ];
        for (what, size, largest) in figures {
            ensure!(
                size <= largest,
                "{}: the {what} has {size} bytes, more than {largest}",
                binary.platform
            );
        }
    }
    Ok(())
}

/// The lines that `cargo image` prints.
pub fn figures(binaries: &[Binary], sizes: &[(String, u64)]) -> String {
    let mut text = String::new();
    for (binary, (platform, compressed)) in binaries.iter().zip(sizes) {
        let (program, compressed) = (mebibytes(binary.program.len() as u64), mebibytes(*compressed));
        let crates = binary
            .dependencies
            .all
            .iter()
            .filter(|dependency| dependency.runtime)
            .count();
        let _ = writeln!(
            text,
            "{platform}: binary {program}, image {compressed} compressed, {crates} crates"
        );
    }
    text
}

/// As in `1.5 MB`; the unit is 2^20 bytes, as in the table of `cargo bench-operator`.
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / f64::from(1 << 20))
}
