//! The Dockerfile makes the same image as `cargo image`.

use std::fs;

use anyhow::{Context as _, Result};
use wn_release::image::{DESCRIPTION, LICENSE, PORT, USER};
use wn_release::{NAME, workspace};

#[test]
fn the_last_stage_says_the_same() -> Result<()> {
    let dockerfile = fs::read_to_string(workspace().join("Dockerfile"))?;
    let (_, last) = dockerfile
        .split_once("FROM scratch\n")
        .context("the last stage is not from scratch")?;
    let port = PORT.trim_end_matches("/tcp");
    for line in [
        format!("org.opencontainers.image.title=\"{NAME}\""),
        format!("org.opencontainers.image.description=\"{DESCRIPTION}\""),
        format!("org.opencontainers.image.licenses=\"{LICENSE}\""),
        format!("USER {USER}\n"),
        format!("EXPOSE {port}\n"),
        format!("ENTRYPOINT [\"/{NAME}\"]\n"),
        "CMD [\"run\"]\n".to_owned(),
        "COPY LICENSE /LICENSE\n".to_owned(),
    ] {
        assert!(last.contains(&line), "Dockerfile has no {line:?}");
    }
    Ok(())
}

/// The label is what the package says of itself.
#[test]
fn the_description_is_that_of_the_package() -> Result<()> {
    let manifest = fs::read_to_string(workspace().join("operator/Cargo.toml"))?;
    assert!(manifest.contains(&format!("description = \"{DESCRIPTION}\"")));
    Ok(())
}
