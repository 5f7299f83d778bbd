//! `/livez`: the process answers. `/readyz`: the first full picture of the cluster is there.

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::world::World;

pub async fn serve(
    address: std::net::SocketAddr,
    world: Arc<World>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    let ready = move || {
        let world = world.clone();
        async move {
            let missing = world.missing();
            if missing.is_empty() {
                (StatusCode::OK, "ok".to_owned())
            } else {
                (
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("waiting for the first list of: {}", missing.join(", ")),
                )
            }
        }
    };
    let router = Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(ready));
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
        .context("HTTP server failed")
}
