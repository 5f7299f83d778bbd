//! A network namespace, and connections into it and out of it.
//!
//! A socket stays in the namespace in which it was opened. Only a thread that ends at once ever enters one.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::task::JoinHandle;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// That of a process.
    pub fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/ns/net");
        let file = File::open(&path).with_context(|| format!("open {path}"))?;
        Ok(Self(Arc::new(file)))
    }

    fn enter<T: Send + 'static>(&self, open: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
        let file = Arc::clone(&self.0);
        let thread = std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            open()
        });
        let opened = thread
            .join()
            .map_err(|_| anyhow!("the thread in the network namespace panicked"))?;
        opened.context("in the node's network namespace")
    }

    fn listen(&self, address: SocketAddr) -> Result<tokio::net::TcpListener> {
        let listener = self.enter(move || TcpListener::bind(address))?;
        listener.set_nonblocking(true)?;
        Ok(tokio::net::TcpListener::from_std(listener)?)
    }

    async fn connect(self, address: SocketAddr) -> Result<tokio::net::TcpStream> {
        let open = move || TcpStream::connect_timeout(&address, CONNECT_LIMIT);
        let stream = tokio::task::spawn_blocking(move || self.enter(open)).await??;
        stream.set_nonblocking(true)?;
        Ok(tokio::net::TcpStream::from_std(stream)?)
    }
}

/// Passes on TCP connections as long as it lives.
pub struct Relay(JoinHandle<()>);

impl Relay {
    /// From an address in the namespace to one of this machine.
    pub(super) fn into(namespace: &Namespace, from: SocketAddr, to: SocketAddr) -> Result<Self> {
        let listener = namespace.listen(from)?;
        let connect = move || async move { Ok(tokio::net::TcpStream::connect(to).await?) };
        Ok(Self::start(listener, connect))
    }

    /// From an address of this machine, which is returned, to one in the namespace.
    pub(super) async fn out_of(namespace: Namespace, to: SocketAddr) -> Result<(SocketAddr, Self)> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let relay = Self::start(listener, move || namespace.clone().connect(to));
        Ok((address, relay))
    }

    fn start<C, F>(listener: tokio::net::TcpListener, connect: C) -> Self
    where
        C: Fn() -> F + Send + 'static,
        F: Future<Output = Result<tokio::net::TcpStream>> + Send + 'static,
    {
        Self(tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let connecting = connect();
                tokio::spawn(async move {
                    // A connection that fails is closed, which is all that a client of TCP can see.
                    if let Ok(mut server) = connecting.await {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        }))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.0.abort();
    }
}
