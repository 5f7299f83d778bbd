//! The command line.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::commands::{acls, exit_code, images, lint, print};
use crate::settings::{LogFormat, Settings};

/// Generated from the types by a test, because what generates it would be resident in every operator.
const CRD: &str = include_str!("../../../crds/windowsnode.dev_windowsnodeconfigs.yaml");

#[derive(Parser)]
#[command(name = "windows-node-operator", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the operator.
    Run(Settings),
    /// Print the CustomResourceDefinition.
    Crd,
    /// Show what Windows enforces of network policies, ACL by ACL, and where that is not what they mean.
    #[command(after_help = acls::EXAMPLES)]
    Acls(acls::Arguments),
    /// Find what Windows does otherwise than network policies mean; the exit code is 1 for warnings, 2 for errors.
    #[command(after_help = lint::EXAMPLES)]
    Lint(lint::Arguments),
    /// Print the images that Windows nodes pull, for the registry of an air-gapped cluster.
    #[command(after_help = images::EXAMPLES)]
    Images(images::Arguments),
    /// Delete the WindowsNodeConfig and wait until the cluster is restored.
    Uninstall {
        /// Seconds to wait.
        #[arg(long, default_value_t = 270)]
        timeout: u64,
    },
}

pub fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Command::Run(settings) => {
            crate::telemetry::init(&settings.log_level, settings.log_format)?;
            runtime()?.block_on(crate::run::run(settings))?;
        }
        Command::Crd => print::text(CRD)?,
        Command::Acls(arguments) => return Ok(exit_code(acls::run(&arguments))),
        Command::Lint(arguments) => return Ok(exit_code(lint::run(&arguments))),
        Command::Images(arguments) => return Ok(exit_code(images::run(&arguments))),
        Command::Uninstall { timeout } => {
            crate::telemetry::init("info", LogFormat::Text)?;
            runtime()?.block_on(async {
                let client = kube::Client::try_default().await?;
                crate::uninstall::uninstall(client, Duration::from_secs(timeout)).await
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One thread: passes take milliseconds, and each further thread costs an arena of memory.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
