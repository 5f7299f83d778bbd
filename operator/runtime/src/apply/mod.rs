//! Step 4: makes a plan true, in an order in which every prefix leaves the cluster sound: what is to be
//! restored is stored first, and Calico is configured before agents are rolled out.

pub mod finalizer;
mod objects;

use futures::future::join_all;
use jiff::Timestamp;
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::component::Component;
use wn_plan::applied::{Applied, Failure, Part};
use wn_plan::component::ObjectWrite;
use wn_plan::decide::Plan;
use wn_plan::observed::OwnKind;
use wn_plan::status::originals_to_store;

use crate::context::Context;
use crate::error::Error;
use crate::metrics::WHOLE_OBJECT;
use crate::{status_writer, store};

pub use objects::delete as delete_object;

/// Carries out a plan. An error is a lost race only; any other failure is in `Applied`.
pub async fn apply(
    context: &Context,
    config: &WindowsNodeConfig,
    plan: &Plan,
    now: Timestamp,
) -> Result<Applied, Error> {
    let mut applied = Applied::default();
    match prepare(context, config, plan).await {
        Ok(()) => {}
        Err(error) if error.is_stale() => return Err(error),
        Err(error) => {
            fail(context, &mut applied, Part::Own, &error);
            return Ok(applied);
        }
    }
    context.remember(|memory| {
        for field in &plan.calico.given_up {
            memory.flaps.give_up(field.clone(), now);
        }
        for object in &plan.contested {
            memory.flaps.give_up(object, now);
        }
    });
    let outcome = parts(context, plan, &mut applied, now).await;
    match outcome {
        Ok(()) => Ok(applied),
        // Decided on a version that is gone: the newer one is on its way, decide again on that.
        Err((_, error)) if error.is_stale() => Err(error),
        Err((part, error)) => {
            fail(context, &mut applied, part, &error);
            Ok(applied)
        }
    }
}

/// What is stored before the first write to anything else, Nodes included: without it that write could never be
/// taken back.
async fn prepare(context: &Context, config: &WindowsNodeConfig, plan: &Plan) -> Result<(), Error> {
    finalizer::add(context, config).await?;
    match originals_to_store(config, plan) {
        Some(list) => status_writer::originals(context, config, list).await,
        None => Ok(()),
    }
}

fn fail(context: &Context, applied: &mut Applied, part: Part, error: &Error) {
    tracing::warn!(?part, %error, "a write failed");
    context.metrics.apply_error(error);
    applied.failure = Some(Failure {
        part,
        forbidden: error.is_forbidden(),
        message: error.to_string(),
    });
}

const fn part(kind: ConfigKind) -> Part {
    match kind {
        ConfigKind::FlannelConfiguration => Part::Network,
        ConfigKind::IpamConfiguration
        | ConfigKind::IpPool
        | ConfigKind::FelixConfiguration
        | ConfigKind::Installation => Part::Calico,
    }
}

fn applied_object(context: &Context, applied: &mut Applied, write: &ObjectWrite, now: Timestamp) {
    if write.drift {
        context.remember(|memory| memory.flaps.repaired(&write.object, now));
        let kind = format!("{:?}", write.object.kind);
        context.metrics.drift_repaired(&kind, WHOLE_OBJECT);
    }
    applied.objects.push(write.object.clone());
}

async fn parts(
    context: &Context,
    plan: &Plan,
    applied: &mut Applied,
    now: Timestamp,
) -> Result<(), (Part, Error)> {
    // tigera/operator refuses an Installation with Windows, and all of Calico with it, until this is there.
    let endpoint = match &plan.services_endpoint {
        Some(config_map) => objects::create_services_endpoint(context, config_map)
            .await
            .map_err(|e| (Part::Component(Component::NodeAgent), e)),
        None => Ok(()),
    };
    let writes = plan.calico.writes.iter();
    for write in writes.filter(|w| endpoint.is_ok() || w.kind != ConfigKind::Installation) {
        store::write(context, write)
            .await
            .map_err(|e| (part(write.kind), e))?;
        context.remember(|memory| {
            for change in write.changes.iter().filter(|c| c.drifted_by.is_some()) {
                memory.flaps.repaired(change.id.clone(), now);
                context
                    .metrics
                    .drift_repaired(change.id.kind.as_str(), &change.id.field);
            }
        });
        applied.calico.push(write.clone());
    }
    // A pod needs the ConfigMaps it mounts. DaemonSets need nothing of each other.
    for kind in [OwnKind::ConfigMap, OwnKind::DaemonSet] {
        let writes = plan.objects.iter().filter(|w| w.object.kind == kind);
        let stored = join_all(writes.map(async |write| (write, objects::apply(context, write).await))).await;
        let mut failures = Vec::new();
        for (write, outcome) in stored {
            match outcome {
                Ok(()) => applied_object(context, applied, write, now),
                Err(error) => failures.push((Part::Component(write.component), error)),
            }
        }
        if let Some(first) = failures.into_iter().next() {
            return Err(first);
        }
    }
    for (component, object) in &plan.deletions {
        objects::delete(context, object)
            .await
            .map_err(|e| (Part::Component(*component), e))?;
    }
    endpoint
}
