//! What the commands about policies read: manifests, a live cluster, or both.

use std::path::PathBuf;

use clap::Args;
use wn_workloads::input::Objects;
use wn_workloads::release::Release;

use super::cluster::{self, Cluster};
use super::connection::Connection;
use super::files::{self, Source};
use super::{block_on, print};

/// Arguments of every command about policies.
#[derive(Args)]
pub struct InputArguments {
    #[command(flatten)]
    from: Origins,
    #[command(flatten)]
    connection: Connection,
    /// Release of Calico. Default: with --cluster that of the cluster, otherwise the newest release.
    #[arg(long, value_name = "VERSION")]
    calico: Option<Release>,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Origins {
    /// Manifests with nodes, namespaces, pods, services and policies; `-` is standard input.
    #[arg(short, long = "filename", value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,
    /// Folders with a kustomization, which kubectl or kustomize builds.
    #[arg(short, long, value_name = "DIR", num_args = 1..)]
    kustomize: Vec<PathBuf>,
    /// The live cluster, with read requests only; files and kustomizations replace objects of the same name.
    #[arg(long)]
    cluster: bool,
}

/// What was read.
pub struct Input {
    pub objects: Objects,
    pub release: Release,
    /// The manifests, for the positions of findings.
    pub sources: Vec<Source>,
    /// Kinds of the cluster that could not be read.
    pub forbidden: Vec<String>,
}

impl InputArguments {
    /// Reads everything. Kinds that could not be read are named on standard error.
    pub fn read(&self) -> anyhow::Result<Input> {
        let files = self.from.files.iter().map(|file| files::source(file));
        let folders = self
            .from
            .kustomize
            .iter()
            .map(|folder| files::kustomization(folder));
        let sources: Vec<Source> = files.chain(folders).collect::<anyhow::Result<_>>()?;
        let manifests = files::objects(&sources)?;
        let Cluster {
            objects,
            release,
            forbidden,
        } = if self.from.cluster {
            block_on(async { cluster::read(&self.connection.client().await?).await })?
        } else {
            Cluster::default()
        };
        if !forbidden.is_empty() {
            print::warning(&format!(
                "you may not list {}: the result leaves them out",
                forbidden.join(", ")
            ));
        }
        Ok(Input {
            objects: if self.from.cluster {
                objects.updated(&manifests)
            } else {
                manifests
            },
            release: self.calico.or(release).unwrap_or(Release::NEWEST),
            sources,
            forbidden,
        })
    }
}
