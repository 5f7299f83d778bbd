//! Wiring: client, watches, the loop, shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch::Receiver;
use tracing::{info, warn};

use crate::apis::Apis;
use crate::backoff::Retry;
use crate::context::{Context, Memory, Next};
use crate::error::Error;
use crate::events::Events;
use crate::lease::{Candidate, Leadership};
use crate::metrics::{Metrics, Pass};
use crate::nodes::{self, writer::Writer};
use crate::reconcile::reconcile;
use crate::report::report;
use crate::settings::Settings;
use crate::watch::{Watches, verify};
use crate::workloads::{Findings, Workloads};
use crate::world::World;
use crate::{http, observe};

/// Runs the operator until SIGTERM or until a task fails.
pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let metrics = Metrics::new();
    let leadership = Arc::<Leadership>::default();
    let client = metrics
        .client(leadership.clone())
        .await
        .context("no way to the API server: no KUBECONFIG, and not in a cluster")?;
    let world = Arc::new(World::new(&settings.namespace));
    let server = tokio::spawn(http::serve(settings.listen, world.clone(), metrics.clone()));
    let events = Arc::new(Events::new(client.clone(), &settings.pod_name));
    let writer = Arc::new(Writer::new());
    let node_writer = tokio::spawn(writer.clone().run(
        client.clone(),
        world.clone(),
        events.clone(),
        metrics.clone(),
    ));
    let candidate = Candidate::new(
        client.clone(),
        &settings.namespace,
        &settings.pod_name,
        leadership.clone(),
    );
    let apis = Apis::new(client, &settings.namespace);
    let verifying = tokio::spawn(verify(apis.clone(), world.clone(), leadership.clone()));
    let context = Context {
        apis,
        events,
        findings: Findings::new(&metrics),
        metrics,
        nodes: writer,
        leadership: leadership.clone(),
        memory: std::sync::Mutex::default(),
        world,
    };
    info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = settings.namespace,
        identity = settings.pod_name,
        "started"
    );
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop_requested = async {
        tokio::select! {
            _ = terminate.recv() => info!("SIGTERM: stopping"),
            _ = interrupt.recv() => info!("SIGINT: stopping"),
        }
        leadership.close().await
    };
    let at_rest = tokio::select! {
        () = candidate.run() => false,
        () = reconcile_for_ever(context, Workloads::new(settings.workload_lint)) => false,
        _ = node_writer => anyhow::bail!("the task that updates nodes failed"),
        _ = verifying => anyhow::bail!("the task that looks at pods without a sandbox failed"),
        served = server => {
            served.context("the HTTP server's task failed")??;
            false
        }
        at_rest = stop_requested => at_rest,
    };
    // While a write of ours may still arrive, nobody else may begin one.
    if at_rest {
        candidate.release().await;
    }
    Ok(())
}

/// The loop comes round that often though nothing happens, which costs no request and shows that it still does.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

async fn reconcile_for_ever(mut context: Context, mut workloads: Workloads) {
    let mut watches = Watches::new(context.world.clone(), context.metrics.clone());
    let mut duty = Duty::default();
    let mut term = context.leadership.subscribe();
    let mut restores = context.leadership.restores();
    loop {
        context.metrics.round.begin();
        if restores.has_changed().unwrap_or_default() {
            restores.mark_unchanged();
            watches.relist();
            workloads.relist();
        }
        let aligned = watches.align(&mut context.apis).await;
        let wake = if context.world.is_waiting() {
            None
        } else {
            workloads.align(&context);
            duty.step(&context, &mut term).await
        };
        let pause = [aligned, wake]
            .into_iter()
            .flatten()
            .map(|at| at.saturating_duration_since(Instant::now()))
            .fold(LONGEST_WAIT, Duration::min);
        context.metrics.round.wait(pause);
        // Woken early by a change, which may be what a failure waited for.
        let mut restored = restores.clone();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.world.changed() => {}
            () = context.findings.changed() => {}
            _ = term.changed() => {}
            _ = restored.changed() => {}
        }
    }
}

