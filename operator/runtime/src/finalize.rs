//! Deletion: deletes our DaemonSets, removes our marks from Nodes, restores Calico, and removes the finalizer.
//!
//! Invariant: it always ends. A step that fails is retried until `PATIENCE` is over; what is left then is named in Events.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::names::{NODE_CONDITION, READINESS_TAINT};
use wn_api::reasons::{Reason, events};
use wn_api::spec::{DeletionPolicy, Mode};
use wn_api::status::Original;
use wn_plan::calico::{api, datastore, restore};
use wn_plan::field::{FieldId, shown};
use wn_plan::observed::{Config, NodeFacts, Observed, originals};
use wn_plan::status::{Outcome, assemble, describe};
use wn_plan::unread;

use crate::apply::{self, finalizer};
use crate::context::{Context, Next};
use crate::error::Error;
use crate::nodes::{NodeMarks, unmark};
use crate::{status_writer, store};

/// Long enough for a migration's steps and an API server's restart; after that a person who deletes the
/// object wants it gone, and the Events say what is left to do by hand.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
const POLL: SignedDuration = SignedDuration::from_secs(15);
/// For one step: what does not answer at all must not stop the others.
const STEP: Duration = Duration::from_secs(30);
/// Requests under way at once.
const CONCURRENCY: usize = 8;
/// Nodes named in Events, one each; the rest is counted in one more.
const NAMED_NODES: usize = 50;

/// Something that could not be taken back.
struct Left {
    /// Reason of its Events.
    event: &'static str,
    /// What is left, why, and how a person takes it back.
    notes: Vec<String>,
    /// The same for the status, in which it is still tried.
    waits: String,
    /// It waits for something that we can see, and is no failure.
    quiet: bool,
}

pub async fn finalize(context: &Context, config: &Config, now: Timestamp) -> Result<Next, Error> {
    let object = config.object();
    let deleted = object.metadata.deletion_timestamp.as_ref();
    let waited = deleted.map_or(SignedDuration::ZERO, |t| now.duration_since(t.0));
    let late = waited > PATIENCE;
    let lacking = context.world.read(|observed| unread::essential(&observed.unread));
    if let Some(finding) = lacking.filter(|_| !late) {
        let message = finding.message.as_str();
        let status = assemble(object, Outcome::Restoring { message }, now);
        status_writer::write(context, object, &status).await?;
        return Ok(Next::At(now + POLL));
    }
    let left = match object.spec.mode {
        Mode::Observe => untouched(context, config),
        Mode::Manage => {
            let left = take_back(context, object, waited).await?;
            if let Some(first) = left.first().filter(|_| !late) {
                let message = first.waits.as_str();
                let status = assemble(object, Outcome::Restoring { message }, now);
                status_writer::write(context, object, &status).await?;
                let quiet = left.iter().all(|l| l.quiet);
                return Ok(if quiet { Next::At(now + POLL) } else { Next::Retry });
            }
            left
        }
    };
    for (event, note) in left
        .into_iter()
        .flat_map(|l| l.notes.into_iter().map(move |note| (l.event, note)))
        .chain(unread(config))
    {
        context.events.warning(object, event, note).await;
    }
    finalizer::remove(context, object).await.map(|()| Next::Wait)
}

