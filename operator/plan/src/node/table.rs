//! The verdicts on all nodes, kept small and kept current node by node.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use wn_api::node_reasons::NodeReason;

use super::check::View;
use super::cluster_context::ClusterContext;
use super::verdict::{State, Verdict, verdict};
use crate::observed::{NodeFacts, Observed};

/// What is kept of a verdict: its full text is made again for the few nodes that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// State of the node.
    pub state: State,
    /// Reason of the verdict; `None` for a node that is ready.
    pub reason: Option<NodeReason>,
    /// What else was found, by rank; advice included.
    pub others: Box<[NodeReason]>,
    /// Since when the node has this reason.
    pub since: Timestamp,
    /// Digest of the message, to see that it changed.
    digest: u64,
    recheck: Option<Timestamp>,
}

/// The outcome of judging a node once more.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// State and reason before; `None` for a node not seen before.
    pub was: Option<(State, Option<NodeReason>)>,
    /// `None` for a node that is gone.
    pub verdict: Option<Verdict>,
    /// State, reason or words differ from before.
    pub changed: bool,
}

/// Verdicts of all nodes, by name, and when each may change by time alone.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: BTreeMap<String, Entry>,
    rechecks: BTreeSet<(Timestamp, String)>,
}

impl Table {
    /// Names and entries, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The entry of a node; `None` for a node that was not checked.
    pub fn get(&self, node: &str) -> Option<&Entry> {
        self.entries.get(node)
    }

    /// When the next verdict may change by time alone.
    pub fn next(&self) -> Option<Timestamp> {
        self.rechecks.first().map(|(at, _)| *at)
    }

    /// Nodes whose time has come.
    pub fn due(&self, now: Timestamp) -> Vec<String> {
        self.rechecks
            .iter()
            .take_while(|(at, _)| *at <= now)
            .map(|(_, node)| node.clone())
            .collect()
    }

    /// Checks one node.
    pub fn judge(
        &mut self,
        node: &str,
        observed: &Observed,
        cluster: &ClusterContext,
        now: Timestamp,
    ) -> Judgement {
        let old = self.entries.remove(node);
        let was = old.as_ref().map(|e| (e.state, e.reason));
        if let Some(at) = old.as_ref().and_then(|e| e.recheck) {
            self.rechecks.remove(&(at, node.to_owned()));
        }
        let Some(facts) = observed.nodes.get(node) else {
            let changed = was.is_some();
            return Judgement {
                was,
                verdict: None,
                changed,
            };
        };
        let before = old
            .as_ref()
            .map(|e| (e.reason, e.since))
            .or_else(|| stored(facts))
            .and_then(|(reason, at)| Some((reason?, at)));
        let verdict = verdict(&View::of(node, facts, observed, cluster, before, now));
        let entry = entry(&verdict, old.as_ref(), stored(facts), now);
        let changed =
            old.is_none_or(|o| (o.state, o.reason, o.digest) != (entry.state, entry.reason, entry.digest));
        if let Some(at) = entry.recheck {
            self.rechecks.insert((at, node.to_owned()));
        }
        self.entries.insert(node.to_owned(), entry);
        Judgement {
            was,
            verdict: Some(verdict),
            changed,
        }
    }

    /// The full verdict on a node, to be shown.
    pub fn full(
        &self,
        node: &str,
        observed: &Observed,
        cluster: &ClusterContext,
        now: Timestamp,
    ) -> Option<Verdict> {
        let entry = self.entries.get(node)?;
        let before = entry.reason.map(|reason| (reason, entry.since));
        let facts = observed.nodes.get(node)?;
        Some(verdict(&View::of(node, facts, observed, cluster, before, now)))
    }
}

/// Reason and time our condition on the Node has, of a time we do not remember.
fn stored(facts: &NodeFacts) -> Option<(Option<NodeReason>, Timestamp)> {
    let stored = facts.condition.as_ref()?;
    let reason = NodeReason::ALL
        .iter()
        .copied()
        .find(|r| r.as_str() == stored.reason);
    Some((reason, stored.since?))
}

fn entry(
    verdict: &Verdict,
    old: Option<&Entry>,
    stored: Option<(Option<NodeReason>, Timestamp)>,
    now: Timestamp,
) -> Entry {
    let reason = verdict.cause().map(|f| f.reason);
    let held = old.filter(|e| e.reason == reason).map(|e| e.since);
    let stated = || {
        stored
            .filter(|(r, _)| old.is_none() && *r == reason)
            .map(|(_, at)| at)
    };
    let skip = usize::from(reason.is_some());
    Entry {
        state: verdict.state,
        reason,
        others: verdict.findings.iter().skip(skip).map(|f| f.reason).collect(),
        since: held.or_else(stated).unwrap_or(now),
        digest: digest(verdict),
        recheck: verdict.recheck,
    }
}

fn digest(verdict: &Verdict) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    verdict.cause().map(|f| &f.message).hash(&mut hasher);
    hasher.finish()
}
