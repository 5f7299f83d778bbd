//! Step 1: the picture the other steps work from.

use jiff::Timestamp;
use tracing::warn;
use wn_api::names::SINGLETON;
use wn_plan::observed::{Config, Topic};

use crate::context::Context;
use crate::error::Error;

/// What is to be reconciled, if anything.
pub struct Task {
    /// The `WindowsNodeConfig` as observed.
    pub config: Config,
    /// The time of the pass.
    pub now: Timestamp,
}

/// Starts a pass; `None` without a `WindowsNodeConfig`.
pub async fn observe(context: &Context) -> Option<Task> {
    if context.world.take_version_stale() {
        let version = context.apis.client().apiserver_version().await;
        let version = version
            .inspect_err(|error| warn!(%error, "the API server's version is unknown"))
            .ok();
        context
            .world
            .set_kubernetes(version.and_then(|v| v.git_version.parse().ok()));
    }
    let config = context.world.read(|observed| observed.config.clone())?;
    Some(Task {
        config,
        now: Timestamp::now(),
    })
}

/// Reads the `WindowsNodeConfig` itself. Watches of different resources are not in step: a new leader could see what the one
/// before it wrote to Calico, and not yet the original values that it stored first.
pub async fn latest_config(context: &Context) -> Result<(), Error> {
    let Some(api) = context.apis.api(Topic::Config) else {
        return Ok(());
    };
    let found = api.get_opt(SINGLETON).await;
    let found = found.map_err(|e| Error::new("WindowsNodeConfig default", e))?;
    if let Some(found) = found {
        context.world.put(Topic::Config, &found);
    }
    Ok(())
}
