//! A reverse proxy before the API server that stops its client after the n-th write.
//!
//! Everything is passed on, watches as they flow. The n-th request that writes is passed on, too; once the
//! API server has answered it, neither that answer nor any later request gets through. What is stored then
//! is exactly n writes of the client, however it is scheduled.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use wn_e2e::control_plane::client;

/// Serves until it is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    /// The kubeconfig that leads to the API server itself.
    direct: PathBuf,
    url: String,
    task: JoinHandle<()>,
}

struct Shared {
    /// Has the identity of whom it stands for.
    upstream: Client,
    limit: usize,
    count: AtomicUsize,
    stopped: AtomicBool,
    writes: Mutex<Vec<String>>,
}

impl Proxy {
    /// Stands for the identity of `kubeconfig`, for `limit` writes.
    pub async fn start(kubeconfig: &Path, limit: usize) -> Result<Self> {
        let shared = Arc::new(Shared {
            upstream: client(kubeconfig).await?,
            limit,
            count: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            writes: Mutex::default(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                eprintln!("the proxy ended: {error}");
            }
        });
        Ok(Self {
            shared,
            direct: kubeconfig.to_owned(),
            url,
            task,
        })
    }

    /// A kubeconfig that leads here, in `folder`.
    pub fn kubeconfig(&self, folder: &Path) -> Result<PathBuf> {
        let text = std::fs::read_to_string(&self.direct)?;
        let mut kubeconfig: Value = serde_json::from_str(&text).context("kubeconfigs here are JSON")?;
        kubeconfig["clusters"][0]["cluster"] = json!({ "server": self.url });
        let path = folder.join("through-the-proxy.kubeconfig");
        std::fs::write(&path, kubeconfig.to_string())?;
        Ok(path)
    }

    /// The n-th write is stored, and nothing more will be.
    pub fn has_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::SeqCst)
    }

    /// Every write that passed, in order.
    pub fn writes(&self) -> Vec<String> {
        self.shared
            .writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn last(&self) -> String {
        self.writes().pop().unwrap_or_else(|| "no write".to_owned())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    // The lease is renewed whatever there is to do.
    let writes = *request.method() != Method::GET && !request.uri().path().contains("/leases");
    let number = if writes {
        shared.count.fetch_add(1, Ordering::SeqCst) + 1
    } else {
        0
    };
    if number > shared.limit || shared.stopped.load(Ordering::SeqCst) {
        return std::future::pending().await;
    }
    let what = format!("{} {}", request.method(), request.uri().path());
    let answer = forward(&shared.upstream, request).await;
    if writes {
        let mut list = shared.writes.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(format!("{what} {}", answer.status().as_u16()));
    }
    if number == shared.limit {
        shared.stopped.store(true, Ordering::SeqCst);
        return std::future::pending().await;
    }
    answer
}

async fn forward(upstream: &Client, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    // The upstream client has the same identity, and knows what the API server is called.
    head.headers.remove(header::AUTHORIZATION);
    head.headers.remove(header::HOST);
    let Ok(body) = axum::body::to_bytes(body, 16 << 20).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let request = axum::http::Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    match upstream.send(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
