//! Deletion: our DaemonSets go, Calico is given back, the finalizer falls. Never for ever: a Calico that is
//! gone is not waited for, and one that refuses only until `PATIENCE` is over.

use futures::TryStreamExt;
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::reasons::{Reason, events};
use wn_api::spec::{DeletionPolicy, Mode};
use wn_api::status::Original;
use wn_plan::calico::{api, datastore, restore};
use wn_plan::field::FieldId;
use wn_plan::observed::Observed;
use wn_plan::status::{self, describe};

use crate::apply;
use crate::context::{Context, Next};
use crate::error::Error;
use crate::nodes::unmark;
use crate::{status_writer, store};

/// Long enough for a migration's steps and an API server's restart; after that a person who deletes the
/// object wants it gone, and the Events say what is left to do by hand.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
const POLL: SignedDuration = SignedDuration::from_secs(15);

pub async fn finalize(context: &Context, config: &WindowsNodeConfig, now: Timestamp) -> Result<Next, Error> {
    match (config.spec.mode, config.spec.deletion_policy) {
        (Mode::Manage, policy) => {
            delete_objects(context).await?;
            unmark_nodes(context).await?;
            if policy == DeletionPolicy::Restore
                && let Some(next) = restore(context, config, now).await?
            {
                return Ok(next);
            }
        }
        (Mode::Observe, DeletionPolicy::Restore) => surrender(context, config, "mode is Observe").await,
        (Mode::Observe, DeletionPolicy::Retain) => {}
    }
    match apply::set_finalizer(context, config, false).await {
        Err(error) if error.is_gone() => Ok(Next::Wait),
        done => done.map(|()| Next::Wait),
    }
}

pub fn is_patient(config: &WindowsNodeConfig, now: Timestamp) -> bool {
    let deleted = config.metadata.deletion_timestamp.as_ref();
    deleted.is_none_or(|t| now.duration_since(t.0) <= PATIENCE)
}

/// Says what deletion waits for.
pub async fn wait(
    context: &Context,
    config: &WindowsNodeConfig,
    reason: &str,
    now: Timestamp,
) -> Result<Next, Error> {
    status_writer::write(context, config, &status::restoring(config, reason, now)).await?;
    Ok(Next::At(now + POLL))
}

async fn delete_objects(context: &Context) -> Result<(), Error> {
    let objects: Vec<_> = context.world.read(|o| o.ours.keys().cloned().collect());
    for object in objects {
        apply::delete_object(context, &object).await?;
    }
    Ok(())
}

/// Requests under way at once.
const CONCURRENCY: usize = 8;

/// Takes our conditions and taints off the Nodes.
async fn unmark_nodes(context: &Context) -> Result<(), Error> {
    // A mark that lands after this would stay for ever.
    context.nodes.rest().await;
    let marked: Vec<_> = context.world.read(|o| {
        let ours = o
            .nodes
            .iter()
            .filter(|(_, n)| n.said.is_some() || n.taint_is_ours);
        ours.map(|(name, n)| (name.clone(), n.tainted && n.taint_is_ours))
            .collect()
    });
    let api = Api::all(context.apis.client());
    futures::stream::iter(marked.into_iter().map(Ok))
        .try_for_each_concurrent(CONCURRENCY, |(name, tainted)| {
            let api = api.clone();
            async move {
                let done = unmark(&api, &name, tainted).await;
                done.map_err(|e| Error::new(format!("condition of Node {name}"), e))
            }
        })
        .await
}

/// Gives Calico back, or gives up when patience is over; `Some` when it is to be tried again.
async fn restore(
    context: &Context,
    config: &WindowsNodeConfig,
    now: Timestamp,
) -> Result<Option<Next>, Error> {
    let patient = is_patient(config, now);
    let why = match give_back(context, config).await {
        Ok(None) => return Ok(None),
        Ok(Some(reason)) if patient => return wait(context, config, &reason, now).await.map(Some),
        Err(error) if patient => {
            if !error.is_stale() {
                let status = status::restoring(config, &error.to_string(), now);
                status_writer::write(context, config, &status).await?;
            }
            return Err(error);
        }
        Ok(Some(wait)) => wait,
        Err(error) => error.to_string(),
    };
    surrender(context, config, &why).await;
    Ok(None)
}

/// Gives Calico back; `Some` says what it has to wait for.
async fn give_back(context: &Context, config: &WindowsNodeConfig) -> Result<Option<String>, Error> {
    let originals = originals(config);
    // What is not served is not there to be given back, which the restoration sees.
    let paused = context.world.read(|o| api::pause(&o.calico).is_some());
    let missing = context
        .world
        .read(|o| datastore::finding(&config.spec.calico.datastore, o))
        .filter(|f| f.reason != Reason::CalicoNotInstalled);
    if originals.is_empty() {
        return Ok(None);
    }
    if let Some(missing) = missing {
        return Ok(Some(missing.message));
    }
    if paused && originals.iter().any(|o| ConfigKind::OF_CALICO.contains(&o.kind)) {
        return Ok(Some(
            "Calico must not be written now (migration, or datastore not ready): waiting to give it back"
                .to_owned(),
        ));
    }
    let restoration = context.world.read(|o| restore::restoration(originals, o));
    for write in &restoration.writes {
        store::write(context, write).await?;
        let changes = write.changes.iter().map(describe).collect::<Vec<_>>().join("; ");
        context.events.normal(config, restored(write.kind), changes).await;
    }
    if restoration.held.is_some() {
        return Ok(restoration.held);
    }
    for left in restoration.left {
        context
            .events
            .warning(config, events::NOT_RESTORED, format!("left as it is: {left}"))
            .await;
    }
    Ok(None)
}

const fn restored(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::FlannelConfiguration => events::NETWORK_RESTORED,
        _ => events::CALICO_RESTORED,
    }
}

fn originals(config: &WindowsNodeConfig) -> &[Original] {
    config
        .status
        .as_ref()
        .and_then(|s| s.calico.as_ref())
        .map_or(&[], |c| &c.originals)
}

/// Says field by field what a person must put back.
async fn surrender(context: &Context, config: &WindowsNodeConfig, why: &str) {
    let has_its_own = |o: &Original| {
        let key = (o.kind, o.name.clone());
        let object = |world: &Observed| {
            Some(world.calico.objects.get(&key)?.spec.get(&o.field) == o.previous.as_ref())
        };
        o.previous.as_ref() == Some(&o.applied) || context.world.read(object).unwrap_or_default()
    };
    for original in originals(config).iter().filter(|o| !has_its_own(o)) {
        let previous = wn_plan::field::shown(original.previous.as_ref());
        let note = format!(
            "{} could not be given back ({why}): its value was {previous}",
            FieldId::of(original)
        );
        context.events.warning(config, events::NOT_RESTORED, note).await;
    }
}
