//! `/livez`: the loop runs when it announced to. `/readyz`: every first list is complete. `/metrics`: what
//! was done.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::metrics::{self, Metrics};
use crate::world::World;

/// Serves probes and metrics until the process ends.
pub async fn serve(
    address: std::net::SocketAddr,
    world: Arc<World>,
    metrics: Arc<Metrics>,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    axum::serve(listener, router(world, metrics))
        .await
        .context("HTTP server failed")
}

fn router(world: Arc<World>, metrics: Arc<Metrics>) -> Router {
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
    let round = metrics.round.clone();
    let live = move || {
        let late = round.overdue(Instant::now());
        async move {
            late.map_or_else(
                || (StatusCode::OK, "ok".to_owned()),
                |late| {
                    let late = format!("the loop is {} s late", late.as_secs());
                    (StatusCode::INTERNAL_SERVER_ERROR, late)
                },
            )
        }
    };
    let scrape = move || {
        let text = metrics.text();
        async move { ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text) }
    };
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(scrape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    async fn get(path: &str) -> (StatusCode, Option<String>) {
        let router = router(Arc::new(World::new("operator")), Metrics::new());
        let answer = router
            .oneshot(Request::get(path).body(Body::empty()).unwrap())
            .await
            .unwrap();
        let type_ = answer.headers().get(CONTENT_TYPE);
        (answer.status(), type_.map(|t| t.to_str().unwrap().to_owned()))
    }

    #[tokio::test]
    async fn metrics_do_not_wait_for_the_cluster() {
        assert_eq!(get("/readyz").await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(get("/livez").await.0, StatusCode::OK);
        let (status, type_) = get("/metrics").await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(type_.as_deref(), Some(metrics::CONTENT_TYPE));
        assert_eq!(get("/").await.0, StatusCode::NOT_FOUND);
    }
}
