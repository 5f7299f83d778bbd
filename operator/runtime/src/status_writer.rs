//! Writing the status of the `WindowsNodeConfig`, only when it differs.
//!
//! Invariant: `calico.originals` is written by `originals` alone, under a field manager of its own. No other apply has the
//! field, so that none can drop or overwrite it, whatever list it was decided on.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use wn_api::WindowsNodeConfig;
use wn_api::names::{self, managers};
use wn_api::status::{Original, WindowsNodeConfigStatus};
use wn_plan::observed::{self, Config, Topic};

use crate::context::Context;
use crate::error::Error;

/// Writes the status if it differs from the stored one; says whether it did.
pub async fn write(
    context: &Context,
    config: &WindowsNodeConfig,
    status: &WindowsNodeConfigStatus,
) -> Result<bool, Error> {
    context.metrics.conditions(&status.conditions);
    let stored = context.world.read(|o| {
        let stored = o.config.as_ref().map(Config::object)?;
        (stored.metadata.uid == config.metadata.uid).then(|| stored.status.clone())
    });
    if stored.unwrap_or_else(|| config.status.clone()).as_ref() == Some(status) {
        return Ok(false);
    }
    // Written by a version that had one manager for all: what comes now would drop them.
    let mut entries = config.metadata.managed_fields.iter().flatten();
    let kept = observed::originals(config);
    if !kept.is_empty() && entries.all(|e| e.manager.as_deref() != Some(managers::ORIGINALS)) {
        originals(context, config, kept).await?;
    }
    let mut body = json!(status);
    if let Some(Value::Object(calico)) = body.get_mut("calico") {
        calico.remove("originals");
    }
    apply(context, config, managers::STATUS, body).await?;
    Ok(true)
}

/// Stores what is to be restored.
pub async fn originals(
    context: &Context,
    config: &WindowsNodeConfig,
    list: &[Original],
) -> Result<(), Error> {
    let status = json!({ "calico": { "originals": list } });
    apply(context, config, managers::ORIGINALS, status).await
}

/// The uid keeps what was found out about one object off another one of its name.
async fn apply(
    context: &Context,
    config: &WindowsNodeConfig,
    manager: &str,
    status: Value,
) -> Result<(), Error> {
    let Some(api) = context.apis.api(Topic::Config) else {
        return Ok(());
    };
    let body = json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "metadata": { "name": names::SINGLETON, "uid": config.metadata.uid },
        "status": status,
    });
    let params = PatchParams::apply(manager).force();
    let stored = api
        .patch_status(names::SINGLETON, &params, &Patch::Apply(&body))
        .await;
    let stored = stored.map_err(|e| Error::new("status of WindowsNodeConfig default", e))?;
    context.metrics.status_written();
    context.world.put(Topic::Config, &stored);
    Ok(())
}
