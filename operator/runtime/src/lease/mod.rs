//! Leader election with a `Lease`, and the fence that prevents writes of all other replicas.
//!
//! Invariant: a write begins only while this process holds the lease for at least [`SPARE`] more, and another
//! replica takes the lease only after it has seen the lease unchanged for [`DURATION`]. Each replica uses its
//! own monotonic clock: the times in the Lease are for people, and clocks of replicas are never compared.

mod candidate;
mod election;
mod fence;
#[cfg(test)]
mod tests;

#[cfg(test)]
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::{info, warn};

pub use candidate::Candidate;
pub use fence::Fenced;

/// How long a lease is valid after its last renewal. Like client-go's `LeaseDuration` (15 s), but shorter, so
/// that another replica repairs drift within 15 s after the leader died.
const DURATION: Duration = Duration::from_secs(12);
/// Time between two renewals: three may fail before the lease is lost.
const RENEWAL: Duration = Duration::from_secs(3);
/// Annotation on the Lease; its value changes after a restore of the cluster's etcd. A restore from a
/// snapshot resets resource versions, and a watch that continues from an older version does not notice once
/// the versions have caught up. The leader always notices by its own Lease, and informs the other replicas
/// through this annotation.
const HISTORY: &str = "windowsnode.dev/history";
/// Delay before a failed request about the lease is retried.
const RETRY: Duration = Duration::from_secs(1);
/// No write begins if the lease ends within this time, and no write is awaited longer than this: a request
/// that was sent has arrived by then.
const SPARE: Duration = Duration::from_secs(2);

/// Whether this process may write. The [`Candidate`] sets it, and every write checks it.
#[derive(Default)]
pub struct Leadership {
    state: Mutex<State>,
    /// The number of the term; `None` while the lease is not held.
    term: watch::Sender<Option<u64>>,
    writes: AtomicUsize,
    /// How often the cluster's etcd was restored.
    restores: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// When the held lease ends; `None` if it is not held.
    until: Option<Instant>,
    /// Number of times the lease was won.
    terms: u64,
    /// No write may begin any more, because the process ends.
    closed: bool,
}

/// A write was refused because another replica may be writing.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not hold the lease: nothing was written")]
pub struct NotLeader;

/// A write in progress; it ends when this is dropped.
pub struct Write<'a>(&'a Leadership);

impl Drop for Write<'_> {
    fn drop(&mut self) {
        self.0.writes.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Leadership {
    /// The leadership of a process without other replicas, which always leads.
    #[cfg(test)]
    pub fn alone() -> Arc<Self> {
        let leadership = Self::default();
        leadership.lead_for(Duration::from_hours(24));
        Arc::new(leadership)
    }

    /// Makes this process the leader for `time`.
    #[cfg(test)]
    pub fn lead_for(&self, time: Duration) {
        self.set(Some(Instant::now() + time));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets until when this process holds the lease; `None` if it does not.
    fn set(&self, until: Option<Instant>) {
        let mut state = self.lock();
        let won = state.until.is_none() && until.is_some();
        let lost = state.until.is_some() && until.is_none();
        state.until = until;
        if won {
            state.terms += 1;
            info!("holds the lease: leads");
            self.term.send_replace(Some(state.terms));
        }
        if lost {
            warn!("lost the lease: stands by, and writes nothing");
            self.term.send_replace(None);
        }
    }

    /// How long a write that begins now may take; `None` if it may not begin.
    fn time_left(&self, now: Instant) -> Option<Duration> {
        let state = self.lock();
        let until = state.until.filter(|_| !state.closed)?;
        until
            .checked_duration_since(now + SPARE)
            .filter(|left| !left.is_zero())
    }

    /// Begins a write; returns it with the time that it may take.
    pub fn write(&self) -> Result<(Write<'_>, Duration), NotLeader> {
        let left = self.time_left(Instant::now()).ok_or(NotLeader)?;
        self.writes.fetch_add(1, Ordering::Relaxed);
        Ok((Write(self), left))
    }

    /// The number of the term while this process leads. A new number means that others may have written in between.
    pub fn term(&self) -> Option<u64> {
        self.time_left(Instant::now())?;
        Some(self.lock().terms)
    }

    /// The term as it changes: `None` while the lease is not held.
    pub fn subscribe(&self) -> watch::Receiver<Option<u64>> {
        self.term.subscribe()
    }

    fn restored(&self, times: u64) {
        let set = |known: &mut u64| {
            let news = *known != times;
            *known = times;
            news
        };
        if self.restores.send_if_modified(set) {
            warn!("the cluster's etcd was restored: everything is read again");
        }
    }

    /// Number of restores of the cluster's etcd. When it changes, everything must be read again.
    pub fn restores(&self) -> watch::Receiver<u64> {
        self.restores.subscribe()
    }

    /// Prevents further writes, and waits for those in progress, at most for the duration of a lease. Returns
    /// whether all of them ended.
    pub async fn close(&self) -> bool {
        const POLL: Duration = Duration::from_millis(5);
        self.lock().closed = true;
        let ended = async {
            while self.writes.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(DURATION, ended).await.is_ok()
    }
}
