//! Faults of a Windows node that no configuration causes: each is written as the API would show it, and can be undone.
//!
//! Faults of the two agents are injected into the simulated node; all else is written into the cluster as its
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
pub enum NodeFault {
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
    /// The node reboots; its agents do not start again before the repair.
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

/// Undoes a fault. If it is dropped, the fault stays.
#[must_use]
pub struct Repair {
    shared: Arc<Shared>,
    node: String,
    /// Faults were injected into the simulated node.
    faults: bool,
    /// The agents restart.
    restart: bool,
    changes: Vec<Undo>,
}

impl Repair {
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
    pub async fn break_node(&self, node: &str, fault: &NodeFault) -> Result<Repair> {
        let mut repair = Repair {
            shared: Arc::clone(&self.shared),
            node: node.to_owned(),
            faults: false,
            restart: false,
            changes: Vec::new(),
        };
        if let NodeFault::Agents(fault) | NodeFault::Successor(_, fault) = fault {
            self.inject(node, *fault);
            repair.faults = true;
        }
        if let NodeFault::Reboot = fault {
            repair.restart = true;
        }
        repair.changes = self.write(node, fault).await?;
        Ok(repair)
    }

    /// The containers of both agents on `node` have been running for so long.
    pub async fn age(&self, node: &str, ago: SignedDuration) -> Result<()> {
        pods::age(&self.shared.client, node, ago).await
    }

    /// The first container of `app` on `node` was restarted so often, the last time so long ago; it runs again.
    pub async fn crashed(&self, node: &str, app: App, restarts: i64, ago: SignedDuration) -> Result<()> {
        pods::crashed(&self.shared.client, node, app, restarts, ago).await
    }

    async fn write(&self, node: &str, fault: &NodeFault) -> Result<Vec<Undo>> {
        let client = &self.shared.client;
        let one = match fault {
            NodeFault::Agents(_) => return Ok(Vec::new()),
            NodeFault::Successor(app, _) => {
                pods::replace(client, node, *app).await?;
                return Ok(Vec::new());
            }
            NodeFault::Reboot => {
                self.age(node, LONG).await?;
                nodes::reboot(client, node).await?;
                return Ok(Vec::new());
            }
            NodeFault::NotReady(words) => return nodes::kubelet(client, node, "False", words).await,
            NodeFault::Silent => {
                return nodes::kubelet(client, node, "Unknown", words::kubelet::SILENT).await;
            }
            NodeFault::NoBlock => return Place::of(client, node).await?.no_block().await,
            NodeFault::SecondBlock => return Place::of(client, node).await?.second_block().await,
            NodeFault::NoRoom(app) => pods::no_room(client, node, *app).await,
            NodeFault::ImageTag(app, tag) => pods::image(client, node, *app, tag).await,
            NodeFault::Kernel(version) => nodes::info(client, node, "kernelVersion", version).await,
            NodeFault::Runtime(version) => {
                nodes::info(client, node, "containerRuntimeVersion", version).await
            }
            NodeFault::Kubelet(version) => nodes::info(client, node, "kubeletVersion", version).await,
            NodeFault::BootId(id) => nodes::info(client, node, "bootID", id).await,
            NodeFault::MaxPods(pods) => nodes::max_pods(client, node, *pods).await,
            NodeFault::StartupFails => nodes::up_since(client, node, SignedDuration::from_hours(24)).await,
            NodeFault::NetworkUnavailable => {
                let why = "Calico is shutting down on this node";
                nodes::condition(client, node, ["NetworkUnavailable", "True", "CalicoIsDown", why]).await
            }
            NodeFault::Annotation(name, value) => nodes::annotation(client, node, name, *value).await,
            NodeFault::ClaimPending => Place::of(client, node).await?.claim_pending().await,
            NodeFault::NotReserved => Place::of(client, node).await?.not_reserved().await,
            NodeFault::BlockExhausted => Place::of(client, node).await?.exhausted().await,
            NodeFault::Borrowed(borrower) => Place::of(client, node).await?.borrowed(borrower).await,
            NodeFault::OwnVni(vni) => Place::of(client, node).await?.own_vni(*vni).await,
            NodeFault::Sandbox(words) => {
                return sandbox::failed(client, node, "web-0", *words, SignedDuration::ZERO).await;
            }
            NodeFault::SandboxBefore(words, ago) => {
                return sandbox::failed(client, node, "web-0", *words, *ago).await;
            }
        };
        Ok(vec![one?])
    }
}
