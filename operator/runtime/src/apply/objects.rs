//! Writes to objects of ours.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use wn_api::names::{self, managers};
use wn_plan::component::ObjectWrite;
use wn_plan::observed::{OwnKind, OwnObject, Topic};

use crate::context::Context;
use crate::error::Error;

fn api(context: &Context, kind: OwnKind) -> (Topic, Option<Api<DynamicObject>>) {
    match kind {
        OwnKind::ConfigMap => (Topic::ConfigMaps, context.apis.api(Topic::ConfigMaps)),
        OwnKind::DaemonSet => (Topic::DaemonSets, context.apis.own_daemon_sets()),
    }
}

/// Applies a DaemonSet or ConfigMap of the operator.
pub async fn apply(context: &Context, write: &ObjectWrite) -> Result<(), Error> {
    let what = write.object.to_string();
    let (topic, api) = api(context, write.object.kind);
    let api = api.ok_or_else(|| Error::NotServed { what: what.clone() })?;
    let params = PatchParams::apply(write.component.names().manager)
        .force()
        .validation_strict();
    let stored = api
        .patch(&write.object.name, &params, &Patch::Apply(&write.body))
        .await;
    let stored = stored.map_err(|e| Error::new(&what, e))?;
    tracing::info!(object = what, "applied");
    context.world.put(topic, &stored);
    Ok(())
}

/// Deletes; gone already is as good. Says which finalizers of others it is still held by.
pub async fn delete(context: &Context, object: &OwnObject) -> Result<Vec<String>, Error> {
    let (_, api) = api(context, object.kind);
    let Some(api) = api else { return Ok(Vec::new()) };
    match api.delete(&object.name, &DeleteParams::background()).await {
        Ok(deleted) => Ok(deleted
            .left()
            .and_then(|o| o.metadata.finalizers)
            .unwrap_or_default()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(Error::new(object.to_string(), error)),
    }
}

/// Created, never updated: once there it is the user's. Server-side apply with no claim on an existing
/// object's fields, so a race with its real author ends in a conflict and theirs stays.
pub async fn create_services_endpoint(context: &Context, config_map: &Value) -> Result<(), Error> {
    use wn_plan::observed::Source;
    let what = "ConfigMap tigera-operator/kubernetes-services-endpoint (allow it with the chart value tigeraOperator.enabled=true)";
    let topic = Topic::Source(Source::ServicesEndpoint);
    let Some(api) = context.apis.api(topic) else {
        return Ok(());
    };
    let params = PatchParams::apply(managers::NODE_AGENT).validation_strict();
    let name = names::tigera::SERVICES_ENDPOINT;
    match api.patch(name, &params, &Patch::Apply(config_map)).await {
        Ok(stored) => {
            context.world.put(topic, &stored);
            Ok(())
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(Error::new(what, error)),
    }
}