/// Takes back what it can; says what is left. A lost race is an error: it is decided anew at once.
async fn take_back(
    context: &Context,
    config: &WindowsNodeConfig,
    waited: SignedDuration,
) -> Result<Vec<Left>, Error> {
    let mut left = delete_objects(context).await;
    // While our agent may run, Calico stays as that needs it.
    let stopped = left.is_empty() || waited > PATIENCE;
    left.extend(unmark_nodes(context).await);
    if stopped && config.spec.deletion_policy == DeletionPolicy::Restore {
        let given_back = in_time("what is to be given back", give_back(context, config)).await;
        match given_back {
            Ok(None) => {}
            Ok(Some(wait)) => left.push(not_restored(context, config, wait, true)),
            // Nor is one lost for ever to somebody who never stops writing.
            Err(error) if error.is_stale() && waited <= PATIENCE * 2 => return Err(error),
            Err(error) => left.push(not_restored(context, config, error.to_string(), false)),
        }
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

async fn delete_objects(context: &Context) -> Vec<Left> {
    let objects: Vec<_> = context.world.read(|o| o.ours.keys().cloned().collect());
    let mut left = Vec::new();
    for object in objects {
        let what = apply::describe(&object);
        let (waits, advice, quiet) = match in_time(&what, apply::delete_object(context, &object)).await {
            Ok(held) if held.is_empty() => continue,
            Ok(held) => {
                let waits = format!(
                    "{what} is being deleted, and finalizers of others hold it: {}",
                    held.join(", ")
                );
                (waits, "let their controllers finish, or remove them", true)
            }
            Err(error) => (error.to_string(), "delete it by hand", false),
        };
        left.push(Left {
            event: events::NOT_REMOVED,
            notes: vec![format!("{waits}: {advice}")],
            waits,
            quiet,
        });
    }
    left
}

/// Nodes that have marks of ours, and those that may have some because an answer was lost.
fn marked_nodes(context: &Context) -> BTreeMap<String, NodeMarks> {
    let any = NodeMarks {
        tainted: true,
        labelled: true,
    };
    let mut all: BTreeMap<_, _> = context
        .nodes
        .unanswered()
        .into_iter()
        .map(|node| (node, any))
        .collect();
    all.extend(context.world.read(|o| marked(&o.nodes)));
    all
}

fn marked(nodes: &BTreeMap<String, NodeFacts>) -> Vec<(String, NodeMarks)> {
    let marks = |n: &NodeFacts| NodeMarks {
        tainted: n.tainted && n.taint_is_ours,
        labelled: n.labels.get(KUBE_PROXY_GROUP).is_some(),
    };
    nodes
        .iter()
        .filter(|(_, n)| n.said.is_some() || n.taint_is_ours || marks(n).labelled)
        .map(|(name, n)| (name.clone(), marks(n)))
        .collect()
}

/// Takes our conditions, taints and labels off the Nodes.
async fn unmark_nodes(context: &Context) -> Option<Left> {
    // A mark that lands after this would stay for ever.
    let resting = async {
        context.nodes.rest().await;
        Ok(())
    };
    if let Err(error) = in_time("a write to a Node", resting).await {
        return Some(Left {
            event: events::NOT_REMOVED,
            notes: vec![format!(
                "{error}: Nodes may keep condition {NODE_CONDITION} and taint {READINESS_TAINT}"
            )],
            waits: error.to_string(),
            quiet: false,
        });
    }
    let api = Api::all(context.apis.client());
    let failed: Vec<_> = futures::stream::iter(marked_nodes(context))
        .map(|(name, marks)| {
            let api = api.clone();
            async move {
                let what = format!("condition of Node {name}");
                let unmarked = async {
                    let done = unmark(&api, &name, marks).await;
                    done.map_err(|e| Error::new(&what, e))
                };
                let unmarked = in_time(&what, unmarked).await;
                unmarked.err().map(|error| (name, error))
            }
        })
        .buffer_unordered(CONCURRENCY)
        .filter_map(std::future::ready)
        .collect()
        .await;
    (!failed.is_empty()).then(|| still_marked(failed))
}

fn still_marked(mut failed: Vec<(String, Error)>) -> Left {
    failed.sort_by(|a, b| a.0.cmp(&b.0));
    let waits = failed
        .first()
        .map(|(_, error)| error.to_string())
        .unwrap_or_default();
    let named = failed.iter().take(NAMED_NODES);
    let mut notes: Vec<_> = named
        .map(|(node, error)| kept_marks(node, &error.to_string()))
        .collect();
    if failed.len() > NAMED_NODES {
        notes.push(format!(
            "{} more Nodes keep our condition or taint",
            failed.len() - NAMED_NODES
        ));
    }
    Left {
        event: events::NOT_REMOVED,
        notes,
        waits,
        quiet: false,
    }
}

fn kept_marks(node: &str, why: &str) -> String {
    format!(
        "Node {node} keeps condition {NODE_CONDITION} and may keep taint {READINESS_TAINT} ({why}): remove the taint with \
         `kubectl taint node {node} {READINESS_TAINT}-`"
    )
}

/// What `Observe` leaves: it writes nothing. Our DaemonSets go with their owner.
fn untouched(context: &Context, config: &Config) -> Vec<Left> {
    let object = config.object();
    let why = "mode is Observe";
    let marked = context.world.read(|o| marked(&o.nodes));
    let named = marked.iter().take(NAMED_NODES);
    let marks = Left {
        event: events::NOT_REMOVED,
        notes: named.map(|(node, _)| kept_marks(node, why)).collect(),
        waits: String::new(),
        quiet: true,
    };
    let restore = object.spec.deletion_policy == DeletionPolicy::Restore;
    let originals = restore.then(|| not_restored(context, object, why.to_owned(), true));
    std::iter::once(marks).chain(originals).collect()
}

/// Says field by field what a person must restore.
fn not_restored(context: &Context, config: &WindowsNodeConfig, why: String, quiet: bool) -> Left {
    let is_restored = |o: &Original| {
        let key = (o.kind, o.name.clone());
        let value = |world: &Observed| {
            Some(world.calico.objects.get(&key)?.spec.get(&o.field) == o.previous.as_ref())
        };
        o.previous.as_ref() == Some(&o.applied) || context.world.read(value).unwrap_or_default()
    };
    let left = originals(config).iter().filter(|o| !is_restored(o));
    let notes = left.map(|original| {
        let previous = match original.unknown {
            true => "not known".to_owned(),
            false => shown(original.previous.as_ref()),
        };
        format!(
            "{} could not be restored ({why}): its value was {previous}",
            FieldId::of(original)
        )
    });
    Left {
        event: events::NOT_RESTORED,
        notes: notes.collect(),
        waits: why,
        quiet,
    }
}

/// Entries of the originals that do not fit our types: a newer version wrote them.
fn unread(config: &Config) -> impl Iterator<Item = (&'static str, String)> {
    let originals = match config {
        Config::Unreadable(found) if found.config.spec.deletion_policy == DeletionPolicy::Restore => {
            &found.originals[..]
        }
        Config::Unreadable(_) | Config::Readable(_) => &[],
    };
    originals.iter().map(|original| {
        let note =
            format!("an entry of status.calico.originals could not be read and was not restored: {original}");
        (events::NOT_RESTORED, note)
    })
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
    let unread = context.world.read(|o| unread::essential(&o.unread));
    let restoration = context.world.read(|o| restore::restoration(originals, o));
    for write in &restoration.writes {
        store::write(context, write).await?;
        let changes = write.changes.iter().map(describe).collect::<Vec<_>>().join("; ");
        context.events.normal(config, restored(write.kind), changes).await;
    }
    // Only reached when patience is over: what could be read is restored.
    if let Some(unread) = unread {
        return Ok(Some(unread.message));
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
