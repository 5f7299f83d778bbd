//! `cargo bench-scale`: the operator with as many Windows nodes as a large cluster has. What kubelets and
//! Calico's agents would write is written here, for it must be written fast.

mod field;
mod one_node;
mod population;
mod process;
mod rest;
mod restart;
mod storm;
mod workloads;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::table::{self, Figures};
use crate::control_plane::Binaries;
use crate::operator::Operator;
use field::Field;

#[derive(Args, Clone, Debug)]
pub struct ScaleOptions {
    /// Numbers of Windows nodes, each measured in a cluster of its own
    #[arg(long, value_delimiter = ',', default_value = "200,2000,5000", value_name = "N,…",
        value_parser = clap::value_parser!(u32).range(20..=10_000))]
    pub nodes: Vec<u32>,
    /// Measure the workloads of a large cluster, too: 20,000 pods and more, which take minutes to create
    #[arg(long)]
    pub workloads: bool,
    /// Measure this program instead of the one built from these sources
    #[arg(long, value_name = "PATH")]
    pub operator: Option<PathBuf>,
}

pub async fn bench_scale(options: &ScaleOptions, say: &dyn Fn(&str)) -> Result<()> {
    let program = match &options.operator {
        Some(program) => program.clone(),
        None => Operator::built().await?.to_owned(),
    };
    let mut columns = Vec::new();
    let mut result = Ok(());
    for nodes in &options.nodes {
        let mut figures = Figures::default();
        result = measure(&program, *nodes as usize, options.workloads, &mut figures).await;
        columns.push((format!("{nodes} nodes"), figures));
        if result.is_err() {
            break;
        }
    }
    say(&format!("On one machine with {}.", process::machine()));
    say(&format!(
        "kube-apiserver {}, etcd, the controller manager and this program share it with the operator,",
        Binaries::kubernetes_version()?
    ));
    say(
        "and figures of time contain the waits that makes. No real network, no real kubelet: this program writes",
    );
    say("nodes, Calico's blocks, and pods as copies of what kwok made of the first ones.");
    table::print(&columns, say);
    result
}

async fn measure(program: &Path, nodes: usize, workloads: bool, figures: &mut Figures) -> Result<()> {
    let progress = |what: &str| eprintln!("{nodes} nodes: {what}");
    progress("starting the control plane");
    let mut field = Field::set(program).await?;
    rest::furnish(&mut field).await?;
    population::populate(&mut field, rest::FEW).await?;
    let empty = rest::empty(&mut field).await?;
    progress("adding them");
    let took = population::multiply(&mut field, nodes).await?;
    figures.value(
        "making of the cluster",
        "-",
        format!("{:.0} s", took.as_secs_f64()),
    );
    field.find_agents().await?;
    progress("at rest");
    rest::full(&mut field, empty, figures).await?;
    progress("restarts");
    restart::restarts(&mut field, figures).await?;
    progress("one node");
    one_node::one_node(&mut field, figures).await?;
    progress("storm");
    storm::storm(&mut field, figures).await?;
    if workloads {
        progress("workloads");
        workloads::workloads(&mut field, figures).await?;
    }
    Ok(())
}
