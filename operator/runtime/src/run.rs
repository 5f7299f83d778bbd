//! Wiring: client, watches, the loop, shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

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

async fn reconcile_for_ever(mut context: Context) {
    let mut watches = Watches::new(context.world.clone(), context.metrics.clone());
    let mut rhythm = Rhythm::default();
    loop {
        watches.align(&mut context.apis).await;
        let wake = if context.world.missing().is_empty() {
            rhythm.step(&context).await
        } else {
            None
        };
        match wake {
            None => context.world.changed().await,
            Some(at) => {
                let pause = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default();
                // Woken early by a change, which may be what a failure waited for.
                let _ = tokio::time::timeout(pause, context.world.changed()).await;
            }
        }
    }
}

/// When the cluster is to be looked at as a whole although nothing changed.
#[derive(Default)]
struct Rhythm {
    failures: u32,
    again: Option<Timestamp>,
}

impl Rhythm {
    /// Does what there is to do; says when to come back at the latest.
    async fn step(&mut self, context: &Context) -> Option<Timestamp> {
        let now = Timestamp::now();
        if context.world.take_plan() || self.again.is_some_and(|at| at <= now) {
            let began = Instant::now();
            self.again = self.pass(context).await;
            context.metrics.reconciled(Pass::Full, began.elapsed());
        }
        let began = Instant::now();
        let judged = nodes::judge(context, context.world.take_nodes(), Timestamp::now());
        context.metrics.reconciled(Pass::Nodes, began.elapsed());
        let reported = match report(context, Timestamp::now()).await {
            Ok(early) => early,
            Err(error) => {
                self.again = Some(self.failed(context, &error));
                None
            }
        };
        [self.again, judged, reported].into_iter().flatten().min()
    }

    /// One pass over the cluster; says when the next must be at the latest.
    async fn pass(&mut self, context: &Context) -> Option<Timestamp> {
        match reconcile(context).await {
            Ok(Next::Wait) => {
                self.failures = 0;
                None
            }
            Ok(Next::At(then)) => {
                self.failures = 0;
                Some(then)
            }
            Ok(Next::Retry) => {
                self.failures += 1;
                Some(Timestamp::now() + backoff(self.failures, false))
            }
            Err(error) => Some(self.failed(context, &error)),
        }
    }

    fn failed(&mut self, context: &Context, error: &Error) -> Timestamp {
        self.failures += 1;
        context.metrics.apply_error(error);
        let pause = backoff(self.failures, error.is_stale());
        warn!(%error, ?pause, "pass ended early");
        Timestamp::now() + pause
    }
}

/// A lost race is tried again as soon as the newer version can have arrived; anything else ever more
/// rarely, up to a minute, so that a refusing API server is not hammered.
fn backoff(failures: u32, stale: bool) -> Duration {
    let first = if stale { 20 } else { 500 };
    Duration::from_millis(first << failures.saturating_sub(1).min(7)).min(Duration::from_mins(1))
}
