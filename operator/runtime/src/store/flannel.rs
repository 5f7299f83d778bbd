//! Writes to flannel's configuration: one text of JSON in a ConfigMap, of which single fields are changed.

use kube::api::Patch;
use serde_json::{Map, Value, json};
use wn_api::names::flannel::{CONFIG_MAP, NET_CONF_KEY};
use wn_api::names::managers;
use wn_plan::calico::{Action, Write};
use wn_plan::json_text;
use wn_plan::observed::Topic;
use wn_plan::observed::flannel::TEXT;

use crate::apis::merge_as;
use crate::context::Context;
use crate::error::Error;

/// Server-side apply knows the text as a whole only, so it is patched as whoever edits it does; the version is the one
/// that was decided on, and the API server refuses the patch when there is a newer one.
pub async fn write(context: &Context, write: &Write) -> Result<(), Error> {
    let what = "ConfigMap kube-flannel/kube-flannel-cfg";
    let not_served = || Error::NotServed {
        what: what.to_owned(),
    };
    let api = context.apis.api(Topic::Flannel).ok_or_else(not_served)?;
    let (fields, version) = match &write.action {
        Action::Apply {
            spec,
            resource_version,
        }
        | Action::Restore {
            spec,
            resource_version,
        } => (spec, resource_version),
        // It is flannel's: never made, never deleted.
        Action::Create { .. } | Action::Delete { .. } => return Err(not_served()),
    };
    let text = context.world.read(|observed| {
        let object = observed.flannel.as_ref()?;
        (object.resource_version == *version).then_some(())?;
        edited(object.text(TEXT), fields)
    });
    // Gone or changed since it was decided on.
    let text = text.ok_or_else(|| Error::stale(what))?;
    let body = json!({ "metadata": { "resourceVersion": version }, "data": { (NET_CONF_KEY): text } });
    let params = merge_as(managers::FLANNEL);
    let stored = api.patch(CONFIG_MAP, &params, &Patch::Merge(&body)).await;
    let stored = stored.map_err(|e| Error::new(what, e))?;
    tracing::info!(object = what, changes = ?write.changes.iter().map(wn_plan::status::describe).collect::<Vec<_>>(), "flannel written");
    context.world.put(Topic::Flannel, &stored);
    Ok(())
}

/// Null takes a field away.
fn edited(text: &str, fields: &Map<String, Value>) -> Option<String> {
    fields.iter().try_fold(text.to_owned(), |text, (field, value)| {
        json_text::with(&text, field, Some(value).filter(|v| !v.is_null()), "")
    })
}
