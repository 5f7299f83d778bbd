//! Writing the status of the `WindowsNodeConfig`, only when it differs.

use kube::api::{Patch, PatchParams};
use serde_json::json;
use wn_api::WindowsNodeConfig;
use wn_api::names::{self, managers};
use wn_api::status::WindowsNodeConfigStatus;

use crate::context::Context;
use crate::error::Error;
use crate::world::Topic;

/// Writes the status if it differs from the stored one; says whether it did.
pub async fn write(
    context: &Context,
    config: &WindowsNodeConfig,
    status: &WindowsNodeConfigStatus,
) -> Result<bool, Error> {
    let stored = context
        .world
        .read(|o| o.readable().and_then(|c| c.status.clone()));
    if stored.or_else(|| config.status.clone()).as_ref() == Some(status) {
        return Ok(false);
    }
    patch(context, status).await?;
    Ok(true)
}

pub async fn patch(context: &Context, status: &WindowsNodeConfigStatus) -> Result<(), Error> {
    let Some(api) = context.apis.api(Topic::Config) else {
        return Ok(());
    };
    let body = json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "metadata": { "name": names::SINGLETON },
        "status": status,
    });
    let params = PatchParams::apply(managers::STATUS).force();
    let stored = api
        .patch_status(names::SINGLETON, &params, &Patch::Apply(&body))
        .await;
    let stored = stored.map_err(|e| Error::new("status of WindowsNodeConfig default", e))?;
    context.metrics.status_written();
    if let Ok(value) = serde_json::to_value(&stored) {
        context.world.put(Topic::Config, &value);
    }
    Ok(())
}
