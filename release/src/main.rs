//! `cargo image` and the build of the Dockerfile.

#![allow(clippy::print_stdout, reason = "a command line answers on stdout")]

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use wn_release::image::About;
use wn_release::image::layout::compressed_sizes;
use wn_release::platform::Platform;
use wn_release::revision::Revision;
use wn_release::{binary, output, workspace};

/// Builds what a release consists of.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build binaries, image and SBOMs for every platform
    Image {
        /// URL of the sources, for the label `org.opencontainers.image.source`
        #[arg(long, value_name = "URL")]
        source: Option<String>,
        /// Where they go
        #[arg(long, value_name = "DIR", default_value = "target/image")]
        output: PathBuf,
    },
    /// Build the binary for one platform, the same as in the image
    Binary {
        /// As in linux/arm64
        #[arg(long)]
        platform: Platform,
        /// Where it goes
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Image { source, output } => image(source, &workspace().join(output)),
        Command::Binary { platform, output } => {
            let built = binary::build(&[platform])?;
            let built = built.first().context("cargo built nothing")?;
            binary::write(&built.program, &output)
        }
    }
}

fn image(source: Option<String>, folder: &std::path::Path) -> Result<()> {
    let revision = Revision::of_workspace()?;
    let about = About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: revision.commit,
        source,
        created: revision.time,
    };
    let binaries = binary::build(&Platform::ALL)?;
    let digest = output::write(&binaries, &about, folder)?;
    print!(
        "{}",
        output::figures(&binaries, &compressed_sizes(&folder.join("layout"))?)
    );
    println!("{digest}\n{}", folder.display());
    Ok(())
}
