//! Our finalizer on the `WindowsNodeConfig`; other finalizers are not touched.

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use wn_api::WindowsNodeConfig;
use wn_api::names::{self, managers};
use wn_plan::observed::Topic;

use crate::apis::merge_as;
use crate::context::Context;
use crate::error::Error;

const WHAT: &str = "finalizer of WindowsNodeConfig default";

/// Does the object have the operator's finalizer?
pub fn stands(config: &WindowsNodeConfig) -> bool {
    config.finalizers().iter().any(|f| f == names::FINALIZER)
}

/// Adds the finalizer unless it is there.
///
/// # Errors
/// If the API server refuses it or does not answer.
pub async fn add(context: &Context, config: &WindowsNodeConfig) -> Result<(), Error> {
    let Some(api) = context.apis.api(Topic::Config).filter(|_| !stands(config)) else {
        return Ok(());
    };
    let body = json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": names::KIND,
        "metadata": { "name": names::SINGLETON, "uid": config.metadata.uid, "finalizers": [names::FINALIZER] },
    });
    let params = PatchParams::apply(managers::FINALIZER).force();
    let stored = api.patch(names::SINGLETON, &params, &Patch::Apply(&body)).await;
    let stored = stored.map_err(|e| Error::new(WHAT, e))?;
    context.world.put(Topic::Config, &stored);
    Ok(())
}

/// Removes it whoever put it there: `kubectl create` of a saved object makes it kubectl's, and an apply of ours without it
/// would leave it. The list that remains is pinned to the version it was read from.
pub async fn remove(context: &Context, config: &WindowsNodeConfig) -> Result<(), Error> {
    let Some(api) = context.apis.api(Topic::Config) else {
        return Ok(());
    };
    let found = api
        .get_opt(names::SINGLETON)
        .await
        .map_err(|e| Error::new(WHAT, e))?;
    // Deleted, or deleted and created again, before the watch delivered its deletion.
    let Some(found) = found.filter(|f| f.metadata.uid == config.metadata.uid) else {
        return Ok(());
    };
    let rest: Vec<_> = found
        .finalizers()
        .iter()
        .filter(|f| *f != names::FINALIZER)
        .collect();
    if rest.len() == found.finalizers().len() {
        return Ok(());
    }
    let body = json!({
        "metadata": {
            "uid": found.metadata.uid,
            "resourceVersion": found.metadata.resource_version,
            "finalizers": rest,
        },
    });
    let params = merge_as(managers::FINALIZER);
    let removed = api.patch(names::SINGLETON, &params, &Patch::Merge(body)).await;
    match removed.map_err(|e| Error::new(WHAT, e)) {
        Err(error) if !error.is_gone() => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
