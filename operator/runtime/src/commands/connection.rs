//! The connection of commands that read a cluster: the kubeconfig of the user, and read requests only.

use std::path::PathBuf;
use std::task::{Context, Poll};

use anyhow::Context as _;
use axum::http::{Method, Request, Response};
use clap::Args;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, Service};

use crate::limits::{self, Limited};

/// How to reach the cluster.
#[derive(Args)]
pub struct Connection {
    /// The kubeconfig. Default: `KUBECONFIG`, `~/.kube/config`, or the ServiceAccount of the pod.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig. Default: the current one.
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    context: Option<String>,
}

impl Connection {
    /// A client that can only read.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let config = self
            .config()
            .await
            .context("no way to the API server: set KUBECONFIG or --kubeconfig")?;
        let client = limits::transport(config)?;
        let namespace = client.default_namespace().to_owned();
        let limited = Client::new(Limited::new(client), namespace);
        Ok(read_only(limited))
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        Ok(match &self.kubeconfig {
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            None if self.context.is_some() => Config::from_kubeconfig(&options).await?,
            None => Config::infer().await?,
        })
    }
}

/// The client without writes.
fn read_only(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(ReadOnly(client), namespace)
}

/// Sends `GET` requests; any other is an error. No mistake in a command can change the cluster.
struct ReadOnly(Client);

#[derive(Debug, thiserror::Error)]
#[error("{0} is not sent: this command only reads")]
struct NotARead(Method);

impl Service<Request<Body>> for ReadOnly {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.0.clone();
        async move {
            if request.method() == Method::GET {
                return Ok(client.send(request).await?);
            }
            Err(NotARead(request.method().clone()).into())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;
    use kube::api::DeleteParams;
    use serde_json::json;

    #[tokio::test]
    async fn only_reads_are_sent() {
        let (client, calls) = fake::client(|_| (200, json!({"metadata": {"name": "n"}})));
        let nodes: Api<Node> = Api::all(read_only(client));
        nodes.get("n").await.unwrap();
        let error = nodes.delete("n", &DeleteParams::default()).await.unwrap_err();
        assert!(error.to_string().contains("DELETE is not sent"), "{error}");
        assert!(calls.all().iter().all(|call| !call.is_write()));
    }
}
