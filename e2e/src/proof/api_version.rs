//! An API server of another version: a reverse proxy that answers `GET /version` itself.
//!
//! kube-proxy may be three minors older than the API server and never newer, and the operator refuses what is not
//! so. Six minors take more than the one control plane there is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::control_plane::client;

/// More than anything the operator writes.
const LARGEST: usize = 16 << 20;

/// Serves until it is dropped.
pub struct ApiVersion {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    /// Has the identity of the one it stands for.
    upstream: Client,
    version: Mutex<String>,
}

impl ApiVersion {
    /// Stands before the API server of `kubeconfig`, with that identity; the kubeconfig that leads through it.
    pub async fn start(kubeconfig: &Path, version: &str) -> Result<(Self, PathBuf)> {
        let shared = Arc::new(Shared {
            upstream: client(kubeconfig).await?,
            version: Mutex::new(version.to_owned()),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let router = Router::new()
            .route("/version", get(answer))
            .fallback(pass)
            .with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            // It ends with the fixture; requests after that fail with the connection.
            let _ = axum::serve(listener, router).await;
        });
        let through = through(kubeconfig, &url)?;
        Ok((Self { shared, task }, through))
    }

    /// From now on.
    pub fn set(&self, version: &str) {
        version.clone_into(&mut self.shared.version.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for ApiVersion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn through(kubeconfig: &Path, url: &str) -> Result<PathBuf> {
    let mut config: Value =
        serde_json::from_slice(&std::fs::read(kubeconfig)?).context("kubeconfigs here are JSON")?;
    config["clusters"][0]["cluster"] = json!({ "server": url });
    let path = kubeconfig.with_extension("other-version");
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}

async fn answer(State(shared): State<Arc<Shared>>) -> Response {
    let version = shared
        .version
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let minor = version.split('.').nth(1).unwrap_or_default();
    Json(json!({
        "major": "1", "minor": minor, "gitVersion": version, "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "gc", "platform": "linux/amd64",
    }))
    .into_response()
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    // The upstream client has the same identity, and knows what the API server is called.
    head.headers.remove(header::AUTHORIZATION);
    head.headers.remove(header::HOST);
    let Ok(body) = axum::body::to_bytes(body, LARGEST).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let request = axum::http::Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    match shared.upstream.send(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
