//! `lab hold`: the background process in which the lab lives.

use std::fs;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use super::{LabOptions, kubeconfig, pid_file, try_own};
use crate::control_plane::Cluster;
use crate::operator::{Operator, RunningOperator};
use crate::real_node::{self, Images, RealNode};
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
    if options.real_node
        && let Some(missing) = real_node::missing()
    {
        bail!(missing);
    }
    let cluster_options = options.cluster();
    eprintln!(
        "starting {} Linux and {} Windows nodes…",
        cluster_options.linux_nodes, cluster_options.windows_nodes
    );
    let cluster = Cluster::start(cluster_options).await?;
    let _simulator = Simulator::start(cluster.client());
    let _node = if options.real_node {
        Some(real_node(&cluster).await?)
    } else {
        None
    };
    let _operator = if options.operator {
        operator(&cluster, options.real_node).await?
    } else {
        None
    };
    publish(&cluster)?;
    std::future::pending().await
}
async fn real_node(cluster: &Cluster) -> Result<(RealNode, Images)> {
    eprintln!("starting the real node {}…", real_node::NAME);
    let images = Images::publish(cluster.state_dir()).await?;
    Ok((RealNode::start(cluster, &images).await?, images))
}

/// The pods of the chart where a node can run them; else the program, as a process of this machine.
async fn operator(cluster: &Cluster, real_node: bool) -> Result<Option<RunningOperator>> {
    eprintln!("installing the chart and starting the operator…");
    if real_node {
        Operator::install_pods(cluster, &[&Images::value()]).await?;
        return Ok(None);
    }
    Operator::install(cluster, &[]).await?;
    let mut operator = Operator::run(cluster).await?;
    operator.wait_ready(READY_LIMIT).await?;
    Ok(Some(operator))
}

/// The file appears whole: `lab up` waits for it.
fn publish(cluster: &Cluster) -> Result<()> {
    let path = kubeconfig()?;
    let fresh = path.with_extension("fresh");
    fs::copy(cluster.kubeconfig(), &fresh)?;
    fs::rename(fresh, path)?;
    Ok(())
}
