//! `images`: the images that Windows nodes pull.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Serialize;
use wn_api::spec::{NetworkType, WindowsNodeConfigSpec};
use wn_plan::observed::Config;
use wn_plan::version::Version;
use wn_plan::workload;

use super::{Format, files, print};

pub const EXAMPLES: &str = "Examples:
  images --calico v3.32.1 --kubernetes v1.36.3
  images --calico v3.32.1 --kubernetes v1.36.3 -f windowsnodeconfig.yaml -o json

Exit codes: 0, or 3 if an argument or the file is wrong.";

#[derive(Args)]
pub struct Arguments {
    /// Version of Calico in the cluster.
    #[arg(long, value_name = "VERSION")]
    pub calico: Version,
    /// Version of the kubelets of the Windows nodes, with the patch release, which is in the tag of kube-proxy's image.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes: Version,
    /// The WindowsNodeConfig, for images and registries that it names; `-` is standard input. Default: CalicoVXLAN and
    /// upstream's images.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// For people or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Everything that `-o json` prints.
#[derive(Serialize)]
struct Output {
    images: BTreeSet<String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let spec = match &arguments.file {
        Some(file) => read(&files::text(file)?).with_context(|| file.display().to_string())?,
        None => WindowsNodeConfigSpec::minimal(NetworkType::ALL[0]),
    };
    let images = workload::images(&spec, &arguments.calico, &arguments.kubernetes).with_context(|| {
        format!(
            "spec.networkAgent.image: network type {} needs an image that no project publishes: set repository and a tag or digest",
            spec.network.type_.as_str()
        )
    })?;
    match arguments.output {
        Format::Json => print::json(&Output { images })?,
        Format::Text => print::text(
            &images
                .iter()
                .map(|image| format!("{image}\n"))
                .collect::<String>(),
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read(text: &str) -> anyhow::Result<WindowsNodeConfigSpec> {
    match Config::read(&serde_saphyr::from_str(text)?) {
        Config::Readable(config) => Ok(config.spec),
        Config::Unreadable(unreadable) => bail!(unreadable.message),
    }
}
