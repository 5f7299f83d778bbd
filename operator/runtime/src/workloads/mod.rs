//! Network policies, Services and pods: what Windows does differently with them.
//!
//! Only the leader watches them. A standby would double the load on the API server and the memory, and nothing urgent follows from
//! findings: a new leader lists the kinds within seconds. Nothing is watched without a `WindowsNodeConfig`, without a Windows node,
//! and while linting is disabled.

mod announce;
mod judge;
mod session;
mod sink;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use wn_api::calico::CalicoApi;
use wn_plan::lint::{self, Lint};
use wn_plan::observed::{Config, Observed};
use wn_workloads::release::Release;

use crate::context::Context;
use crate::metrics::Metrics;
use session::Session;

/// What was found last. The loop reads it; the session writes it.
pub struct Findings {
    lint: Mutex<Lint>,
    changed: Notify,
    metrics: Arc<Metrics>,
}

impl Findings {
    pub fn new(metrics: &Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            lint: Mutex::default(),
            changed: Notify::new(),
            metrics: metrics.clone(),
        })
    }

    /// What was found last.
    pub fn latest(&self) -> Lint {
        self.lint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when it differs from what it was when this last resolved.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    fn set(&self, lint: Lint) {
        let mut current = self.lint.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != lint {
            let series = lint.report().map(|report| report.series.clone());
            self.metrics.findings(series.unwrap_or_default());
            *current = lint;
            self.changed.notify_one();
        }
    }
}

/// What a session depends on: it ends when this changes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    /// The form of Calico's API in use; `None` without one, and where Calico is stored in an etcd.
    calico: Option<CalicoApi>,
    release: Release,
}

/// Starts and ends the session.
pub struct Workloads {
    /// Whether the operator has the rights to read workloads.
    granted: bool,
    wanted: Option<Wanted>,
    session: JoinSet<()>,
}

impl Workloads {
    pub fn new(granted: bool) -> Self {
        Self {
            granted,
            wanted: None,
            session: JoinSet::new(),
        }
    }

    /// Reads everything again, as after etcd was restored from a backup.
    pub fn relist(&mut self) {
        self.session = JoinSet::new();
        self.wanted = None;
    }

    /// Starts, restarts or ends the session, as the cluster asks for it now.
    pub fn align(&mut self, context: &Context) {
        let leads = context.leadership.term().is_some();
        let calico = context.apis.calico;
        let read = |observed: &Observed| self.wanted(leads, calico, observed);
        let (wanted, lint) = context.world.read(read);
        if wanted.is_some() && wanted == self.wanted {
            return;
        }
        // Dropped before the next one starts, so that no watch runs twice.
        self.session = JoinSet::new();
        self.wanted = wanted;
        context.findings.set(lint);
        if let Some(Wanted { calico, release }) = wanted {
            let session = Session::new(context, calico, release);
            self.session.spawn(session.for_ever());
        }
    }

    /// The session, and what is reported until it has found something.
    fn wanted(&self, leads: bool, calico: Option<CalicoApi>, observed: &Observed) -> (Option<Wanted>, Lint) {
        let config = observed.config.as_ref().map(Config::object);
        let kept = config.filter(|config| leads && config.metadata.deletion_timestamp.is_none());
        let Some(config) = kept else {
            return (None, Lint::Reading);
        };
        if let Some(skipped) = Lint::skipped(self.granted, &config.spec, observed) {
            return (None, skipped);
        }
        let wanted = Wanted {
            calico,
            release: lint::calico_release(observed),
        };
        (Some(wanted), Lint::Reading)
    }
}
