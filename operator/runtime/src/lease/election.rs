//! Who leads, decided from what was seen of the Lease and when: no requests, and no clock but the one passed in.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{DURATION, RENEWAL, RETRY};

/// A stored Lease, as far as the election goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `spec.holderIdentity`; empty when it was released.
    pub holder: String,
    /// `spec.leaseDurationSeconds` of its holder.
    pub duration: Duration,
    /// `spec.leaseTransitions`.
    pub transitions: i32,
    /// `spec.acquireTime`, for people.
    pub acquired: Option<Timestamp>,
}

/// The longest duration of another holder that is believed: one that is wrong must not stop the election for ever.
const LONGEST: Duration = Duration::from_mins(1);

/// What is to be done now.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Nothing before then; `None` is: until something is seen.
    Wait(Option<Instant>),
    /// Read the Lease: what is known of it is out of date.
    Read,
    /// Create it: there is none.
    Create,
    /// Replace what is stored, to win or to renew.
    Replace(Record),
}

#[derive(Debug)]
struct Seen {
    /// `None`: there is none.
    record: Option<Record>,
    /// Since when it is unchanged, as far as is known here.
    since: Instant,
    /// The first that was seen: what it says of this process is of one that ended before.
    first: bool,
    /// Its holder gave it up.
    released: bool,
}

/// One candidate's view of the election.
#[derive(Debug)]
pub struct Election {
    identity: String,
    seen: Option<Seen>,
    /// When the request was sent that won or renewed the lease.
    renewed: Option<Instant>,
    outdated: bool,
    /// Not before then: the last request failed.
    retry: Option<Instant>,
}

impl Election {
    pub const fn new(identity: String) -> Self {
        Self {
            identity,
            seen: None,
            renewed: None,
            outdated: false,
            retry: None,
        }
    }

    /// Until when the lease is held.
    pub fn held_until(&self) -> Option<Instant> {
        self.renewed.map(|at| at + DURATION)
    }

    /// What a watch says, which may be older than what is known. While the lease is held only its loss is news, and that is
    /// asked for.
    pub fn noticed(&mut self, record: Option<Record>, now: Instant) {
        if self.renewed.is_none() {
            self.see(record, now);
        } else if record.is_none_or(|r| r.holder != self.identity) {
            self.outdated = true;
        }
    }

    /// What was read: the truth of now.
    pub fn read(&mut self, record: Option<Record>, now: Instant) {
        self.outdated = false;
        self.retry = None;
        // One that vanished is made again: nobody else takes it so soon.
        if record.as_ref().is_some_and(|r| r.holder != self.identity) {
            self.renewed = None;
        }
        self.see(record, now);
    }

    /// A request of ours was stored, which was sent then.
    pub fn won(&mut self, record: Record, sent: Instant) {
        self.see(Some(record), sent);
        self.renewed = Some(sent);
        self.retry = None;
    }

    /// Another version is stored than the one that was to be replaced.
    pub const fn lost_race(&mut self) {
        self.outdated = true;
    }

    /// No usable answer.
    pub fn failed(&mut self, now: Instant) {
        self.retry = Some(now + RETRY);
    }

    fn see(&mut self, record: Option<Record>, now: Instant) {
        let first = self.seen.is_none();
        let before = self.seen.as_ref().and_then(|s| s.record.as_ref());
        if !first && before == record.as_ref() {
            return;
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

    /// The lease that is held ran out, and may be another's.
    fn expire(&mut self, now: Instant) {
        if self.held_until().is_some_and(|until| until <= now) {
            self.renewed = None;
            self.outdated = true;
        }
    }

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

/// From when on the lease may be taken. A Lease that vanished, or that is an older one again because etcd was restored, says
/// nothing of a holder who may still be writing.
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
