//! What is to be written to Nodes: the latest update of each, in the order in which the updates came. A Node whose write is
//! refused waits longer each time, and keeps no other waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use wn_plan::node::NodeUpdate;

use crate::backoff::Backoff;

struct Update {
    changes: NodeUpdate,
    turn: u64,
}

struct Failing {
    backoff: Backoff,
    until: Instant,
}

/// How a write ended.
pub enum Outcome {
    /// The update is stored, or the Node is gone.
    Done,
    /// Somebody else wrote in between: try again at once.
    Race,
    /// The API server has too much to do: all wait that long.
    Busy(Duration),
    /// This one was refused.
    Refused,
    /// No usable answer: it may have been stored all the same.
    Unanswered,
}

/// Updates of Nodes that wait to be written, at most one each.
#[derive(Default)]
pub struct Queue {
    updates: BTreeMap<String, Update>,
    /// Nodes by turn.
    order: BTreeMap<u64, String>,
    turn: u64,
    /// Nodes being written to: a newer update waits, so that the older one never lands last.
    busy: BTreeSet<String>,
    /// Those of them whose update was cancelled meanwhile: it is not tried again.
    cancelled: BTreeSet<String>,
    failing: BTreeMap<String, Failing>,
    /// Nodes that may have been written although no watch showed it.
    unanswered: BTreeSet<String>,
    /// The API server pushed back.
    paused: Option<Instant>,
}

impl Queue {
    /// An update replaces an earlier one of the node, and takes its turn.
    pub fn put(&mut self, node: &str, changes: NodeUpdate) {
        if let Some(update) = self.updates.get_mut(node) {
            update.changes = changes;
            return;
        }
        self.turn += 1;
        let turn = self.turn;
        self.order.insert(turn, node.to_owned());
        self.updates.insert(node.to_owned(), Update { changes, turn });
    }

    /// Nothing is to be written to the node, and its pauses start over.
    pub fn cancel(&mut self, node: &str) {
        if let Some(update) = self.updates.remove(node) {
            self.order.remove(&update.turn);
        }
        self.failing.remove(node);
    }

    /// Cancels all updates, those under way too.
    pub fn clear(&mut self) {
        self.cancelled.clone_from(&self.busy);
        self.updates.clear();
        self.order.clear();
        self.failing.clear();
    }

    /// Is no write under way?
    pub fn is_at_rest(&self) -> bool {
        self.busy.is_empty()
    }

    /// Nodes whose last write was not answered.
    pub const fn unanswered(&self) -> &BTreeSet<String> {
        &self.unanswered
    }

    /// The update whose turn it is; its node counts as being written to.
    pub fn next(&mut self, now: Instant) -> Option<(String, NodeUpdate)> {
        if self.paused.is_some_and(|until| now < until) {
            return None;
        }
        let due = |node: &String| self.failing.get(node).is_none_or(|f| f.until <= now);
        let mut nodes = self.order.values();
        let node = nodes
            .find(|node| !self.busy.contains(*node) && due(node))?
            .clone();
        let update = self.updates.remove(&node)?;
        self.order.remove(&update.turn);
        self.busy.insert(node.clone());
        Some((node, update.changes))
    }

    /// A write ended. What did not succeed is put again, unless there is a newer update.
    pub fn end(&mut self, node: &str, changes: NodeUpdate, outcome: &Outcome, now: Instant) {
        self.busy.remove(node);
        match outcome {
            Outcome::Unanswered => drop(self.unanswered.insert(node.to_owned())),
            Outcome::Done => drop(self.unanswered.remove(node)),
            Outcome::Race | Outcome::Busy(_) | Outcome::Refused => {}
        }
        if self.cancelled.remove(node) {
            return;
        }
        match outcome {
            Outcome::Done => {
                self.failing.remove(node);
                return;
            }
            Outcome::Race => {}
            Outcome::Busy(pause) => self.paused = self.paused.max(Some(now + *pause)),
            Outcome::Refused | Outcome::Unanswered => {
                let failing = self.failing.entry(node.to_owned()).or_insert_with(|| Failing {
                    backoff: Backoff::default(),
                    until: now,
                });
                failing.until = now + failing.backoff.next();
            }
        }
        if !self.updates.contains_key(node) {
            self.put(node, changes);
        }
    }

    /// How long until the next update's turn may come; `None` when there is none.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        let waiting = self.updates.keys().filter(|node| !self.busy.contains(*node));
        let due = |node: &String| self.failing.get(node).map_or(now, |f| f.until);
        let next = waiting.map(due).min()?;
        Some(
            next.max(self.paused.unwrap_or(now))
                .saturating_duration_since(now),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(taint: bool) -> NodeUpdate {
        NodeUpdate {
            taint: Some(taint),
            ..NodeUpdate::default()
        }
    }

    /// Eight that are refused for good stand first, and the ninth is written to all the same, by and by; nothing is
    /// tried more often than its pauses allow.
    #[test]
    fn those_refused_for_good_starve_nobody() {
        let mut queue = Queue::default();
        let start = Instant::now();
        for i in 0..9 {
            queue.put(&format!("win-{i}"), changes(true));
        }
        let mut tries: BTreeMap<String, u32> = BTreeMap::new();
        for second in 0..30 {
            let now = start + Duration::from_secs(second);
            while let Some((node, changes)) = queue.next(now) {
                *tries.entry(node.clone()).or_default() += 1;
                let outcome = if node == "win-8" {
                    Outcome::Done
                } else {
                    Outcome::Refused
                };
                queue.end(&node, changes, &outcome, now);
            }
        }
        assert_eq!(tries.remove("win-8"), Some(1));
        assert!(tries.values().all(|n| *n <= 7), "{tries:?}");
        let busy = queue.pause(start + Duration::from_secs(29));
        assert!(busy.is_some_and(|p| p > Duration::ZERO), "{busy:?}");
    }

    /// A changed update does not reset the retries of its node.
    #[test]
    fn a_newer_update_waits_as_the_older_did() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.put("a", changes(true));
        let (node, old) = queue.next(now).unwrap();
        assert!(queue.next(now).is_none() && !queue.is_at_rest());
        queue.put("a", changes(false));
        assert!(queue.next(now).is_none(), "it is being written to");
        queue.end(&node, old, &Outcome::Refused, now);
        assert!(queue.next(now).is_none() && queue.is_at_rest());
        let later = now + queue.pause(now).unwrap();
        assert_eq!(
            queue.next(later),
            Some(("a".to_owned(), changes(false))),
            "the newer update"
        );
    }

    #[test]
    fn an_update_that_is_cancelled_while_it_is_written_is_not_tried_again() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.put("a", changes(true));
        let (node, old) = queue.next(now).unwrap();
        queue.clear();
        queue.end(&node, old, &Outcome::Refused, now);
        assert_eq!(queue.pause(now), None);
        queue.put("a", changes(false));
        assert_eq!(queue.next(now), Some(("a".to_owned(), changes(false))));
    }

    #[test]
    fn all_wait_when_the_server_pushes_back() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.put("a", changes(true));
        queue.put("b", changes(true));
        let (node, old) = queue.next(now).unwrap();
        queue.end(&node, old, &Outcome::Busy(Duration::from_secs(7)), now);
        assert!(queue.next(now + Duration::from_secs(6)).is_none());
        assert_eq!(queue.pause(now), Some(Duration::from_secs(7)));
        assert!(queue.next(now + Duration::from_secs(7)).is_some());
    }
}
