//! A client whose requests end. Without this a connection that is half open, because the other side vanished without a
//! word, would stop the operator for ever.

use std::task::{Context, Poll};
use std::time::Duration;

use axum::http;
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::util::{MapErrLayer, option_layer};
use tower::{BoxError, Layer, Service};

type Request = http::Request<Body>;
type Response = http::Response<Body>;

/// For an answer with its body; of a watch, which goes on, for its head. Longer than an admission webhook may take (30 s).
const LIMIT: Duration = Duration::from_secs(35);
/// A connection on which nothing comes is probed after this time, then at this interval, and given up after so many probes.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// How long an idle connection is kept for the next request. Each costs about 30 KB.
const IDLE: Duration = Duration::from_secs(15);
/// Idle connections that are kept: as many as there are writes to Nodes at a time, which would open them again.
const MOST_IDLE: usize = 8;

/// A client as `Client::try_from` makes it, but with TCP keepalive, which that has not, and without its retries (15,
/// each after as long as the server says): whoever asks tries again in their own time.
pub fn transport(config: Config) -> kube::Result<Client> {
    if let Some(proxy_url) = &config.proxy_url {
        return Err(kube::Error::ProxyProtocolDisabled {
            proxy_url: Box::new(proxy_url.clone()),
            protocol_feature: "kube/http-proxy",
        });
    }
    let (idle, interval, probes) = KEEP_ALIVE;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_keepalive(Some(idle));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(probes));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let http = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MOST_IDLE)
        .build::<_, Body>(tls);
    let service = MapErrLayer::new(|error: legacy::Error| BoxError::from(error)).layer(http);
    let service = config.extra_headers_layer()?.layer(service);
    let service = option_layer(config.auth_layer()?).layer(service);
    let service = config.base_uri_layer().layer(service);
    Ok(Client::new(service, config.default_namespace))
}

/// Each request of a client, with a limit.
pub struct Limited {
    client: Client,
    limit: Duration,
}

impl Limited {
    pub const fn new(client: Client) -> Self {
        Self { client, limit: LIMIT }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", .0.as_secs())]
struct TimedOut(Duration);

impl Service<Request> for Limited {
    type Response = Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let limit = self.limit;
        let answer = tokio::time::timeout(limit, answer(self.client.clone(), request));
        async move { Ok(answer.await.map_err(|_| TimedOut(limit))??) }.boxed()
    }
}

/// The answer, read whole, as kube does anyway, unless it is a watch.
async fn answer(client: Client, request: Request) -> kube::Result<Response> {
    let watches = is_watch(&request);
    let answer = client.send(request).await?;
    if watches {
        return Ok(answer);
    }
    let (head, body) = answer.into_parts();
    let body = body.collect_bytes().await?;
    Ok(Response::from_parts(head, Body::from(body)))
}

fn is_watch(request: &Request) -> bool {
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    parameters.any(|p| matches!(p, "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    const SHORT: Duration = Duration::from_millis(50);

    fn limited(client: Client) -> Client {
        Client::new(Limited { client, limit: SHORT }, "default")
    }

    fn get(path: &str) -> Request {
        http::Request::get(path).body(Body::empty()).unwrap()
    }

    /// An API server that accepts the request and says nothing more.
    #[tokio::test]
    async fn a_half_open_connection_is_not_waited_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = Config::new(
            format!("http://{}", listener.local_addr().unwrap())
                .parse()
                .unwrap(),
        );
        let _silent = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok(connection) = listener.accept().await {
                open.push(connection);
            }
        });
        let client = limited(transport(config).unwrap());
        for path in ["/api/v1/nodes", "/api/v1/nodes?watch=true"] {
            let answer = tokio::time::timeout(SHORT * 20, client.send(get(path))).await;
            let error = answer.expect("it ends").unwrap_err();
            assert!(error.to_string().contains("no answer within"), "{error}");
        }
    }

    /// One that stops in the middle of its answer.
    #[tokio::test]
    async fn a_body_that_stops_is_not_waited_for() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = Config::new(
            format!("http://{}", listener.local_addr().unwrap())
                .parse()
                .unwrap(),
        );
        let _half = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut connection, _)) = listener.accept().await {
                // An answer before the request would be none.
                let mut request = [0; 16];
                connection.read_exact(&mut request).await.unwrap();
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{";
                connection.write_all(head).await.unwrap();
                open.push(connection);
            }
        });
        let client = limited(transport(config).unwrap());
        let list = tokio::time::timeout(SHORT * 20, client.send(get("/api/v1/nodes"))).await;
        assert!(list.expect("it ends").is_err());
        let watch = client.send(get("/api/v1/nodes?labelSelector=a&watch=true")).await;
        assert!(watch.is_ok(), "what a watch says comes later");
    }

    /// A server that pushes back is asked once; when to ask again is not its connection's matter.
    #[tokio::test]
    async fn nothing_is_tried_again_in_secret() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = asked.clone();
        let busy = tower::service_fn(move |_: Request| {
            count.fetch_add(1, Ordering::Relaxed);
            let answer = http::Response::builder()
                .status(429)
                .header("Retry-After", "4000000000");
            async move { Ok::<_, Infallible>(answer.body(Body::empty()).unwrap()) }
        });
        let client = limited(Client::new(busy, "default"));
        assert_eq!(client.send(get("/api")).await.unwrap().status(), 429);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
