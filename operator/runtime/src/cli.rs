//! The command line.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::commands::{self, acls, bundle, diagnose, exit_code, explain, images, lint, plan, status};
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
    /// Print the script that completes arguments in a shell.
    #[command(after_help = COMPLETION)]
    Completion { shell: Shell },
    /// Show one Windows node: every check of its verdict, what the checks read, and Events.
    #[command(after_help = diagnose::EXAMPLES)]
    Diagnose(diagnose::Arguments),
    /// Explain a reason, an advisory or a finding: what it means, how it is found, what to do.
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::Arguments),
    /// Write an archive for a bug report: objects, Events and logs, without secrets.
    #[command(after_help = bundle::EXAMPLES)]
    Bundle(bundle::Arguments),
    /// Find what Windows does differently with network policies, Services and pods; the exit code is 1 for warnings, 2 for errors.
    #[command(after_help = lint::EXAMPLES)]
    Lint(lint::Arguments),
    /// Print the images that Windows nodes pull, for the registry of an air-gapped cluster.
    #[command(after_help = images::EXAMPLES)]
    Images(images::Arguments),
    /// Show what the operator would write now, as a diff of each object; changes nothing.
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::Arguments),
    /// Show the state of the Windows nodes on one screen: conditions, nodes, rollouts, advisories.
    #[command(after_help = status::EXAMPLES)]
    Status(status::Arguments),
    /// Delete the WindowsNodeConfig and wait until the cluster is restored.
    Uninstall {
        /// Seconds to wait.
        #[arg(long, default_value_t = 270)]
        timeout: u64,
    },
}

const COMPLETION: &str = "Examples:
  source <(windows-node-operator completion bash)
  windows-node-operator completion zsh > ~/.zfunc/_windows-node-operator
  windows-node-operator completion powershell | Out-String | Invoke-Expression";

pub fn main() -> anyhow::Result<ExitCode> {
    let parsed = command().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Help and the version are printed without a failure.
        Err(error) => {
            let code = if error.use_stderr() { commands::FAILED } else { 0 };
            let _ = error.print();
            return Ok(ExitCode::from(code));
        }
    };
    match cli.command {
        Command::Run(settings) => {
            crate::telemetry::init(&settings.log_level, settings.log_format)?;
            runtime()?.block_on(crate::run::run(settings))?;
        }
        Command::Crd => commands::print::text(CRD)?,
        Command::Acls(arguments) => return Ok(exit_code(acls::run(&arguments))),
        Command::Bundle(arguments) => return Ok(exit_code(bundle::run(&arguments))),
        Command::Completion { shell } => return Ok(exit_code(complete(shell))),
        Command::Diagnose(arguments) => return Ok(exit_code(diagnose::run(&arguments))),
        Command::Explain(arguments) => return Ok(exit_code(explain::run(&arguments))),
        Command::Lint(arguments) => return Ok(exit_code(lint::run(&arguments))),
        Command::Images(arguments) => return Ok(exit_code(images::run(&arguments))),
        Command::Plan(arguments) => return Ok(exit_code(plan::run(&arguments))),
        Command::Status(arguments) => return Ok(exit_code(status::run(&arguments))),
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
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The command line under the name that the program was called by.
fn command() -> clap::Command {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_stem().unwrap_or_default();
    if name.to_string_lossy().starts_with(PLUGIN) {
        return Cli::command().bin_name("kubectl wnc");
    }
    Cli::command()
}

/// The program's name as a plugin of kubectl.
const PLUGIN: &str = "kubectl-wnc";

fn complete(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), wn_api::names::OPERATOR, &mut script);
    commands::print::text(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
