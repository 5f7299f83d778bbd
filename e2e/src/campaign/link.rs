//! A proxy of connections before Calico's etcd. It understands nothing of what it carries, which is encrypted: connections are late,
//! refused, broken at any byte, or silent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::fault::{Fault, Faults, Traffic};

/// Serves until it is dropped.
pub struct Link {
    shared: Arc<Shared>,
    url: String,
    task: JoinHandle<()>,
}

struct Shared {
    upstream: String,
    faults: Mutex<Faults>,
    /// Counts the ends of faults: connections that met one end then.
    healed: watch::Sender<u64>,
}

impl Link {
    /// To an address on this host, as `127.0.0.1:2379`.
    pub async fn start(upstream: &str) -> Result<Self> {
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            faults: Mutex::new(Faults::off()),
            healed: watch::channel(0).0,
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("https://{}", listener.local_addr()?);
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { shared, url, task })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.shared.faults()
    }

    /// Ends faults, and the connections that met one.
    pub fn heal(&self) {
        self.faults().end();
        self.shared.healed.send_modify(|count| *count += 1);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens to the connection, and how long it lives; for ever while there are no faults.
    fn fate(&self) -> (Option<Fault>, Option<Duration>) {
        let mut faults = self.faults();
        let fault = faults.draw(Traffic::Connection);
        let life = faults.is_on().then(|| faults.delay());
        (fault, life)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut healed = shared.healed.subscribe();
            tokio::select! {
                // An error is a connection that one of both ends closed.
                _ = carry(&shared, client) => {}
                // The sender lives as long as we do.
                _ = healed.changed() => {}
            }
        });
    }
}

async fn carry(shared: &Shared, mut client: TcpStream) -> std::io::Result<()> {
    let (fault, life) = shared.fate();
    match fault {
        Some(Fault::Reset) => return Ok(()),
        Some(Fault::Delay) => tokio::time::sleep(life.unwrap_or_default()).await,
        _ => {}
    }
    let mut server = TcpStream::connect(&shared.upstream).await?;
    let carried = copy_bidirectional(&mut client, &mut server);
    let Some(life) = life else {
        return carried.await.map(drop);
    };
    let _ = tokio::time::timeout(life, carried).await;
    if fault == Some(Fault::HalfOpen) {
        std::future::pending::<()>().await;
    }
    Ok(())
}
