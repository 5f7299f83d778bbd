//! `lab hold`: the background process in which the lab lives.

use std::fs;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use super::{LabOptions, kubeconfig, pid_file, try_own};
use crate::control_plane::Cluster;
use crate::operator::{Operator, RunningOperator};
use crate::simulator::Simulator;

const READY_LIMIT: Duration = Duration::from_secs(60);

/// Keeps a lab until SIGTERM or SIGINT, then takes it down.
pub async fn hold(options: &LabOptions) -> Result<()> {
    let Some(_lock) = try_own()? else {
        bail!("a lab is up already")
    };
    fs::write(pid_file()?, std::process::id().to_string())?;
    // Listened to from here on, so that a lab that is still starting ends in order too.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let result = tokio::select! {
        result = live(options) => result,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    let _ = fs::remove_file(kubeconfig()?);
    result
}

/// Never ends by itself, unless it fails.
async fn live(options: &LabOptions) -> Result<()> {
    eprintln!(
        "starting {} Linux and {} Windows nodes…",
        options.linux, options.windows
    );
    let cluster = Cluster::start(options.cluster()).await?;
    let _simulator = Simulator::start(cluster.client());
    let _operator = if options.operator {
        Some(operator(&cluster).await?)
    } else {
        None
    };
    publish(&cluster)?;
    std::future::pending().await
}

async fn operator(cluster: &Cluster) -> Result<RunningOperator> {
    eprintln!("installing the chart and starting the operator…");
    Operator::install(cluster, &[]).await?;
    let mut operator = Operator::run(cluster).await?;
    operator.wait_ready(READY_LIMIT).await?;
    Ok(operator)
}

/// The file appears whole: `lab up` waits for it.
fn publish(cluster: &Cluster) -> Result<()> {
    let path = kubeconfig()?;
    let fresh = path.with_extension("fresh");
    fs::copy(cluster.kubeconfig(), &fresh)?;
    fs::rename(fresh, path)?;
    Ok(())
}
