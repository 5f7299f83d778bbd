//! Wiring: client, watches, the loop, shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backoff::Retry;
use crate::cli::Settings;
use crate::context::{Context, Next};
use crate::error::Error;
use crate::events::Events;
use crate::http;
use crate::metrics::{Metrics, Pass};
use crate::nodes::{self, Writer};
use crate::reconcile::reconcile;
use crate::report::report;
use crate::world::{Apis, Watches, World, verify};

pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let metrics = Metrics::new();
    let client = metrics
        .client()
        .await
        .context("no way to the API server: no KUBECONFIG, and not in a cluster")?;
    let world = Arc::new(World::new(&settings.namespace));
    let stop = CancellationToken::new();
    let server = tokio::spawn(http::serve(
        settings.listen,
        world.clone(),
        metrics.clone(),
        stop.clone(),
    ));
    let events = Arc::new(Events::new(client.clone(), &settings.pod_name));
    let writer = Arc::new(Writer::new());
    let marking = tokio::spawn(writer.clone().run(
        client.clone(),
        world.clone(),
        events.clone(),
        metrics.clone(),
    ));
    let apis = Apis::new(client, &settings.namespace);
    let verifying = tokio::spawn(verify(apis.clone(), world.clone()));
    let context = Context {
        apis,
        events,
        metrics,
        nodes: writer,
        memory: std::sync::Mutex::default(),
        world,
    };
    info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = settings.namespace,
        "started"
    );
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        () = reconcile_for_ever(context) => {}
        _ = marking => anyhow::bail!("the task that marks nodes failed"),
        _ = verifying => anyhow::bail!("the task that looks at pods without a sandbox failed"),
        served = server => served.context("the HTTP server's task failed")??,
        _ = terminate.recv() => info!("SIGTERM: stopping"),
        _ = interrupt.recv() => info!("SIGINT: stopping"),
    }
    stop.cancel();
    Ok(())
}

/// The loop comes round that often though nothing happens, which costs no request and shows that it still does.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

async fn reconcile_for_ever(mut context: Context) {
    let mut watches = Watches::new(context.world.clone(), context.metrics.clone());
    let mut rhythm = Rhythm::default();
    loop {
        context.metrics.round.begin();
        let aligned = watches.align(&mut context.apis).await;
        let wake = if context.world.is_waiting() {
            None
        } else {
            rhythm.step(&context).await
        };
        let pause = [aligned, wake]
            .into_iter()
            .flatten()
            .map(|at| at.saturating_duration_since(Instant::now()))
            .fold(LONGEST_WAIT, Duration::min);
        context.metrics.round.wait(pause);
        // Woken early by a change, which may be what a failure waited for.
        let _ = tokio::time::timeout(pause, context.world.changed()).await;
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
