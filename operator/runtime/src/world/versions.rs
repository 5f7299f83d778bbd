//! Which version of each object is known, so that of two reports of an object the newer one counts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wn_plan::observed::{Key, Topic};

/// Where a version was learned.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The answer to a write.
    Answer,
    Watch,
    /// A list that was begun then.
    List(Instant),
}

#[derive(Debug)]
struct Known {
    version: u64,
    /// When the answer to a write of the operator had it.
    answered: Option<Instant>,
    /// When it was deleted, in this version.
    gone: Option<Instant>,
}

/// The versions of objects that are written, or whose topic has few.
#[derive(Debug, Default)]
pub struct Versions(BTreeMap<(Topic, Key), Known>);

/// How long a deletion is remembered: longer than a write may wait for its answer.
const MEMORY: Duration = Duration::from_mins(2);

impl Versions {
    /// Is it to be taken in? Then it counts as known.
    pub fn take(&mut self, topic: Topic, key: &Key, version: u64, origin: Origin) -> bool {
        let place = (topic, key.clone());
        let known = self.0.get(&place).filter(|known| known.version > version);
        let newer_is_known = known.is_some_and(|known| match origin {
            Origin::Answer | Origin::Watch => true,
            // What we wrote after the list was begun need not be in it. Anything else newer is of a time that is undone.
            Origin::List(begun) => known.answered.is_some_and(|at| at >= begun),
        });
        if newer_is_known {
            return false;
        }
        let known = Known {
            version,
            answered: matches!(origin, Origin::Answer).then(Instant::now),
            gone: None,
        };
        self.0.insert(place, known);
        true
    }

    /// It was deleted in that version: the answer to an earlier write must not bring it back.
    pub fn gone(&mut self, topic: Topic, key: &Key, version: u64) {
        let now = Instant::now();
        self.0
            .retain(|_, known| known.gone.is_none_or(|at| now.duration_since(at) < MEMORY));
        let known = Known {
            version,
            answered: None,
            gone: Some(now),
        };
        self.0.insert((topic, key.clone()), known);
    }

    pub fn forget(&mut self, topic: Topic, key: &Key) {
        self.0.remove(&(topic, key.clone()));
    }

    /// Keys of the objects of a topic that are there.
    pub fn keys(&self, topic: Topic) -> Vec<Key> {
        let there = self
            .0
            .iter()
            .filter(|((t, _), known)| *t == topic && known.gone.is_none());
        there.map(|((_, key), _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn node(version: &str, pods: &str) -> Value {
        json!({
            "metadata": {"name": "win-0", "resourceVersion": version},
            "status": {"allocatable": {"pods": pods}},
        })
    }

    fn pods(world: &World) -> Option<u32> {
        world.read(|o| o.nodes.get("win-0")?.max_pods)
    }

    fn seen() -> BTreeSet<Key> {
        [(String::new(), "win-0".to_owned())].into()
    }

    #[test]
    fn an_echo_does_not_replace_a_newer_answer() {
        let world = World::new("operator");
        let begun = Instant::now();
        world.put(Topic::Nodes, &node("7", "7"));
        world.put_from(Origin::Watch, Topic::Nodes, &node("5", "5"));
        assert_eq!(pods(&world), Some(7));
        world.put_from(Origin::List(begun), Topic::Nodes, &node("6", "6"));
        assert_eq!(pods(&world), Some(7), "written while the list was under way");
    }

    /// etcd of the cluster was restored from a snapshot: versions begin again where they were then.
    #[test]
    fn a_list_is_the_truth_though_its_versions_be_older() {
        let world = World::new("operator");
        world.put_from(Origin::Watch, Topic::Nodes, &node("900", "9"));
        world.put_from(Origin::List(Instant::now()), Topic::Nodes, &node("100", "1"));
        world.listed(Topic::Nodes, &seen());
        assert_eq!(pods(&world), Some(1));
        world.put_from(Origin::Watch, Topic::Nodes, &node("101", "2"));
        assert_eq!(pods(&world), Some(2));
    }

    #[test]
    fn an_answer_does_not_bring_back_what_was_deleted_since() {
        let world = World::new("operator");
        let key = (String::new(), "win-0".to_owned());
        world.put_from(Origin::Watch, Topic::Nodes, &node("7", "7"));
        world.deleted(Topic::Nodes, &key, 9);
        world.put(Topic::Nodes, &node("8", "8"));
        assert_eq!(pods(&world), None, "no ghost");
        world.put_from(Origin::Watch, Topic::Nodes, &node("10", "10"));
        assert_eq!(pods(&world), Some(10), "a new one of the name");
    }

    #[test]
    fn what_cannot_be_read_is_not_waited_for() {
        let world = World::new("operator");
        world.want([Topic::Nodes, Topic::Typha].into());
        world.listed(Topic::Nodes, &BTreeSet::new());
        assert!(world.is_waiting());
        let unread = wn_plan::unread::Unread {
            objects: "deployments.apps".into(),
            error: "no".into(),
            forbidden: true,
            can_be_lacking: true,
        };
        let known = || world.read(|o| o.unread.clone());
        for _ in 0..3 {
            assert!(known().is_empty() && world.is_waiting());
            world.failed(Topic::Typha, unread.clone());
        }
        assert!(!world.is_waiting());
        assert_eq!(known(), [unread]);
        assert_eq!(world.missing(), ["Typha"], "it is not ready");
        let _ = world.take_plan();
        world.listed(Topic::Typha, &BTreeSet::new());
        assert!(known().is_empty() && world.take_plan(), "fixed");
    }
}
