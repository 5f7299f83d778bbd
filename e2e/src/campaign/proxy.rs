//! A reverse proxy before the API server that injects faults.
//!
//! It records every write it passed on, so that writes of different replicas can be compared on one clock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, StatusCode, header};
use futures::{Stream, StreamExt as _, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::fault::{Fault, Faults, Traffic};
use crate::control_plane::client;

/// Longer than a round: a client that obeys it does nothing more in this round.
const RETRY_AFTER_SECONDS: &str = "86400";
/// No request of the operator is larger.
const BODY_LIMIT: usize = 16 << 20;

/// Serves until it is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    direct: PathBuf,
    url: String,
    task: JoinHandle<()>,
}

struct Shared {
    /// Has the identity of whom it stands for.
    upstream: Client,
    faults: Mutex<Faults>,
    /// Counts the ends of faults: whoever waits on a half-open connection is cut off then.
    healed: watch::Sender<u64>,
    refused: Mutex<Option<Refused>>,
    /// Nothing passes any more once so many writes did; the answer to the last one does not either.
    limit: Option<usize>,
    passed: AtomicUsize,
    stopped: AtomicBool,
    writes: Mutex<Vec<Write>>,
}

/// Writes to paths that end with this are answered with the code.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    pub path_ends: &'static str,
    pub code: u16,
}

/// A write that was passed on or refused.
#[derive(Clone, Debug)]
pub struct Write {
    pub path: String,
    pub began: Instant,
    pub ended: Instant,
    pub refused: bool,
}

impl Proxy {
    /// Stands for the identity of `kubeconfig`.
    pub async fn start(kubeconfig: &Path) -> Result<Self> {
        Self::serve(kubeconfig, None).await
    }

    /// The same for `limit` writes, those to the lease apart. What is stored then is exactly these, however the client is scheduled.
    pub async fn start_for(kubeconfig: &Path, limit: usize) -> Result<Self> {
        Self::serve(kubeconfig, Some(limit)).await
    }

    async fn serve(kubeconfig: &Path, limit: Option<usize>) -> Result<Self> {
        let shared = Arc::new(Shared {
            upstream: client(kubeconfig).await?,
            faults: Mutex::new(Faults::off()),
            healed: watch::channel(0).0,
            refused: Mutex::default(),
            limit,
            passed: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            writes: Mutex::default(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            shared,
            direct: kubeconfig.to_owned(),
            url,
            task,
        })
    }

    /// A kubeconfig that leads here, as `path`.
    pub fn kubeconfig(&self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(&self.direct)?;
        let mut kubeconfig: Value = serde_json::from_str(&text).context("kubeconfigs here are JSON")?;
        kubeconfig["clusters"][0]["cluster"] = json!({ "server": self.url });
        std::fs::write(path, kubeconfig.to_string())?;
        Ok(())
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.shared.faults)
    }

    /// Ends faults and refusals and cuts half-open connections.
    pub fn heal(&self) {
        self.faults().end();
        self.refuse(None);
        self.shared.healed.send_modify(|count| *count += 1);
    }

    pub fn refuse(&self, refused: Option<Refused>) {
        *lock(&self.shared.refused) = refused;
    }

    /// The last write that may pass is stored.
    pub fn has_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::SeqCst)
    }

    /// The writes since the last call.
    pub fn take_writes(&self) -> Vec<Write> {
        std::mem::take(&mut *lock(&self.shared.writes))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| pass(Arc::clone(&shared), request));
            // An error is a connection that we cut, or that the client closed.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// An error cuts the connection.
