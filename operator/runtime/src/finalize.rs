//! Deletion, step by step as `wn_plan::deletion` decides it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use wn_api::WindowsNodeConfig;
use wn_plan::deletion::{self, Elapsed, First, Next as After, NodeCleanup, Remainder};
use wn_plan::news::{self, News};
use wn_plan::observed::Config;
use wn_plan::status::{Outcome, assemble};

use crate::apply::{self, finalizer};
use crate::context::{Context, Next};
use crate::error::Error;
use crate::nodes::writer::clean;
use crate::{status_writer, store};

/// Between two tries while deletion waits for something that is watched.
const POLL: SignedDuration = SignedDuration::from_secs(15);
/// For one step: one that never ends must not stop the others.
const STEP: Duration = Duration::from_secs(30);
/// Requests under way at once.
const CONCURRENCY: usize = 8;

/// One attempt at a deletion: undoes what it can, then removes the finalizer or waits.
pub async fn finalize(context: &Context, config: &Config, now: Timestamp) -> Result<Next, Error> {
    let object = config.object();
    let elapsed = Elapsed::of(object, now);
    let first = context
        .world
        .read(|observed| deletion::first(config, observed, elapsed));
    let after = match first {
        First::Wait(message) => After::Wait {
            message,
            failed: false,
        },
        First::Undo => deletion::next(config, undo(context, object, elapsed).await?, elapsed),
        First::Leave(left) => After::Finish(deletion::finish(config, left)),
    };
    match after {
        After::Wait { message, failed } => {
            let message = message.as_str();
            let status = assemble(object, Outcome::Restoring { message }, now);
            status_writer::write(context, object, &status).await?;
            Ok(if failed { Next::Retry } else { Next::At(now + POLL) })
        }
        After::Finish(news) => {
            publish(context, object, news).await;
            finalizer::remove(context, object).await.map(|()| Next::Wait)
        }
    }
}

async fn publish(context: &Context, config: &WindowsNodeConfig, news: impl IntoIterator<Item = News>) {
    for news in news {
        context.events.publish(config, news).await;
    }
}

/// Undoes what it can; returns what is left. A lost race is an error and is retried at once.
async fn undo(
    context: &Context,
    config: &WindowsNodeConfig,
    elapsed: Elapsed,
) -> Result<Vec<Remainder>, Error> {
    let mut left = delete_objects(context).await;
    let restores = deletion::may_restore(config, !left.is_empty(), elapsed);
    left.extend(clean_nodes(context).await);
    if restores {
        let (why, waits) = match in_time("what is to be restored", restore(context, config)).await {
            Ok(None) => return Ok(left),
            Ok(Some(why)) => (why, true),
            Err(error) if error.is_stale() && elapsed.may_race() => return Err(error),
            Err(error) => (error.to_string(), false),
        };
        left.push(
            context
                .world
                .read(|observed| deletion::not_restored(config, observed, why, waits)),
        );
    }
    Ok(left)
}

async fn in_time<T>(what: &str, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let answered = tokio::time::timeout(STEP, step).await;
    answered.unwrap_or_else(|_| {
        Err(Error::Silent {
            what: what.to_owned(),
        })
    })
}

async fn delete_objects(context: &Context) -> Vec<Remainder> {
    let objects: Vec<_> = context.world.read(|o| o.ours.keys().cloned().collect());
    let mut left = Vec::new();
    for object in objects {
        let deleted = in_time(&object.to_string(), apply::delete_object(context, &object)).await;
        let deleted = deleted.map_err(|error| error.to_string());
        left.extend(deletion::of_object(
            &object,
            deleted.as_deref().map_err(Clone::clone),
        ));
    }
    left
}

/// Removes conditions, taints and labels from the Nodes.
async fn clean_nodes(context: &Context) -> Option<Remainder> {
    // An update written after this would stay for ever.
    let resting = async {
        context.nodes.rest().await;
        Ok(())
    };
    if let Err(error) = in_time("a write to a Node", resting).await {
        return Some(deletion::of_busy_nodes(error.to_string()));
    }
    let nodes = context
        .world
        .read(|observed| deletion::nodes_to_clean(context.nodes.unanswered(), observed));
    let failed: BTreeMap<_, _> = futures::stream::iter(nodes)
        .map(|(node, cleanup)| clean_in_time(context, node, cleanup))
        .buffer_unordered(CONCURRENCY)
        .filter_map(std::future::ready)
        .collect()
        .await;
    deletion::of_nodes(&failed)
}

/// The node and the error, if there is one.
async fn clean_in_time(context: &Context, node: String, cleanup: NodeCleanup) -> Option<(String, String)> {
    let api = Api::all(context.apis.client());
    let what = format!("condition of Node {node}");
    let cleaned = async {
        let cleaned = clean(&api, &node, cleanup).await;
        cleaned.map_err(|error| Error::new(&what, error))
    };
    let cleaned = in_time(&what, cleaned).await;
    cleaned.err().map(|error| (node.clone(), error.to_string()))
}

/// Restores original values; `Some` says what it waits for.
async fn restore(context: &Context, config: &WindowsNodeConfig) -> Result<Option<String>, Error> {
    let restore = context.world.read(|observed| deletion::restore(config, observed));
    for write in &restore.restoration.writes {
        store::write(context, write).await?;
        context.events.publish(config, news::of_restore(write)).await;
    }
    if restore.waits.is_none() {
        publish(context, config, restore.news()).await;
    }
    Ok(restore.waits)
}
