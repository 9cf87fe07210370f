//! Where a server's connections come from: a socket that listens, or somebody who accepts for
//! several servers and hands each its share.

use futures_util::FutureExt;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A connection that another thread has accepted, and the address of its client.
pub type Handed = (std::net::TcpStream, SocketAddr);

/// Where connections come from.
pub(crate) enum Incoming {
    /// Our own socket, which is closed with us.
    Listener(TcpListener),
    /// A socket on which others listen too: what waits at our end is left to them.
    Shared(TcpListener),
    /// Handed over one by one.
    Handed(mpsc::Receiver<Handed>),
}

impl Incoming {
    /// The next connection. Nobody hands any more: never.
    pub(crate) async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Incoming::Listener(listener) | Incoming::Shared(listener) => listener.accept().await,
            Incoming::Handed(receiver) => match receiver.recv().await {
                Some(handed) => taken(handed),
                None => std::future::pending().await,
            },
        }
    }

    /// At the end: a connection that is ours already, so that nobody else would answer it.
    pub(crate) fn left_over(&mut self) -> Option<(TcpStream, SocketAddr)> {
        match self {
            Incoming::Listener(listener) => listener.accept().now_or_never()?.ok(),
            Incoming::Shared(_) => None,
            Incoming::Handed(receiver) => {
                receiver.close();
                loop {
                    if let Ok(connection) = taken(receiver.try_recv().ok()?) {
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
