//! A client that writes only while it holds the lease. It is the innermost layer, so that no time passes
//! between the check and the request.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::{Method, Request, Response};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use kube::client::Body;
use tower::{BoxError, Service};

use super::Leadership;

/// Requests about the lease itself need no lease.
const LEASES: &str = "/apis/coordination.k8s.io/";

/// Sends a write only if the lease is held, and abandons it when the lease ends.
pub struct Fenced {
    client: Client,
    leadership: Arc<Leadership>,
}

impl Fenced {
    /// Wraps `client` so that each write checks `leadership`.
    pub fn client(client: Client, leadership: Arc<Leadership>) -> Client {
        let namespace = client.default_namespace().to_owned();
        Client::new(Self { client, leadership }, namespace)
    }
}

fn is_free(request: &Request<Body>) -> bool {
    request.method() == Method::GET || request.uri().path().starts_with(LEASES)
}

#[derive(Debug, thiserror::Error)]
#[error("no answer before the lease ended")]
struct LeaseEnded;

impl Service<Request<Body>> for Fenced {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.client.clone();
        let leadership = self.leadership.clone();
        async move {
            if is_free(&request) {
                return Ok(client.send(request).await?);
            }
            let (_write, left) = leadership.write()?;
            let answer = tokio::time::timeout(left, client.send(request)).await;
            Ok(answer.map_err(|_| LeaseEnded)??)
        }
        .boxed()
    }
}
