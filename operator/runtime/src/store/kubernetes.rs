//! Writes to custom resources.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use wn_api::calico::ConfigKind;
use wn_api::names::managers;
use wn_plan::calico::{Action, Write};
use wn_plan::observed::Topic;

use crate::apis::merge_as;
use crate::context::Context;
use crate::error::Error;

const fn manager(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::IpamConfiguration => managers::IPAM,
        ConfigKind::IpPool => managers::IP_POOL,
        ConfigKind::FelixConfiguration => managers::FELIX,
        ConfigKind::Installation => managers::INSTALLATION,
        ConfigKind::FlannelConfiguration => managers::FLANNEL,
    }
}

/// Where objects of a kind are written, and what to say beside the name of one when that fails.
const fn place(kind: ConfigKind) -> (Topic, &'static str) {
    match kind {
        ConfigKind::Installation => (
            Topic::Installation,
            " (allow it with the chart value tigeraOperator.enabled=true)",
        ),
        ConfigKind::IpamConfiguration
        | ConfigKind::IpPool
        | ConfigKind::FelixConfiguration
        | ConfigKind::FlannelConfiguration => (Topic::Calico(kind), ""),
    }
}

/// Writes one object through the API server.
pub async fn write(context: &Context, write: &Write) -> Result<(), Error> {
    if write.kind == ConfigKind::FlannelConfiguration {
        return super::flannel::write(context, write).await;
    }
    let (topic, hint) = place(write.kind);
    let what = format!("{} {}{hint}", write.kind.as_str(), write.name);
    let (Some(api), Some(resource)) = (context.apis.api(topic), context.apis.resource(topic)) else {
        return Err(Error::NotServed { what });
    };
    let manager = manager(write.kind);
    let head = |version: Option<&str>| {
        let mut metadata = json!({ "name": write.name });
        if let Some(version) = version {
            metadata["resourceVersion"] = json!(version);
        }
        json!({ "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata })
    };
    let stored: DynamicObject = match &write.action {
        Action::Create { spec } => {
            let mut body = head(None);
            body["spec"] = Value::Object(spec.clone());
            let object =
                serde_json::from_value(body).map_err(|e| Error::new(&what, kube::Error::SerdeError(e)))?;
            let params = PostParams {
                field_manager: Some(manager.to_owned()),
                ..PostParams::default()
            };
            api.create(&params, &object)
                .await
                .map_err(|e| Error::new(&what, e))?
        }
        Action::Apply {
            spec,
            resource_version,
        } => {
            let mut body = head(Some(resource_version));
            body["spec"] = Value::Object(spec.clone());
            // Forced: an unforced apply always conflicts with Calico's own plain updates. Whose field
            // may be taken was decided on managedFields, and the resource version pins that decision.
            let params = PatchParams::apply(manager).force().validation_strict();
            api.patch(&write.name, &params, &Patch::Apply(&body))
                .await
                .map_err(|e| Error::new(&what, e))?
        }
        Action::Restore {
            spec,
            resource_version,
        } => {
            let body = json!({ "metadata": { "resourceVersion": resource_version }, "spec": spec });
            api.patch(&write.name, &merge_as(manager), &Patch::Merge(&body))
                .await
                .map_err(|e| Error::new(&what, e))?
        }
        Action::Delete {
            uid,
            resource_version,
        } => {
            let preconditions = Preconditions {
                uid: Some(uid.clone()),
                resource_version: Some(resource_version.clone()),
            };
            let params = DeleteParams::default().preconditions(preconditions);
            api.delete(&write.name, &params)
                .await
                .map_err(|e| Error::new(&what, e))?;
            context.world.remove(topic, &(String::new(), write.name.clone()));
            return Ok(());
        }
    };
    context.world.put(topic, &stored);
    Ok(())
}
