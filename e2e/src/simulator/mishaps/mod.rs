//! What may befall a Windows node, whatever the configuration: everything the API shows of it, and the way back.
//!
//! Faults of the two agents are told to the simulated node; all else is written into the cluster as its
//! writer in real life would write it.

mod calico;
mod nodes;
mod pods;
mod sandbox;
mod undo;
pub mod words;

use std::sync::Arc;

use anyhow::Result;
use jiff::SignedDuration;

use super::Simulator;
use super::engine::Shared;
use super::faults::Fault;
use calico::Place;
use undo::Undo;
use words::Words;

pub use pods::App;

/// Containers of a node that "has been running for long" started then: before every deadline.
const LONG: SignedDuration = SignedDuration::from_hours(1);

#[derive(Clone, Debug)]
pub enum Mishap {
    /// The running agents show this fault.
    Agents(Fault),
    /// The pod of the app is replaced, and its successor shows this fault.
    Successor(App, Fault),
    /// The pod of the app is taken away, and no pod fits on the node.
    NoRoom(App),
    /// The pod of the app runs an image with this tag.
    ImageTag(App, &'static str),
    /// `status.nodeInfo.kernelVersion`.
    Kernel(&'static str),
    /// `status.nodeInfo.containerRuntimeVersion`.
    Runtime(&'static str),
    /// `status.nodeInfo.kubeletVersion`.
    Kubelet(&'static str),
    /// `status.allocatable.pods`.
    MaxPods(u32),
    /// The kubelet says it is not ready, in these words.
    NotReady(&'static str),
    Silent,
    /// Calico says that the network is not set up.
    NetworkUnavailable,
    /// Calico's startup succeeded before the pod started, and does not any more.
    StartupFails,
    /// The node boots; its agents do not start again before the mend.
    Reboot,
    /// The kubelet reports another boot, and nothing else happens.
    BootId(&'static str),
    /// An annotation of Calico's is this, or is not there.
    Annotation(&'static str, Option<&'static str>),
    NoBlock,
    /// The claim of the block was never confirmed.
    ClaimPending,
    NotReserved,
    BlockExhausted,
    /// A pod of that node has an address of this one.
    Borrowed(&'static str),
    SecondBlock,
    /// `FelixConfiguration` `node.<name>` with this VNI.
    OwnVni(i32),
    /// A pod could not be created, now.
    Sandbox(Words),
    /// A pod could not be created, that long ago.
    SandboxBefore(Words, SignedDuration),
}

/// The way back. Dropped, the mishap stays.
#[must_use]
pub struct Mend {
    shared: Arc<Shared>,
    node: String,
    /// Faults were told to the simulated node.
    faults: bool,
    /// The agents start anew.
    restart: bool,
    changes: Vec<Undo>,
}

impl Mend {
    /// In the reverse order of what was done.
    pub async fn run(self) -> Result<()> {
        if self.faults {
            self.shared.faults().clear(&self.node);
            self.shared.wake(&self.node);
        }
        for change in self.changes.into_iter().rev() {
            change.run().await?;
        }
        if self.restart {
            pods::restart(&self.shared.client, &self.node).await?;
        }
        Ok(())
    }
}

impl Simulator {
    /// Makes it happen on `node`.
    pub async fn befall(&self, node: &str, mishap: &Mishap) -> Result<Mend> {
        let mut mend = Mend {
            shared: Arc::clone(&self.shared),
            node: node.to_owned(),
            faults: false,
            restart: false,
            changes: Vec::new(),
        };
        if let Mishap::Agents(fault) | Mishap::Successor(_, fault) = mishap {
            self.inject(node, *fault);
            mend.faults = true;
        }
        if let Mishap::Reboot = mishap {
            mend.restart = true;
        }
        mend.changes = self.write(node, mishap).await?;
        Ok(mend)
    }

    /// The containers of both agents on `node` have been running for so long.
    pub async fn age(&self, node: &str, ago: SignedDuration) -> Result<()> {
        pods::age(&self.shared.client, node, ago).await
    }

    /// The first container of `app` on `node` was restarted so often, the last time so long ago; it runs again.
    pub async fn crashed(&self, node: &str, app: App, restarts: i64, ago: SignedDuration) -> Result<()> {
        pods::crashed(&self.shared.client, node, app, restarts, ago).await
    }

    async fn write(&self, node: &str, mishap: &Mishap) -> Result<Vec<Undo>> {
        let client = &self.shared.client;
        let one = match mishap {
            Mishap::Agents(_) => return Ok(Vec::new()),
            Mishap::Successor(app, _) => {
                pods::replace(client, node, *app).await?;
                return Ok(Vec::new());
            }
            Mishap::Reboot => {
                self.age(node, LONG).await?;
                nodes::reboot(client, node).await?;
                return Ok(Vec::new());
            }
            Mishap::NotReady(words) => return nodes::kubelet(client, node, "False", words).await,
            Mishap::Silent => return nodes::kubelet(client, node, "Unknown", words::kubelet::SILENT).await,
            Mishap::NoBlock => return Place::of(client, node).await?.no_block().await,
            Mishap::SecondBlock => return Place::of(client, node).await?.second_block().await,
            Mishap::NoRoom(app) => pods::no_room(client, node, *app).await,
            Mishap::ImageTag(app, tag) => pods::image(client, node, *app, tag).await,
            Mishap::Kernel(version) => nodes::info(client, node, "kernelVersion", version).await,
            Mishap::Runtime(version) => nodes::info(client, node, "containerRuntimeVersion", version).await,
            Mishap::Kubelet(version) => nodes::info(client, node, "kubeletVersion", version).await,
            Mishap::BootId(id) => nodes::info(client, node, "bootID", id).await,
            Mishap::MaxPods(pods) => nodes::max_pods(client, node, *pods).await,
            Mishap::StartupFails => nodes::up_since(client, node, SignedDuration::from_hours(24)).await,
            Mishap::NetworkUnavailable => {
                let why = "Calico is shutting down on this node";
                nodes::condition(client, node, ["NetworkUnavailable", "True", "CalicoIsDown", why]).await
            }
            Mishap::Annotation(name, value) => nodes::annotation(client, node, name, *value).await,
            Mishap::ClaimPending => Place::of(client, node).await?.claim_pending().await,
            Mishap::NotReserved => Place::of(client, node).await?.not_reserved().await,
            Mishap::BlockExhausted => Place::of(client, node).await?.exhausted().await,
            Mishap::Borrowed(borrower) => Place::of(client, node).await?.borrowed(borrower).await,
            Mishap::OwnVni(vni) => Place::of(client, node).await?.own_vni(*vni).await,
            Mishap::Sandbox(said) => {
                return sandbox::failed(client, node, "web-0", *said, SignedDuration::ZERO).await;
            }
            Mishap::SandboxBefore(said, ago) => {
                return sandbox::failed(client, node, "web-0", *said, *ago).await;
            }
        };
        Ok(vec![one?])
    }
}
