//! Whether the loop still comes round: it says each time by when it will, and `/livez` holds it to that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Time for the work of one round, beyond the announced pause: a pass makes requests one after the other, each of which
/// may take until its limit (35 s).
const MARGIN: Duration = Duration::from_mins(5);

#[derive(Debug)]
struct Times {
    last: Instant,
    due: Instant,
}

/// When the loop came round last, and when it is to come round again.
#[derive(Debug)]
pub struct Round(Mutex<Times>);

impl Default for Round {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(Times {
            last: now,
            due: now + MARGIN,
        }))
    }
}

impl Round {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop begins a round.
    pub fn begin(&self) {
        let now = Instant::now();
        *self.times() = Times {
            last: now,
            due: now + MARGIN,
        };
    }

    /// The loop ends a round, and waits that long at most.
    pub fn wait(&self, pause: Duration) {
        let mut times = self.times();
        times.due = Instant::now() + pause + MARGIN;
    }

    /// How long the loop has been overdue; `None` while it is not.
    pub fn overdue(&self, now: Instant) -> Option<Duration> {
        let late = now.saturating_duration_since(self.times().due);
        (late > Duration::ZERO).then_some(late)
    }
}

/// A metric of its own, because a gauge that is set by the loop would stand still with it.
#[derive(Debug)]
pub struct Age(pub std::sync::Arc<Round>);

impl Collector for Age {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let age = self.0.times().last.elapsed().as_secs_f64();
        let metric = encoder.encode_descriptor(
            "loop_age",
            "Time since the loop last ran, which it does at least once a minute",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        ConstGauge::new(age).encode(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_held_to_what_it_said() {
        let round = Round::default();
        let now = Instant::now();
        assert_eq!(round.overdue(now), None);
        round.wait(Duration::from_mins(60));
        assert_eq!(round.overdue(now + Duration::from_mins(64)), None);
        assert!(round.overdue(now + Duration::from_mins(66)).is_some());
        round.begin();
        assert!(
            round.overdue(now + Duration::from_mins(6)).is_some(),
            "a round that does not end"
        );
    }
}
