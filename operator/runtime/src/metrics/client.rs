//! Clients that count the answers of the API server.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use kube::Client;
use kube::client::{Body, ClientBuilder};
use kube::config::Config;
use tower::{BoxError, Layer, Service};

use super::{Metrics, Pulse};
use crate::lease::{Fenced, Leadership};
use crate::limits::{self, Limited};

type Request = axum::http::Request<Body>;
type Response<B> = axum::http::Response<B>;

impl Metrics {
    /// The client as the environment says, which writes only with the lease, with a limit to each request, and each counted.
    pub async fn client(self: &Arc<Self>, leadership: Arc<Leadership>) -> kube::Result<Client> {
        let config = Config::infer().await.map_err(kube::Error::InferConfig)?;
        let layer = Counting {
            metrics: self.clone(),
        };
        let client = Fenced::client(limits::transport(config)?, leadership);
        let namespace = client.default_namespace().to_owned();
        let limited = ClientBuilder::new(Limited::new(client), namespace);
        Ok(limited.with_layer(&layer).build())
    }
}

impl Pulse {
    /// A client for the requests of this watch: each answer that is not an error is a beat.
    pub fn client(self: &Arc<Self>, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let service = Listening {
            client,
            pulse: self.clone(),
        };
        Client::new(service, namespace)
    }
}

pub(super) struct Counting {
    pub(super) metrics: Arc<Metrics>,
}

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            metrics: self.metrics.clone(),
        }
    }
}

pub(super) struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
}

impl<S, B> Service<Request> for Counted<S>
where
    S: Service<Request, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let method = method(&request);
        let metrics = self.metrics.clone();
        self.inner
            .call(request)
            .inspect(move |answer| {
                let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
                metrics.requested(method, code);
            })
            .boxed()
    }
}

/// The methods kube uses.
pub(super) const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Stands for the status code of an answer that did not come.
pub(super) const NO_ANSWER: &str = "none";

/// A label must not hold whatever a caller makes up.
fn method(request: &Request) -> &'static str {
    let method = request.method().as_str();
    METHODS
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}

struct Listening {
    client: Client,
    pulse: Arc<Pulse>,
}

impl Service<Request> for Listening {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, kube::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let client = self.client.clone();
        let pulse = self.pulse.clone();
        async move { client.send(request).await }
            .inspect_ok(move |answer| {
                // Not there is an answer, too: of a resource that this API server does not serve.
                if answer.status().is_success() || answer.status().as_u16() == 404 {
                    pulse.beat();
                }
            })
            .boxed()
    }
}