/// While it is not sure whether the lease is still held.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the replica that leads does, and those that stand by do not: they only watch.
#[derive(Default)]
struct Duty {
    /// The term in which the rhythm began.
    term: Option<u64>,
    rhythm: Rhythm,
}

impl Duty {
    async fn step(&mut self, context: &Context, changes: &mut Receiver<Option<u64>>) -> Option<Instant> {
        let term = context.leadership.term();
        if self.term.is_some() && term != self.term {
            self.term = None;
            self.rhythm.stop(context);
        }
        context.metrics.leads(term.is_some());
        if term.is_none() {
            // About to end, and perhaps renewed all the same.
            return changes.borrow().map(|_| Instant::now() + LOOK_AGAIN);
        }
        if self.term.is_none() {
            if self.rhythm.pass.waits(Instant::now()) {
                return self.rhythm.pass.at();
            }
            if let Err(error) = observe::latest_config(context).await {
                failed(&mut self.rhythm.pass, context, &error);
                return self.rhythm.pass.at();
            }
            self.term = term;
            self.rhythm = Rhythm::starting();
        }
        tokio::select! {
            biased;
            // What was decided in this term is not written in another one.
            _ = changes.wait_for(|now| *now != term) => Some(Instant::now()),
            wake = self.rhythm.step(context) => wake,
        }
    }
}

/// When there is something to do although nothing changed. By the monotonic clock: one that is set back must not keep the
/// operator waiting.
#[derive(Default)]
struct Rhythm {
    pass: Retry,
    /// A status that is refused is tried again in a time of its own, however well the passes go.
    report: Retry,
}

/// The moment of a time that the plan named.
fn moment(at: Timestamp) -> Instant {
    let ahead = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
    // What is farther away than this is looked at again before.
    Instant::now() + ahead.min(Duration::from_hours(24))
}

impl Rhythm {
    /// One whose first pass is due.
    fn starting() -> Self {
        let mut rhythm = Self::default();
        rhythm.pass.done(Some(Instant::now()));
        rhythm
    }

    /// Forgets what was found out: another replica goes on.
    fn stop(&mut self, context: &Context) {
        nodes::forget(context);
        context.metrics.conditions(&[]);
        context.remember(|memory| *memory = Memory::default());
        *self = Self::default();
    }

    /// Does what there is to do; says when to come back at the latest.
    async fn step(&mut self, context: &Context) -> Option<Instant> {
        if context.world.take_plan() || self.pass.is_due(Instant::now()) {
            let began = Instant::now();
            self.pass(context).await;
            context.metrics.reconciled(Pass::Full, began.elapsed());
        }
        let began = Instant::now();
        let judged = nodes::judge(context, context.world.take_nodes(), Timestamp::now());
        context.metrics.reconciled(Pass::Nodes, began.elapsed());
        if !self.report.waits(Instant::now()) {
            match report(context, Timestamp::now()).await {
                Ok(early) => self.report.done(early),
                Err(error) => failed(&mut self.report, context, &error),
            }
        }
        if !self.pass.is_failing() && !self.report.is_failing() {
            context.metrics.succeeded();
        }
        [self.pass.at(), judged.map(moment), self.report.at()]
            .into_iter()
            .flatten()
            .min()
    }

    /// One pass over the cluster.
    async fn pass(&mut self, context: &Context) {
        match reconcile(context).await {
            Ok(Next::Wait) => self.pass.done(None),
            Ok(Next::At(then)) => self.pass.done(Some(moment(then))),
            Ok(Next::Retry) => {
                self.pass.failed(false);
            }
            Err(error) => failed(&mut self.pass, context, &error),
        }
    }
}

fn failed(retry: &mut Retry, context: &Context, error: &Error) {
    context.metrics.apply_error(error);
    let pause = retry.failed(error.is_stale());
    warn!(%error, ?pause, "pass ended early");
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
