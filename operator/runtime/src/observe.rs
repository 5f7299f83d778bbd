//! Step 1: the picture the other steps work from.

use jiff::Timestamp;
use tracing::warn;
use wn_plan::observed::Config;

use crate::context::Context;

/// What is to be reconciled, if anything.
pub struct Task {
    pub config: Config,
    pub now: Timestamp,
}

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
