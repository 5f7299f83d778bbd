//! Leader election as pure decisions, from the observed Lease and the time of the observation. No requests;
//! time is an argument.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{DURATION, RENEWAL, RETRY};

/// The fields of a stored Lease that the election uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `spec.holderIdentity`; empty if the lease was released.
    pub holder: String,
    /// `spec.leaseDurationSeconds` of its holder.
    pub duration: Duration,
    /// `spec.leaseTransitions`.
    pub transitions: i32,
    /// `spec.acquireTime`, for people.
    pub acquired: Option<Timestamp>,
    /// Annotation [`HISTORY`](super::HISTORY): changes when the cluster's etcd was restored.
    pub history: u64,
}

/// Maximum duration of another holder that is respected: a wrong value must not block the election for ever.
const LONGEST: Duration = Duration::from_mins(1);

/// The next step of a candidate.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Wait until this time; `None`: wait for an event of the watch.
    Wait(Option<Instant>),
    /// Read the Lease, because the known one is out of date.
    Read,
    /// Create the Lease, because there is none.
    Create,
    /// Replace the stored Lease, to acquire or to renew it.
    Replace(Record),
}

#[derive(Debug)]
struct Seen {
    /// The Lease; `None` if there is none.
    record: Option<Record>,
    /// When this process first saw this version.
    since: Instant,
    /// Whether it is the first observation: if this process is the holder, the lease is from an earlier run.
    first: bool,
    /// Whether its holder released it.
    released: bool,
}

/// One candidate's view of the election.
#[derive(Debug)]
pub struct Election {
    identity: String,
    seen: Option<Seen>,
    /// When the request was sent that acquired or last renewed the lease.
    renewed: Option<Instant>,
    outdated: bool,
    /// Earliest time of the next request, after a failed one.
    retry: Option<Instant>,
    /// The history to store on the Lease.
    history: u64,
    /// Number of changes of the history. After a change, what watches delivered before may be wrong.
    restores: u64,
}

impl Election {
    /// A candidate with the name `identity` that has seen nothing yet.
    pub const fn new(identity: String) -> Self {
        Self {
            identity,
            seen: None,
            renewed: None,
            outdated: false,
            retry: None,
            history: 0,
            restores: 0,
        }
    }

    /// The history to store, and the number of its changes.
    pub const fn history(&self) -> (u64, u64) {
        (self.history, self.restores)
    }

    /// Until when the lease is held.
    pub fn held_until(&self) -> Option<Instant> {
        self.renewed.map(|at| at + DURATION)
    }

    /// Processes an event of the watch, which may be older than the known Lease. While the lease is held,
    /// only its loss matters, and that is verified by a read.
    pub fn noticed(&mut self, record: Option<Record>, now: Instant) {
        if self.renewed.is_none() {
            self.see(record, now);
        } else if record.is_none_or(|r| r.holder != self.identity) {
            self.outdated = true;
        }
    }

    /// Processes the result of a read, which is current.
    pub fn read(&mut self, record: Option<Record>, now: Instant) {
        self.outdated = false;
        self.retry = None;
        // A deleted Lease is created again: no other replica takes it so soon.
        if record.as_ref().is_some_and(|r| r.holder != self.identity) {
            self.renewed = None;
        }
        self.see(record, now);
    }

    /// A request of this process that was sent at `sent` was stored.
    pub fn won(&mut self, record: Record, sent: Instant) {
        self.see(Some(record), sent);
        self.renewed = Some(sent);
        self.retry = None;
    }

    /// The request failed because another version is stored.
    pub const fn lost_race(&mut self) {
        self.outdated = true;
    }

    /// The request had no usable answer.
    pub fn failed(&mut self, now: Instant) {
        self.retry = Some(now + RETRY);
    }

    fn see(&mut self, record: Option<Record>, now: Instant) {
        let first = self.seen.is_none();
        let before = self.seen.as_ref().and_then(|s| s.record.as_ref());
        if !first && before == record.as_ref() {
            return;
        }
        if let Some(record) = &record {
            let went_back = before.is_some_and(|before| number(record) < number(before));
            let foreign = record.history != self.history;
            self.restores += u64::from(!first && (went_back || foreign));
            self.history = match went_back {
                true => self.history.max(record.history) + 1,
                false => record.history,
            };
        }
        let newer = match (before, &record) {
            (Some(before), Some(record)) => number(record) > number(before),
            _ => first,
        };
        let released = newer && record.as_ref().is_some_and(|r| r.holder.is_empty());
        self.seen = Some(Seen {
            record,
            since: now,
            first,
            released,
        });
    }

    /// Drops the held lease if it has expired, because another replica may hold it.
    fn expire(&mut self, now: Instant) {
        if self.held_until().is_some_and(|until| until <= now) {
            self.renewed = None;
            self.outdated = true;
        }
    }

    /// The next step at the time `now`.
    pub fn step(&mut self, now: Instant) -> Step {
        self.expire(now);
        if let Some(retry) = self.retry.filter(|at| *at > now) {
            return Step::Wait(Some(retry));
        }
        if self.outdated {
            return Step::Read;
        }
        let Some(seen) = &self.seen else {
            return Step::Wait(None);
        };
        let due = match (self.renewed, &seen.record) {
            (Some(_), None) => now,
            (Some(renewed), Some(_)) => renewed + RENEWAL,
            (None, _) => free(seen, &self.identity),
        };
        if due > now {
            return Step::Wait(Some(due));
        }
        seen.record.clone().map_or(Step::Create, Step::Replace)
    }
}

/// When the lease may be taken. A Lease that was deleted, or that has an older version because etcd was
/// restored, does not show whether its holder may still write.
fn free(seen: &Seen, identity: &str) -> Instant {
    match &seen.record {
        None if seen.first => seen.since,
        Some(_) if seen.released => seen.since,
        Some(record) if seen.first && record.holder == identity => seen.since,
        Some(record) => seen.since + record.duration.clamp(DURATION, LONGEST),
        None => seen.since + DURATION,
    }
}

fn number(record: &Record) -> u64 {
    record.version.parse().unwrap_or_default()
}
