//! Labels and other maps of texts, kept in the least memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Texts by key, sorted.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Texts(Box<[(Box<str>, Box<str>)]>);

impl Texts {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let position = self.0.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        self.0.get(position).map(|(_, value)| &**value)
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts whose keys are in a list.
    pub fn only(self, keys: &[&str]) -> Self {
        let texts = self.0.into_vec().into_iter();
        Self(texts.filter(|(key, _)| keys.contains(&&**key)).collect())
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts: BTreeMap<Box<str>, Box<str>> = Deserialize::deserialize(deserializer)?;
        Ok(Self(texts.into_iter().collect()))
    }
}
