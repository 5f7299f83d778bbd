//! Deletion of the `WindowsNodeConfig`: DaemonSets and ConfigMaps are deleted, marks are removed from Nodes, original values
//! are restored, and then the finalizer is removed.
//!
//! Invariant: deletion ends. A step that fails is retried for `PATIENCE`; what is left then is named in Events.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use wn_api::WindowsNodeConfig;
use wn_api::calico::ConfigKind;
use wn_api::names::labels::KUBE_PROXY_GROUP;
use wn_api::names::{NODE_CONDITION, READINESS_TAINT};
use wn_api::reasons::{Reason, events};
use wn_api::spec::{DeletionPolicy, Mode};
use wn_api::status::Original;

use crate::calico::restore::{Restoration, restoration};
use crate::calico::{api, datastore};
use crate::field::{FieldId, shown};
use crate::news::News;
use crate::observed::{Config, NodeFacts, Observed, OwnObject, originals};
use crate::unread;

/// Long enough for the steps of a migration and a restart of the API server. Whoever deletes the object wants it gone
/// after that, and the Events say what is left to do by hand.
pub const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// Nodes named in Events, one each; the others are counted in one more.
const NAMED_NODES: usize = 50;

/// How long a deletion takes already.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed(SignedDuration);

impl Elapsed {
    /// Zero for an object that is not being deleted.
    pub fn of(config: &WindowsNodeConfig, now: Timestamp) -> Self {
        let deleted = config.metadata.deletion_timestamp.as_ref();
        Self(deleted.map_or(SignedDuration::ZERO, |time| now.duration_since(time.0)))
    }

    /// What is left is no longer waited for.
    pub fn is_late(self) -> bool {
        self.0 > PATIENCE
    }

    /// May a lost race be retried? Not for ever, because somebody may never stop writing.
    pub fn may_race(self) -> bool {
        self.0 <= PATIENCE * 2
    }
}

/// Something that could not be undone.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Remainder {
    /// Events for the day when patience is over: what is left, why, and how a person undoes it.
    pub news: Vec<News>,
    /// The same for the status, while it is tried again.
    pub message: String,
    /// It waits for something that is watched, and is no failure.
    pub waits: bool,
}

impl Remainder {
    fn not_removed(message: String, notes: impl IntoIterator<Item = String>) -> Self {
        let news = |note| News::warning(events::NOT_REMOVED, note);
        Self {
            news: notes.into_iter().map(news).collect(),
            message,
            waits: false,
        }
    }
}

/// What deletion does first.
#[derive(Debug, Eq, PartialEq)]
pub enum First {
    /// Nothing yet: why.
    Wait(String),
    /// Undo what the operator did.
    Undo,
    /// Nothing is undone: what is left.
    Leave(Vec<Remainder>),
}

/// Decides whether deletion begins, waits for what cannot be read, or leaves everything (`mode: Observe`).
pub fn first(config: &Config, observed: &Observed, elapsed: Elapsed) -> First {
    let unread = unread::essential(&observed.unread).filter(|_| !elapsed.is_late());
    match (unread, config.object().spec.mode) {
        (Some(finding), _) => First::Wait(finding.message),
        (None, Mode::Manage) => First::Undo,
        (None, Mode::Observe) => First::Leave(untouched(config.object(), observed)),
    }
}

/// What `Observe` leaves, because it writes nothing. The operator's DaemonSets go with their owner.
fn untouched(config: &WindowsNodeConfig, observed: &Observed) -> Vec<Remainder> {
    let why = "mode is Observe";
    let nodes = cleanups(&observed.nodes);
    let notes = nodes.take(NAMED_NODES).map(|(node, _)| kept(&node, why));
    let mut left = vec![Remainder::not_removed(why.to_owned(), notes)];
    if restores(config) {
        left.push(not_restored(config, observed, why.to_owned(), true));
    }
    left
}

