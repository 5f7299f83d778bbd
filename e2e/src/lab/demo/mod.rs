//! `lab demo`: the operator's main job, watched from the outside by what the API server shows.

mod live;
mod node_faults;
mod policy;
mod table;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use serde_json::Value;

use super::LabOptions;
use crate::control_plane::{Cluster, paths};
use crate::objects;
use crate::operator::Operator;
use crate::simulator::Simulator;
use live::Live;

/// Pods of simulated nodes need seconds; a machine under load a few more.
const READY_LIMIT: Duration = Duration::from_secs(120);
const SAMPLE: &str = "manifests/samples/calico-vxlan.yaml";

/// Runs the demo; an error if the CR did not become Ready. With `hold`, keeps the cluster until Ctrl-C.
pub async fn demo(options: &LabOptions, hold: bool, say: &dyn Fn(&str)) -> Result<()> {
    let began = Instant::now();
    say("Control plane: kube-apiserver, etcd, scheduler, controller-manager, simulated nodes by kwok");
    let cluster = Cluster::start(options.cluster()).await?;
    cluster
        .install_calico_policy(options.cluster().calico_api)
        .await?;
    let simulator = Simulator::start(cluster.client());
    say(&format!(
        "  ready: {} Linux and {} Windows nodes, Calico as calico.yaml leaves it",
        options.linux, options.windows
    ));
    say("Operator: helm install, then the program with the rights of the chart's ServiceAccount");
    Operator::install(&cluster, &[]).await?;
    let mut operator = Operator::run(&cluster).await?;
    operator.wait_ready(READY_LIMIT).await?;
    say(&format!(
        "  ready after {:.0} s in all",
        began.elapsed().as_secs_f32()
    ));

    let client = cluster.client();
    let before = table::calico_fields(&client).await?;
    let sample = paths::workspace().join(SAMPLE);
    say(&format!("\n$ kubectl apply -f {SAMPLE}"));
    let sample = sample.to_string_lossy();
    let apply = ["apply", "-f", &*sample];
    // Watched from before the start, so that nothing is missed while kubectl still speaks.
    let mut live = Live::default();
    let watched = tokio::time::timeout(READY_LIMIT, live.until(&client, say, live::is_ready));
    let (applied, mut ready) = tokio::join!(cluster.kubectl(&apply), watched);
    applied?;
    if matches!(ready, Ok(Ok(()))) && options.windows > 0 {
        let last = options.windows - 1;
        let nodes = ["windows-0".to_owned(), format!("windows-{last}")];
        ready = tokio::time::timeout(READY_LIMIT, async {
            node_faults::act(&cluster, &simulator, &nodes, &mut live, say).await?;
            policy::act(&cluster, &mut live, say).await
        })
        .await;
    }
    table::print(&client, &before, say).await?;
    if hold {
        hold_on(&cluster, say).await?;
    }
    match ready {
        Ok(done) => done.context("watching the cluster failed"),
        Err(_) => bail!(
            "WindowsNodeConfig default is not Ready after {} s: {}",
            READY_LIMIT.as_secs(),
            why(&client).await?
        ),
    }
}

async fn hold_on(cluster: &Cluster, say: &dyn Fn(&str)) -> Result<()> {
    say(&format!(
        "\nThe cluster stays until Ctrl-C:\n  export KUBECONFIG={}",
        cluster.kubeconfig().display()
    ));
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn why(client: &Client) -> Result<String> {
    let config = objects::config(client).await?;
    let ready = config
        .pointer("/status/conditions/0/message")
        .and_then(Value::as_str);
    Ok(ready.unwrap_or("it has no status").to_owned())
}
