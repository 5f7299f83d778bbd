//! The loop: a change concerns nodes, a node is looked at by one task at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::cache::{Cache, Concerns};
use super::discovery;
use super::faults::Faults;
use super::feeds::{self, RETRY};
use super::node::{self, Runs};
use super::rights::LastLists;

/// Nodes looked at side by side: enough to keep an API server on two cores busy.
const WORKERS: usize = 16;
/// No request may keep a node from being looked at, as when the API server is restarted.
const LIMIT: Duration = Duration::from_secs(10);
/// Watch events waiting to be taken over.
const BACKLOG: usize = 256;

pub struct Shared {
    pub client: Client,
    cache: Mutex<Cache>,
    faults: Mutex<Faults>,
    runs: Mutex<Runs>,
    /// Per node, why its agents are not ready.
    problems: Mutex<BTreeMap<String, Vec<String>>>,
    wake: UnboundedSender<String>,
    pub lists: tokio::sync::Mutex<LastLists>,
}

impl Shared {
    /// With the receiver of `wake`, for `run`.
    pub fn new(client: Client) -> (Self, UnboundedReceiver<String>) {
        let (wake, woken) = mpsc::unbounded_channel();
        let shared = Self {
            client,
            cache: Mutex::default(),
            faults: Mutex::default(),
            runs: Mutex::default(),
            problems: Mutex::default(),
            wake,
            lists: tokio::sync::Mutex::default(),
        };
        (shared, woken)
    }

    pub fn cache(&self) -> MutexGuard<'_, Cache> {
        lock(&self.cache)
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub fn runs(&self) -> MutexGuard<'_, Runs> {
        lock(&self.runs)
    }

    pub fn problems(&self, node: &str) -> Vec<String> {
        lock(&self.problems).get(node).cloned().unwrap_or_default()
    }

    /// Of every node that has some.
    pub fn all_problems(&self) -> BTreeMap<String, Vec<String>> {
        let mut all = lock(&self.problems).clone();
        all.retain(|_, problems| !problems.is_empty());
        all
    }

    pub fn set_problems(&self, node: &str, problems: Vec<String>) {
        let mut all = lock(&self.problems);
        if all.get(node) != Some(&problems) {
            debug!(node, ?problems, "simulator: node");
            all.insert(node.to_owned(), problems);
        }
    }

    /// Looking at the node failed: it is looked at again.
    fn fails(&self, node: &str, error: &str) {
        self.set_problems(node, vec![format!("simulator: {error}")]);
        self.wake_later(node);
    }

    /// Has `node` looked at. A simulator that has ended looks at nothing.
    pub fn wake(&self, node: &str) {
        let _ended = self.wake.send(node.to_owned());
    }

    /// The same, once an agent would try again.
    pub fn wake_later(&self, node: &str) {
        let (wake, node) = (self.wake.clone(), node.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(RETRY).await;
            let _ended = wake.send(node);
        });
    }
}

/// A panic elsewhere leaves data that is still good: every write to it is a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub async fn run(shared: Arc<Shared>, mut woken: UnboundedReceiver<String>) {
    let (sender, mut changes) = mpsc::channel(BACKLOG);
    let mut watches = JoinSet::new();
    let mut watched = BTreeSet::new();
    feeds::start(&shared.client, &sender, &mut watches);

    let mut queue = Queue::default();
    let mut jobs = JoinSet::<String>::new();
    loop {
        tokio::select! {
            Some(change) = changes.recv() => {
                let mut cache = shared.cache();
                match cache.apply(change) {
                    Concerns::Nobody => {}
                    Concerns::Node(node) => queue.add(node),
                    Concerns::Everybody => queue.extend(cache.pods.keys()),
                }
                let groups = cache.definitions.iter().filter_map(|name| discovery::ipam_group(name));
                for group in groups {
                    if watched.insert(group.to_owned()) {
                        feeds::start_calico(&shared.client, discovery::api_of(group), &sender, &mut watches);
                    }
                }
            }
            Some(node) = woken.recv() => queue.add(node),
            Some(done) = jobs.join_next(), if !jobs.is_empty() => match done {
                Ok(node) => queue.done(&node),
                Err(error) => warn!(%error, "simulator: job"),
            },
            else => return,
        }
        while jobs.len() < WORKERS {
            let Some(node) = queue.next() else { break };
            let shared = Arc::clone(&shared);
            jobs.spawn(async move {
                match timeout(LIMIT, node::sync(&shared, &node)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => shared.fails(&node, &error.to_string()),
                    Err(_) => shared.fails(&node, "the API server does not answer"),
                }
                node
            });
        }
    }
}

/// Nodes to look at; one that is being looked at waits until that is done.
#[derive(Default)]
struct Queue {
    waiting: BTreeSet<String>,
    busy: BTreeSet<String>,
}

impl Queue {
    fn add(&mut self, node: String) {
        self.waiting.insert(node);
    }

    fn extend<'a>(&mut self, nodes: impl Iterator<Item = &'a String>) {
        self.waiting.extend(nodes.cloned());
    }

    fn next(&mut self) -> Option<String> {
        let node = self
            .waiting
            .iter()
            .find(|node| !self.busy.contains(*node))?
            .clone();
        self.waiting.remove(&node);
        self.busy.insert(node.clone());
        Some(node)
    }

    fn done(&mut self, node: &str) {
        self.busy.remove(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_looked_at_by_one_job_at_a_time() {
        let mut queue = Queue::default();
        queue.add("a".to_owned());
        assert_eq!(queue.next().as_deref(), Some("a"));
        queue.add("a".to_owned());
        queue.add("b".to_owned());
        assert_eq!(queue.next().as_deref(), Some("b"));
        assert_eq!(queue.next(), None);
        queue.done("a");
        assert_eq!(queue.next().as_deref(), Some("a"));
    }
}
