//! Leader election by a `Lease`, and the fence that keeps every other replica from writing.
//!
//! Invariant: a write begins only while this process holds the lease with [`SPARE`] to go, and no other replica takes the
//! lease before it has seen it unchanged for [`DURATION`]. Both measure from their own monotonic clocks: the times in the
//! Lease are for people to read, and clocks of replicas are never compared.

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

/// How long a lease holds after its last renewal. As with client-go (`LeaseDuration`, 15 s), but short enough that another
/// replica has repaired something 15 s after its leader died.
const DURATION: Duration = Duration::from_secs(12);
/// Between two renewals: three may fail before the lease is lost.
const RENEWAL: Duration = Duration::from_secs(3);
/// Between two tries of a request about the lease that failed.
const RETRY: Duration = Duration::from_secs(1);
/// No write begins when the lease ends within this time, and none is waited for after it: what was sent has arrived by then.
const SPARE: Duration = Duration::from_secs(2);

/// Whether this process may write, told by the [`Candidate`] and asked before every write.
#[derive(Default)]
pub struct Leadership {
    state: Mutex<State>,
    /// The term, while the lease is held.
    term: watch::Sender<Option<u64>>,
    writes: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// When the lease ends that is held.
    until: Option<Instant>,
    /// How often the lease was won.
    terms: u64,
    /// No write begins any more: the process ends.
    closed: bool,
}

/// A write that was refused because another replica may be writing.
#[derive(Debug, thiserror::Error)]
#[error("this replica does not hold the lease: nothing was written")]
pub struct NotLeader;

/// A write that is under way.
pub struct Write<'a>(&'a Leadership);

impl Drop for Write<'_> {
    fn drop(&mut self) {
        self.0.writes.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Leadership {
    /// Of a process without others.
    #[cfg(test)]
    pub fn alone() -> Arc<Self> {
        let leadership = Self::default();
        leadership.lead_for(Duration::from_hours(24));
        Arc::new(leadership)
    }

    #[cfg(test)]
    pub fn lead_for(&self, time: Duration) {
        self.set(Some(Instant::now() + time));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lease is held until then, or by nobody here.
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

    /// How long a write that begins now may take.
    fn time_left(&self, now: Instant) -> Option<Duration> {
        let state = self.lock();
        let until = state.until.filter(|_| !state.closed)?;
        until
            .checked_duration_since(now + SPARE)
            .filter(|left| !left.is_zero())
    }

    /// Begins a write, and says how long it may take.
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

    /// Lets no further write begin, and waits for those under way, for as long as a lease lasts at most. Says whether all ended.
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
