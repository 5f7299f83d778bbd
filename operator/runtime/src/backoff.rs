//! Pauses between tries of what failed: ever longer up to about a minute, and with jitter, so that what failed together
//! is not tried together.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

const FIRST: Duration = Duration::from_millis(500);
/// Jitter may double it.
const LONGEST: Duration = Duration::from_secs(30);

/// The pauses of one thing that fails.
#[derive(Debug, Default)]
pub struct Backoff(Option<ExponentialBackoff>);

impl Backoff {
    const fn is_growing(&self) -> bool {
        self.0.is_some()
    }

    /// The pause after one more failure.
    pub fn next(&mut self) -> Duration {
        let pauses = self.0.get_or_insert_with(|| {
            let builder = ExponentialBuilder::default()
                .with_min_delay(FIRST)
                .with_max_delay(LONGEST);
            builder.with_factor(2.0).with_jitter().without_max_times().build()
        });
        pauses.next().unwrap_or(LONGEST)
    }

    /// It did not fail.
    pub fn reset(&mut self) {
        self.0 = None;
    }
}

/// When something is to be done again, by the monotonic clock, and how often it failed before.
#[derive(Debug, Default)]
pub struct Retry {
    at: Option<Instant>,
    backoff: Backoff,
    /// Races lost in a row.
    stale: u32,
}

impl Retry {
    /// When to retry; `None` when nothing failed.
    pub const fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Is it time to retry?
    pub fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// It failed, and is not to be tried now.
    pub fn waits(&self, now: Instant) -> bool {
        self.is_failing() && self.at.is_some_and(|at| at > now)
    }

    /// It failed last time.
    pub const fn is_failing(&self) -> bool {
        self.stale > 0 || self.backoff.is_growing()
    }

    /// It went well, and is to be done again then.
    pub fn done(&mut self, again: Option<Instant>) {
        self.backoff.reset();
        self.stale = 0;
        self.at = again;
    }

    /// It failed: the pause before it is tried again. A lost race is tried again as soon as the newer version can have
    /// arrived.
    pub fn failed(&mut self, stale: bool) -> Duration {
        const RACE: Duration = Duration::from_millis(20);
        let pause = if stale {
            self.stale = (self.stale + 1).min(8);
            RACE * (1 << (self.stale - 1))
        } else {
            self.backoff.next()
        };
        self.at = Some(Instant::now() + pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_about_a_minute_and_begin_again() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..20).map(|_| backoff.next()).collect();
        assert!(pauses[0] >= FIRST && pauses[0] <= FIRST * 2, "{pauses:?}");
        assert!(pauses.iter().all(|p| *p <= LONGEST * 2), "{pauses:?}");
        assert!(pauses[10..].iter().all(|p| *p >= LONGEST), "{pauses:?}");
        backoff.reset();
        assert!(backoff.next() <= FIRST * 2);
    }

    #[test]
    fn a_lost_race_is_tried_again_at_once() {
        let mut retry = Retry::default();
        assert!(retry.failed(true) < Duration::from_millis(50) && retry.waits(Instant::now()));
        retry.done(None);
        assert_eq!(retry.at(), None);
    }
}
