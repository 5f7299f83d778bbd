//! `cargo lab`: the control plane of the tests, for people.

#![allow(clippy::print_stdout, reason = "a command line answers on stdout")]

use anyhow::Result;
use clap::{Parser, Subcommand};
use wn_e2e::campaign::{self, CampaignOptions};
use wn_e2e::lab::{self, LabOptions, ProofOptions, ScaleOptions};

/// A real Kubernetes control plane with simulated Windows nodes.
#[derive(Parser)]
#[command(name = "lab")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a lab in the background and print the path of its KUBECONFIG
    Up(LabOptions),
    /// End the lab
    Down,
    /// Watch the operator do its main job on a fresh lab, then tear it down
    Demo {
        #[command(flatten)]
        options: LabOptions,
        /// Keep the cluster until Ctrl-C and print its KUBECONFIG
        #[arg(long)]
        hold: bool,
    },
    /// Measure the operator on a lab with 20 Windows nodes
    Bench,
    /// Measure the operator with hundreds and thousands of Windows nodes
    BenchScale(ScaleOptions),
    /// Disturb the operator for many rounds and check after each that nothing is lost
    Campaign(CampaignOptions),
    /// Run Windows' own kube-proxy of every minor with what the operator renders
    WindowsProof(ProofOptions),
    /// Be the background process of `up`
    #[command(hide = true)]
    Hold(LabOptions),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Up(options) => {
            let kubeconfig = lab::up(&options, &|line| eprintln!("{line}"))?;
            println!("{}", kubeconfig.display());
        }
        Command::Down if lab::down()? => println!("the lab is down"),
        Command::Down => println!("no lab is up"),
        Command::Demo { options, hold } => run(lab::demo(&options, hold, &|line| println!("{line}")))?,
        Command::Bench => run(lab::bench(&|line| println!("{line}")))?,
        Command::BenchScale(options) => run(lab::bench_scale(&options, &|line| println!("{line}")))?,
        Command::Campaign(options) => run(campaign::campaign(&options, &|line| println!("{line}")))?,
        Command::WindowsProof(options) => run(lab::windows_proof(&options, &|line| println!("{line}")))?,
        Command::Hold(options) => run(lab::hold(&options))?,
    }
    Ok(())
}

fn run(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    // A build of the control plane is not waited for; it ends with us.
    runtime.shutdown_background();
    result
}