/// What is left of an object: it was deleted and `Ok` lists the finalizers that hold it, or the deletion failed.
pub fn of_object(object: &OwnObject, deleted: Result<&[String], String>) -> Option<Remainder> {
    let (message, advice, waits) = match deleted {
        Ok([]) => return None,
        Ok(finalizers) => {
            let held = finalizers.join(", ");
            let message = format!("{object} is being deleted, and finalizers of others hold it: {held}");
            (message, "let their controllers finish, or remove them", true)
        }
        Err(error) => (error, "delete it by hand", false),
    };
    let note = format!("{message}: {advice}");
    Some(Remainder {
        waits,
        ..Remainder::not_removed(message, [note])
    })
}

/// What deletion removes from a Node besides the operator's condition and annotation, which it always removes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NodeCleanup {
    /// The readiness taint, if the operator set it.
    pub taint: bool,
    /// Label `KUBE_PROXY_GROUP`.
    pub label: bool,
}

/// Nodes that may have the operator's condition, annotations, taint or label. `unanswered`: nodes that a write was sent to
/// whose answer was lost.
pub fn nodes_to_clean(unanswered: Vec<String>, observed: &Observed) -> BTreeMap<String, NodeCleanup> {
    let any = NodeCleanup {
        taint: true,
        label: true,
    };
    let unanswered = unanswered.into_iter().map(|node| (node, any));
    unanswered.chain(cleanups(&observed.nodes)).collect()
}

fn cleanups(nodes: &BTreeMap<String, NodeFacts>) -> impl Iterator<Item = (String, NodeCleanup)> {
    nodes.iter().filter_map(|(name, facts)| {
        let cleanup = NodeCleanup {
            taint: facts.tainted && facts.taint_is_ours,
            label: facts.labels.get(KUBE_PROXY_GROUP).is_some(),
        };
        facts.is_marked().then(|| (name.clone(), cleanup))
    })
}

/// A write to a Node does not end: nothing was removed from Nodes.
pub fn of_busy_nodes(error: String) -> Remainder {
    let note = format!("{error}: Nodes may keep condition {NODE_CONDITION} and taint {READINESS_TAINT}");
    Remainder::not_removed(error, [note])
}

/// Nodes that could not be cleaned, each with its error.
pub fn of_nodes(failed: &BTreeMap<String, String>) -> Option<Remainder> {
    let first = failed.values().next()?.clone();
    let named = failed.iter().take(NAMED_NODES);
    let named = named.map(|(node, error)| kept(node, error));
    let more = failed.len().saturating_sub(NAMED_NODES);
    let more = (more > 0).then(|| format!("{more} more Nodes keep the operator's condition or taint"));
    Some(Remainder::not_removed(first, named.chain(more)))
}

fn kept(node: &str, why: &str) -> String {
    format!(
        "Node {node} keeps condition {NODE_CONDITION} and may keep taint {READINESS_TAINT} ({why}): remove the taint with \
         `kubectl taint node {node} {READINESS_TAINT}-`"
    )
}

/// Are original values to be restored now? While an agent may run, Calico stays as it needs it. `objects_left`: a DaemonSet
/// or ConfigMap of this operator is still there.
pub fn may_restore(config: &WindowsNodeConfig, objects_left: bool, elapsed: Elapsed) -> bool {
    restores(config) && (!objects_left || elapsed.is_late())
}

fn restores(config: &WindowsNodeConfig) -> bool {
    config.spec.deletion_policy == DeletionPolicy::Restore
}

/// How original values are restored now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restore {
    /// The writes, and what they leave.
    pub restoration: Restoration,
    /// Why it is not complete when all writes are made.
    pub waits: Option<String>,
}

