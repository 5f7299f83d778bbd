//! Fingerprints of values, which tell whether something changed without a copy of it.

use std::hash::{BuildHasher, Hash, RandomState};

/// The same for equal values. Different values have the same fingerprint with a probability of 2^-128, and nobody can choose
/// them: the hash has a random key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Fingerprint([u64; 2]);

/// Keys of the hash. Fingerprints of different keys cannot be compared.
#[derive(Clone, Debug, Default)]
pub struct Keys([RandomState; 2]);

impl Keys {
    /// The fingerprint of a value.
    pub fn of(&self, value: impl Hash) -> Fingerprint {
        Fingerprint([0, 1].map(|i| self.0[i].hash_one(&value)))
    }
}
