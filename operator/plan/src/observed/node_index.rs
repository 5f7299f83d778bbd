//! Facts that belong to nodes, indexed by node, so that a node is checked without a look at the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Key;

/// A fact that belongs to a node.
pub trait OnNode {
    /// Name of the node; empty when the fact belongs to none.
    fn node(&self) -> &str;
}

/// Facts by key and by node. Facts are boxed because the nodes of a B-tree are half empty, and keys are shared because there are two
/// of each.
#[derive(Clone, Debug)]
pub struct NodeIndex<F> {
    facts: BTreeMap<Arc<Key>, Box<F>>,
    /// Sorted. A list, because a node has one or two and a set would take half a kilobyte for each.
    by_node: BTreeMap<Box<str>, Vec<Arc<Key>>>,
}

impl<F> Default for NodeIndex<F> {
    fn default() -> Self {
        Self {
            facts: BTreeMap::new(),
            by_node: BTreeMap::new(),
        }
    }
}

impl<F: OnNode> NodeIndex<F> {
    /// The fact of an object.
    pub fn get(&self, key: &Key) -> Option<&F> {
        self.facts.get(key).map(AsRef::as_ref)
    }

    /// Every fact, by key.
    pub fn values(&self) -> impl Iterator<Item = &F> {
        self.facts.values().map(AsRef::as_ref)
    }

    /// Every key and fact, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &F)> {
        self.facts.iter().map(|(key, fact)| (key.as_ref(), fact.as_ref()))
    }

    /// The facts of one node, by key.
    pub fn of(&self, node: &str) -> impl Iterator<Item = &F> {
        self.by_node
            .get(node)
            .into_iter()
            .flatten()
            .filter_map(|key| self.get(key))
    }

    /// Adds or replaces the fact of an object; the earlier fact.
    pub fn insert(&mut self, key: Key, fact: F) -> Option<F> {
        if let Some(known) = self
            .facts
            .get_mut(&key)
            .filter(|known| known.node() == fact.node())
        {
            return Some(std::mem::replace(known, fact));
        }
        let old = self.remove(&key);
        let key = Arc::new(key);
        if !fact.node().is_empty() {
            let keys = self.by_node.entry(fact.node().into()).or_default();
            keys.reserve_exact(1);
            keys.insert(keys.partition_point(|k| *k < key), key.clone());
        }
        self.facts.insert(key, Box::new(fact));
        old
    }

    /// Removes the fact of an object; the removed fact.
    pub fn remove(&mut self, key: &Key) -> Option<F> {
        let old = self.facts.remove(key)?;
        if let Some(keys) = self.by_node.get_mut(old.node()) {
            keys.retain(|k| **k != *key);
            if keys.is_empty() {
                self.by_node.remove(old.node());
            }
        }
        Some(*old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct On(&'static str);

    impl OnNode for On {
        fn node(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn a_fact_moves_with_its_node() {
        let mut index = NodeIndex::default();
        let key = (String::new(), "a".to_owned());
        index.insert(key.clone(), On("one"));
        assert_eq!(index.of("one").count(), 1);
        assert_eq!(index.insert(key.clone(), On("two")), Some(On("one")));
        assert_eq!((index.of("one").count(), index.of("two").count()), (0, 1));
        assert_eq!(index.remove(&key), Some(On("two")));
        assert!(index.by_node.is_empty() && index.facts.is_empty());
    }
}
