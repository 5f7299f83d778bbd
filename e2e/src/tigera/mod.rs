//! tigera/operator, as far as Windows nodes have to do with it: it fills in defaults, makes pools of its Installation, and
//! renders its Windows agent when everything it asks for is there, saying what is not in TigeraStatus `calico-windows`.
//! TigeraStatus `calico` says why it does nothing for anybody.
//!
//! Invariant: no rule is taken from the operator under test. Files named are those of tigera/operator's
//! `pkg/controller/installation` and `pkg/render`, unless a folder is given.

mod core;
mod objects;
mod render;
mod status;
mod validation;
mod windows;

use std::time::Duration;

use anyhow::Result;
use kube::Client;
use tokio::task::JoinHandle;

/// Watches are not imitated: it looks at everything this often.
const PACE: Duration = Duration::from_millis(250);

/// Runs until it is dropped.
pub struct Tigera {
    task: JoinHandle<()>,
}

impl Tigera {
    /// Its CRDs and namespaces must exist; Calico's kinds are those of the API that is served.
    pub fn start(client: Client) -> Self {
        let task = tokio::spawn(async move {
            loop {
                if let Err(error) = reconcile(&client).await {
                    tracing::debug!(error = format!("{error:#}"), "tigera: will retry");
                }
                tokio::time::sleep(PACE).await;
            }
        });
        Self { task }
    }
}

impl Drop for Tigera {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn reconcile(client: &Client) -> Result<()> {
    let world = objects::World::of(client).await?;
    core::reconcile(&world).await?;
    // What the core controller wrote, the other one sees.
    let world = objects::World::of(client).await?;
    windows::reconcile(&world).await
}
