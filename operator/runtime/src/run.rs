//! Wiring: client, watches, the loop, shutdown.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cli::Settings;
use crate::context::{Context, Next};
use crate::events::Events;
use crate::http;
use crate::reconcile::reconcile;
use crate::world::{Apis, Watches, World};

pub async fn run(settings: Settings) -> anyhow::Result<()> {
    let client = Client::try_default()
        .await
        .context("no way to the API server: no KUBECONFIG, and not in a cluster")?;
    let world = Arc::new(World::new(&settings.namespace));
    let stop = CancellationToken::new();
    let server = tokio::spawn(http::serve(settings.listen, world.clone(), stop.clone()));
    let context = Context {
        apis: Apis::new(client.clone(), &settings.namespace),
        events: Events::new(client, &settings.pod_name),
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
        served = server => served.context("the HTTP server's task failed")??,
        _ = terminate.recv() => info!("SIGTERM: stopping"),
        _ = interrupt.recv() => info!("SIGINT: stopping"),
    }
    stop.cancel();
    Ok(())
}

async fn reconcile_for_ever(mut context: Context) {
    let mut watches = Watches::new(context.world.clone());
    let mut failures = 0;
    loop {
        watches.align(&mut context.apis).await;
        let pause = if context.world.missing().is_empty() {
            pass(&context, &mut failures).await
        } else {
            None
        };
        match pause {
            None => context.world.changed().await,
            Some(pause) => {
                // Woken early by a change, which may be what the failure waited for.
                let _ = tokio::time::timeout(pause, context.world.changed()).await;
            }
        }
    }
}

/// One pass; says how long to wait at most before the next.
async fn pass(context: &Context, failures: &mut u32) -> Option<Duration> {
    match reconcile(context).await {
        Ok(Next::Wait) => {
            *failures = 0;
            None
        }
        Ok(Next::At(then)) => {
            *failures = 0;
            Some(Duration::try_from(then.duration_since(Timestamp::now())).unwrap_or_default())
        }
        Ok(Next::Retry) => {
            *failures += 1;
            Some(backoff(*failures, false))
        }
        Err(error) => {
            *failures += 1;
            let pause = backoff(*failures, error.is_stale());
            warn!(%error, ?pause, "pass ended early");
            Some(pause)
        }
    }
}

/// A lost race is tried again as soon as the newer version can have arrived; anything else ever more
/// rarely, up to a minute, so that a refusing API server is not hammered.
fn backoff(failures: u32, stale: bool) -> Duration {
    let first = if stale { 20 } else { 500 };
    Duration::from_millis(first << failures.saturating_sub(1).min(7)).min(Duration::from_mins(1))
}
