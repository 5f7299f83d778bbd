//! Owns the engine: takes changes in, evaluates them when they pause, and hands the report to the loop.
//!
//! The engine evaluates on a thread of its own: the loop and the renewal of the Lease share one thread and must not wait for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Receiver;
use wn_plan::lint::{Lint, Report};
use wn_plan::observed::Key;
use wn_plan::unread::Unread;
use wn_workloads::kinds::Kind;
use wn_workloads::limits::Known;
use wn_workloads::live::Live;
use wn_workloads::release::Release;

use super::Findings;
use super::announce::Announcer;
use super::sink::Change;
use crate::world::TRIES;

/// Evaluates so long after the last change …
const PAUSE: Duration = Duration::from_millis(200);
/// … and so long after the first one at the latest.
const LONGEST: Duration = Duration::from_secs(1);

/// When to evaluate changes that come one after the other.
#[derive(Debug, Default)]
struct Debounce(Option<(Instant, Instant)>);

impl Debounce {
    fn change(&mut self, now: Instant) {
        let first = self.0.map_or(now, |(first, _)| first);
        self.0 = Some((first, now));
    }

    fn due(&self) -> Option<Instant> {
        self.0.map(|(first, last)| (last + PAUSE).min(first + LONGEST))
    }
}

/// How far a kind is read.
#[derive(Clone, Debug)]
enum Progress {
    /// Its first list failed so often; the last error.
    Listing(u32, Option<Unread>),
    Listed,
}

impl Progress {
    /// Why the kind cannot be read, after enough tries.
    fn unread(&self) -> Option<&Unread> {
        match self {
            Self::Listing(tries, unread) if *tries >= TRIES => unread.as_ref(),
            Self::Listing(..) | Self::Listed => None,
        }
    }

    fn is_settled(&self) -> bool {
        matches!(self, Self::Listed) || self.unread().is_some()
    }
}

pub struct Judge {
    kinds: Vec<&'static Kind>,
    /// Of each kind, in the order of `kinds`.
    progress: Vec<Progress>,
    live: Live,
    findings: Arc<Findings>,
    own_namespace: String,
}

impl Judge {
    /// `own_namespace`: that of the operator.
    pub fn new(
        kinds: Vec<&'static Kind>,
        release: Release,
        own_namespace: &str,
        findings: Arc<Findings>,
    ) -> Self {
        let mut live = Live::new();
        live.set_known(release, Known::default());
        Self {
            progress: vec![Progress::Listing(0, None); kinds.len()],
            kinds,
            live,
            findings,
            own_namespace: own_namespace.to_owned(),
        }
    }

    /// Returns when the engine panicked, or when nothing sends changes any more.
    pub async fn run(mut self, mut changes: Receiver<Change>, mut announcer: Announcer) {
        let mut debounce = Debounce::default();
        loop {
            let evaluation = debounce.due().filter(|_| self.is_complete());
            tokio::select! {
                change = changes.recv() => {
                    let Some(change) = change else { return };
                    self.take(change);
                    debounce.change(Instant::now());
                }
                () = at(evaluation) => {
                    debounce = Debounce::default();
                    let Some(judge) = self.evaluate().await else { return };
                    self = judge;
                    announcer.found(self.live.findings());
                }
                () = announcer.due() => announcer.step(self.live.findings()),
            }
        }
    }

    /// Was every kind listed, or cannot be? A report before that would miss objects.
    fn is_complete(&self) -> bool {
        self.progress.iter().all(Progress::is_settled)
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::Put(kind, object) => self.live.put(self.kinds[kind], object),
            Change::Gone(kind, (namespace, name)) => self.live.remove(self.kinds[kind], &namespace, &name),
            Change::Listed(kind, seen) => {
                self.keep(kind, &seen);
                self.progress[kind] = Progress::Listed;
            }
            Change::Failed(kind, unread) => self.failed(kind, unread),
            Change::Lost(kind) => self.progress[kind] = Progress::Listing(0, None),
        }
    }

    /// Once a kind counts as unread, what was known of it is out of date and is forgotten.
    fn failed(&mut self, kind: usize, unread: Unread) {
        let Progress::Listing(tries, _) = &self.progress[kind] else {
            return;
        };
        let tries = tries.saturating_add(1);
        if tries == TRIES {
            self.keep(kind, &BTreeSet::new());
        }
        self.progress[kind] = Progress::Listing(tries, Some(unread));
    }

    /// Forgets the objects of a kind that are not among these.
    fn keep(&mut self, kind: usize, seen: &BTreeSet<Key>) {
        let kind = self.kinds[kind];
        for key in self.live.keys(kind).iter().filter(|key| !seen.contains(key)) {
            self.live.remove(kind, &key.0, &key.1);
        }
    }

    /// Evaluates and reports. `None` if the engine panicked.
    async fn evaluate(self) -> Option<Self> {
        let evaluated = tokio::task::spawn_blocking(move || {
            let mut judge = self;
            judge.live.evaluate();
            judge
        });
        let judge = evaluated.await.ok()?;
        let unread = judge.progress.iter().filter_map(Progress::unread).cloned();
        let report = Report::new(
            &judge.own_namespace,
            judge.live.findings().iter(),
            judge.live.unreadable().count(),
            unread.collect(),
        );
        judge.findings.set(Lint::Checked(report));
        Some(judge)
    }
}

/// Waits until a moment; for ever without one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
