//! Where a server's connections come from: a socket that listens, or somebody who accepts for
//! several servers and hands each its share.

use crate::unix::{SocketFile, accept_unix};
use futures_util::FutureExt;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::mpsc;

/// A connection that another thread has accepted, and the address of its client.
pub type Handed = (std::net::TcpStream, SocketAddr);

/// A server's share of the connections that another thread accepts.
pub struct Share {
    /// What the server is handed. It ends when the other thread has heard that the server leaves.
    pub connections: mpsc::Receiver<Handed>,
    /// Says that the server leaves. Whatever was accepted for it before is still handed over.
    pub leave: Box<dyn FnOnce()>,
}

/// Where connections come from.
pub(crate) enum Incoming {
    /// Our own socket, which is closed with us.
    Listener(TcpListener),
    /// A socket on which others listen too: what waits at our end is left to them.
    Shared(TcpListener),
    /// A Unix socket: our own, whose file goes with us, or one that others hold.
    Unix(UnixListener, Option<SocketFile>),
    /// Handed over one by one.
    Handed(mpsc::Receiver<Handed>, Option<Box<dyn FnOnce()>>),
}

impl Incoming {
    /// The next connection. Nobody hands any more: never.
    pub(crate) async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Incoming::Listener(listener) | Incoming::Shared(listener) => listener.accept().await,
            Incoming::Unix(listener, _) => taken(accept_unix(listener).await?),
            Incoming::Handed(receiver, _) => match receiver.recv().await {
                Some(handed) => taken(handed),
                None => std::future::pending().await,
            },
        }
    }

    /// At the end: a connection that is ours already, so that nobody else would answer it.
    pub(crate) async fn left_over(&mut self) -> Option<(TcpStream, SocketAddr)> {
        match self {
            Incoming::Listener(listener) => listener.accept().now_or_never()?.ok(),
            Incoming::Shared(_) | Incoming::Unix(_, None) => None,
            Incoming::Unix(listener, Some(_)) => {
                taken(accept_unix(listener).now_or_never()?.ok()?).ok()
            }
            Incoming::Handed(receiver, leave) => {
                if let Some(leave) = leave.take() {
                    leave();
                }
                loop {
                    if let Ok(connection) = taken(receiver.recv().await?) {
                        return Some(connection);
                    }
                }
            }
        }
    }
}

/// From the other thread's event loop, or none, to ours.
fn taken((stream, peer): Handed) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nonblocking(true)?;
    Ok((TcpStream::from_std(stream)?, peer))
}
