//! How long ago each watch was heard of.
//!
//! A watch of something that never changes delivers no event for hours, and is well all the same: it is renewed
//! every five minutes at most (290 s in kube-runtime), which the answers to its requests show. So these count, too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// When one watch was last heard of.
#[derive(Debug)]
pub struct Pulse {
    topic: String,
    last: Mutex<Instant>,
}

impl Pulse {
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// An event, a list or a renewal arrived.
    pub fn beat(&self) {
        *self.last() = Instant::now();
    }

    /// How long ago that was.
    pub fn age(&self) -> std::time::Duration {
        self.last().elapsed()
    }

    pub(super) fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The watches that run.
#[derive(Debug, Default)]
pub struct Watched {
    pulses: Mutex<Vec<Weak<Pulse>>>,
}

impl Watched {
    pub fn begin(&self, topic: String) -> Arc<Pulse> {
        let pulse = Arc::new(Pulse {
            topic,
            last: Mutex::new(Instant::now()),
        });
        let mut pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.retain(|pulse| pulse.strong_count() > 0);
        pulses.push(Arc::downgrade(&pulse));
        pulse
    }

    /// Seconds since each was heard of. One that was stopped may linger beside its successor: the younger counts.
    fn ages(&self) -> BTreeMap<String, f64> {
        let pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ages = BTreeMap::new();
        for pulse in pulses.iter().filter_map(Weak::upgrade) {
            let age = pulse.last().elapsed().as_secs_f64();
            let known = ages.entry(pulse.topic.clone()).or_insert(age);
            *known = known.min(age);
        }
        ages
    }
}

impl Collector for Watched {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut metric = encoder.encode_descriptor(
            "watch_age",
            "Time since the last event, list or renewal of a watch",
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?;
        for (topic, age) in self.ages() {
            let labels = [("topic", topic)];
            ConstGauge::new(age).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
