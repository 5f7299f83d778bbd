//! The faults of a connection to the API server, and when they happen.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;

/// What may happen to one request.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fault {
    /// It is passed on late.
    Delay,
    /// It is accepted and never answered; a watch goes silent.
    HalfOpen,
    /// The connection breaks before it is passed on.
    Reset,
    /// It is passed on and answered, and the connection breaks before the answer.
    LostAnswer,
    /// A watch breaks in the middle of a line, a connection at any byte.
    CutWatch,
    /// The answer ends half way although its length is right.
    TruncatedJson,
    /// It is answered with this status code without being passed on.
    Status(u16),
}

/// The longest delay.
const DELAY: Duration = Duration::from_secs(10);

const FOR_WATCHES: [Fault; 8] = [
    Fault::Delay,
    Fault::HalfOpen,
    Fault::Reset,
    Fault::CutWatch,
    Fault::Status(410),
    Fault::Status(429),
    Fault::Status(500),
    Fault::Status(503),
];
const FOR_READS: [Fault; 8] = [
    Fault::Delay,
    Fault::HalfOpen,
    Fault::Reset,
    Fault::TruncatedJson,
    Fault::Status(410),
    Fault::Status(429),
    Fault::Status(500),
    Fault::Status(503),
];
const FOR_WRITES: [Fault; 9] = [
    Fault::Delay,
    Fault::HalfOpen,
    Fault::Reset,
    Fault::LostAnswer,
    Fault::TruncatedJson,
    Fault::Status(409),
    Fault::Status(429),
    Fault::Status(500),
    Fault::Status(503),
];

const FOR_CONNECTIONS: [Fault; 4] = [Fault::Delay, Fault::HalfOpen, Fault::Reset, Fault::CutWatch];

/// What a request is, as far as faults differ.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Traffic {
    /// Not a request: a whole connection, of which nothing is understood.
    Connection,
    Watch,
    Read,
    Write,
}

/// Draws faults for requests while it is on.
#[derive(Debug)]
pub struct Faults {
    rng: Rng,
    /// Share of requests that meet a fault; 0 is off.
    share: f64,
    injected: BTreeMap<Fault, usize>,
}

impl Faults {
    pub fn off() -> Self {
        Self {
            rng: Rng::with_seed(0),
            share: 0.0,
            injected: BTreeMap::new(),
        }
    }

    /// From now on a share of requests, at most a third, meets a fault.
    pub fn begin(&mut self, seed: u64) {
        self.rng = Rng::with_seed(seed);
        self.share = 0.02 + 0.3 * self.rng.f64();
    }

    pub fn end(&mut self) {
        self.share = 0.0;
    }

    pub fn draw(&mut self, traffic: Traffic) -> Option<Fault> {
        if self.rng.f64() >= self.share {
            return None;
        }
        let faults: &[Fault] = match traffic {
            Traffic::Connection => &FOR_CONNECTIONS,
            Traffic::Watch => &FOR_WATCHES,
            Traffic::Read => &FOR_READS,
            Traffic::Write => &FOR_WRITES,
        };
        let fault = self.rng.choice(faults).copied()?;
        *self.injected.entry(fault).or_default() += 1;
        Some(fault)
    }

    /// Is any fault drawn at all?
    pub fn is_on(&self) -> bool {
        self.share > 0.0
    }

    pub fn delay(&mut self) -> Duration {
        DELAY.mul_f64(self.rng.f64())
    }

    /// Bytes of a watch that pass before it breaks.
    pub fn bytes(&mut self) -> usize {
        self.rng.usize(0..4000)
    }

    /// How many were injected since the last call.
    pub fn take(&mut self) -> BTreeMap<Fault, usize> {
        std::mem::take(&mut self.injected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_faults_and_none_when_off() {
        let drawn = |seed| {
            let mut faults = Faults::off();
            assert_eq!(faults.draw(Traffic::Write), None);
            faults.begin(seed);
            let drawn: Vec<_> = (0..200).map(|_| faults.draw(Traffic::Write)).collect();
            assert_eq!(
                faults.take().values().sum::<usize>(),
                drawn.iter().flatten().count()
            );
            faults.end();
            assert_eq!(faults.draw(Traffic::Watch), None);
            drawn
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(drawn(7).iter().any(Option::is_some));
    }
}
