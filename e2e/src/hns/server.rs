//! The service itself: a socket on loopback, and what a test may do to it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::calls::{self, Call};
use super::errors::HnsError;
use super::objects::{Endpoint, Kind, LoadBalancer, Network};
use super::state::State;
use super::version::WindowsBuild;

/// Serves until it is dropped.
pub struct Hns {
    state: Arc<Mutex<State>>,
    port: u16,
    task: JoinHandle<()>,
}

impl Hns {
    /// Without any network, as on a node that has just booted.
    pub async fn start(build: WindowsBuild) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("listen as HNS")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(State::new(build)));
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { state, port, task })
    }

    /// With an adapter that has this address, to which networks are bound.
    pub async fn on_adapter(build: WindowsBuild, address: IpAddr) -> Result<Self> {
        let hns = Self::start(build).await?;
        hns.state().adapter = Some(address);
        Ok(hns)
    }

    /// Requests from the DLLs.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn load_balancers(&self) -> Vec<LoadBalancer> {
        self.state().read(Kind::LoadBalancer)
    }

    pub fn networks(&self) -> Vec<Network> {
        self.state().read(Kind::Network)
    }

    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.state().read(Kind::Endpoint)
    }

    /// The endpoint of that name, as `Get-HnsEndpoint` finds it.
    pub fn endpoint_named(&self, name: &str) -> Option<Endpoint> {
        self.endpoints()
            .into_iter()
            .find(|endpoint| endpoint.name == name)
    }

    /// Removes an object behind kube-proxy's back.
    pub fn delete(&self, kind: Kind, id: &str) -> Result<()> {
        let deleted = self.state().delete(kind, id);
        deleted.map_err(|error| anyhow::anyhow!("HNS: {error:?}"))
    }

    /// Every call whose name begins so fails, until [`Hns::repair`].
    pub fn fail(&self, call: &str, error: HnsError) {
        self.state().faults.push((call.to_owned(), error));
    }

    pub fn repair(&self) {
        self.state().faults.clear();
    }

    /// Names of the calls until now, each with how it went.
    pub fn calls(&self) -> Vec<(String, Option<HnsError>)> {
        self.state().calls.clone()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hns {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    let mut connections = tokio::task::JoinSet::new();
    // The set goes with the task, and with it every connection.
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&state)));
    }
}

/// A client that ends in the middle of a line has asked nothing.
async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    // Each line waits for its answer.
    let _ = stream.set_nodelay(true);
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer = match serde_json::from_str::<Call>(&line) {
            Ok(call) => calls::answer(&mut state.lock().unwrap_or_else(PoisonError::into_inner), &call),
            Err(_) => return,
        };
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