/// How the original values are restored now, without regard to what was undone before.
pub fn restore(config: &WindowsNodeConfig, observed: &Observed) -> Restore {
    let originals = originals(config);
    if originals.is_empty() {
        return Restore::default();
    }
    let waits = |why| Restore {
        waits: Some(why),
        ..Restore::default()
    };
    // Where Calico is not installed any more there is nothing to restore, which `restoration` sees.
    let missing = datastore::finding(&config.spec.calico.datastore, observed);
    if let Some(missing) = missing.filter(|f| f.reason != Reason::CalicoNotInstalled) {
        return waits(missing.message);
    }
    let of_calico = |o: &Original| ConfigKind::OF_CALICO.contains(&o.kind);
    if api::pause(&observed.calico).is_some() && originals.iter().any(of_calico) {
        return waits(
            "Calico must not be written now (migration, or datastore not ready): waiting to restore it"
                .to_owned(),
        );
    }
    let mut restoration = restoration(originals, observed);
    // Only reached when patience is over: what could be read is restored.
    let unread = unread::essential(&observed.unread).map(|finding| finding.message);
    Restore {
        waits: unread.or(restoration.held.take()),
        restoration,
    }
}

impl Restore {
    /// The Events when all writes are made: what is left as it is, and why.
    pub fn news(&self) -> impl Iterator<Item = News> {
        let left = self.restoration.left.iter();
        left.map(|left| News::warning(events::NOT_RESTORED, format!("left as it is: {left}")))
    }
}

/// Names each field that a person must restore. `waits` as of `Remainder`.
pub fn not_restored(config: &WindowsNodeConfig, observed: &Observed, why: String, waits: bool) -> Remainder {
    let is_restored = |o: &&Original| {
        let object = observed.object(o.kind, &o.name);
        let current = object.map(|object| object.spec.get(&o.field));
        o.previous.as_ref() == Some(&o.applied) || current == Some(o.previous.as_ref())
    };
    let left = originals(config).iter().filter(|o| !is_restored(o));
    let news = left.map(|original| {
        let previous = match original.unknown {
            true => "not known".to_owned(),
            false => shown(original.previous.as_ref()),
        };
        let field = FieldId::of(original);
        let note = format!("{field} could not be restored ({why}): its original value was {previous}");
        News::warning(events::NOT_RESTORED, note)
    });
    Remainder {
        news: news.collect(),
        message: why,
        waits,
    }
}

/// What follows an attempt.
#[derive(Debug, Eq, PartialEq)]
pub enum Next {
    /// Try again.
    Wait {
        /// What it waits for, for the status.
        message: String,
        /// The attempt failed: retry with growing pauses instead of a fixed one.
        failed: bool,
    },
    /// Publish these and remove the finalizer.
    Finish(Vec<News>),
}

/// Decides whether to try again or to remove the finalizer. `left`: what could not be undone.
pub fn next(config: &Config, left: Vec<Remainder>, elapsed: Elapsed) -> Next {
    match left.first() {
        Some(first) if !elapsed.is_late() => Next::Wait {
            message: first.message.clone(),
            failed: left.iter().any(|l| !l.waits),
        },
        Some(_) | None => Next::Finish(finish(config, left)),
    }
}

/// The Events with which deletion ends.
pub fn finish(config: &Config, left: Vec<Remainder>) -> Vec<News> {
    let left = left.into_iter().flat_map(|l| l.news);
    left.chain(unreadable_originals(config)).collect()
}

/// Entries of the originals that do not fit the types: a newer version of this operator wrote them.
fn unreadable_originals(config: &Config) -> impl Iterator<Item = News> {
    let originals = match config {
        Config::Unreadable(found) if restores(&found.config) => &found.originals[..],
        Config::Unreadable(_) | Config::Readable(_) => &[],
    };
    originals.iter().map(|original| {
        let note =
            format!("an entry of status.calico.originals could not be read and was not restored: {original}");
        News::warning(events::NOT_RESTORED, note)
    })
}

#[cfg(test)]
#[path = "deletion_tests.rs"]
mod tests;