async fn pass(shared: Arc<Shared>, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let traffic = traffic(&request);
    let path = request.uri().path().to_owned();
    let counts = traffic == Traffic::Write && !path.contains("/leases");
    let number = counts.then(|| shared.passed.fetch_add(1, Ordering::SeqCst) + 1);
    let over = shared
        .limit
        .is_some_and(|limit| number.is_some_and(|n| n > limit));
    if over || shared.stopped.load(Ordering::SeqCst) {
        return std::future::pending().await;
    }
    let began = Instant::now();
    if traffic == Traffic::Write
        && let Some(refused) = lock(&shared.refused).filter(|r| path.ends_with(r.path_ends))
    {
        shared.record(path, began, true);
        return Ok(status(refused.code));
    }
    let fault = lock(&shared.faults).draw(traffic);
    match fault {
        None => {}
        Some(Fault::Delay) => {
            let delay = lock(&shared.faults).delay();
            tokio::time::sleep(delay).await;
        }
        Some(Fault::HalfOpen) if traffic != Traffic::Watch => {
            shared.wait_for_heal().await;
            return Err(cut());
        }
        Some(Fault::Reset) => return Err(cut()),
        Some(Fault::Status(code)) => return Ok(status(code)),
        Some(Fault::HalfOpen | Fault::LostAnswer | Fault::CutWatch | Fault::TruncatedJson) => {}
    }
    let began = Instant::now();
    let answer = forward(&shared.upstream, request).await?;
    if traffic == Traffic::Write {
        shared.record(path, began, false);
    }
    if number.is_some() && number == shared.limit {
        shared.stopped.store(true, Ordering::SeqCst);
        return std::future::pending().await;
    }
    match fault {
        Some(Fault::LostAnswer) => Err(cut()),
        Some(Fault::TruncatedJson) => truncate(answer).await,
        Some(Fault::CutWatch) => {
            let bytes = lock(&shared.faults).bytes();
            Ok(answer.map(|body| Body::from_stream(first(body, bytes))))
        }
        Some(Fault::HalfOpen) => Ok(answer.map(|body| Body::from_stream(silent(body, shared)))),
        _ => Ok(answer),
    }
}

impl Shared {
    fn record(&self, path: String, began: Instant, refused: bool) {
        let ended = Instant::now();
        lock(&self.writes).push(Write {
            path,
            began,
            ended,
            refused,
        });
    }

    async fn wait_for_heal(&self) {
        let mut healed = self.healed.subscribe();
        healed.mark_unchanged();
        // The sender lives as long as we do.
        let _ = healed.changed().await;
    }
}

fn traffic(request: &Request<Incoming>) -> Traffic {
    let watch = request.uri().query().is_some_and(|q| q.contains("watch=true"));
    match *request.method() {
        Method::GET if watch => Traffic::Watch,
        Method::GET => Traffic::Read,
        _ => Traffic::Write,
    }
}

fn cut() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

fn status(code: u16) -> Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": reason(code), "message": "injected by the campaign",
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    if code == 429 {
        headers.insert(
            header::RETRY_AFTER,
            header::HeaderValue::from_static(RETRY_AFTER_SECONDS),
        );
    }
    response
}

const fn reason(code: u16) -> &'static str {
    match code {
        403 => "Forbidden",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    }
}

async fn forward(upstream: &Client, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (mut head, body) = request.into_parts();
    // The upstream client has the same identity, and knows what the API server is called.
    head.headers.remove(header::AUTHORIZATION);
    head.headers.remove(header::HOST);
    let body = axum::body::to_bytes(Body::new(body), BODY_LIMIT)
        .await
        .map_err(io::Error::other)?;
    let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    // While the API server restarts, its connections are refused: ours break.
    let answer = upstream.send(request).await.map_err(io::Error::other)?;
    Ok(answer.map(Body::new))
}

/// Half of the body as if it were all.
async fn truncate(answer: Response<Body>) -> io::Result<Response<Body>> {
    let (mut head, body) = answer.into_parts();
    let whole = axum::body::to_bytes(body, BODY_LIMIT * 4)
        .await
        .map_err(io::Error::other)?;
    head.headers.remove(header::CONTENT_LENGTH);
    Ok(Response::from_parts(
        head,
        Body::from(whole.slice(..whole.len() / 2)),
    ))
}

type Chunk = Result<Bytes, axum::BoxError>;

/// The first bytes of a body, then a broken connection.
fn first(body: Body, bytes: usize) -> impl Stream<Item = Chunk> {
    let left = stream::unfold((body.into_data_stream(), bytes), |(mut body, left)| async move {
        match body.next().await? {
            Ok(chunk) if chunk.len() < left => {
                let left = left - chunk.len();
                Some((Ok(chunk), (body, left)))
            }
            Ok(chunk) if left > 0 => Some((Ok(chunk.slice(..left)), (body, 0))),
            Ok(_) => Some((Err(cut().into()), (body, 0))),
            Err(error) => Some((Err(error.into()), (body, 0))),
        }
    });
    left.boxed()
}

/// Nothing of a body, until faults end.
fn silent(body: Body, shared: Arc<Shared>) -> impl Stream<Item = Chunk> {
    stream::once(async move {
        shared.wait_for_heal().await;
        drop(body);
        Err(cut().into())
    })
    .boxed()
}
