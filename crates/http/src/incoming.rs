//! Where a server's connections come from: a socket that listens, or somebody who accepts for
//! several servers and hands each its share.

use crate::listen::close_queue;
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
    /// A socket on which others listen too.
    Shared(TcpListener),
    /// A Unix socket: our own, whose file goes with us, or one that others hold.
    Unix(UnixListener, Option<SocketFile>),
    /// Handed over one by one.
    Handed(mpsc::Receiver<Handed>, Option<Box<dyn FnOnce()>>),
    /// Nothing comes any more.
    Closed,
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
            Incoming::Closed => std::future::pending().await,
        }
    }

    /// Lets no more connections into the queue. On a socket of others they go on coming; what is in
    /// its queue is theirs unless it is to be emptied.
    pub(crate) fn close(&mut self, empties_queue: bool) {
        match self {
            Incoming::Listener(listener) => close_queue(listener),
            Incoming::Shared(_) | Incoming::Unix(_, None) if !empties_queue => {
                *self = Incoming::Closed;
            }
            Incoming::Unix(_, file) => drop(file.take()),
            Incoming::Handed(_, leave) => {
                if let Some(leave) = leave.take() {
                    leave();
                }
            }
            Incoming::Shared(_) | Incoming::Closed => {}
        }
    }

    /// After [`Incoming::close`]: the next connection that waits.
    pub(crate) async fn left_over(&mut self) -> Option<(TcpStream, SocketAddr)> {
        match self {
            Incoming::Listener(listener) | Incoming::Shared(listener) => {
                listener.accept().now_or_never()?.ok()
            }
            Incoming::Unix(listener, _) => taken(accept_unix(listener).now_or_never()?.ok()?).ok(),
            Incoming::Handed(receiver, _) => loop {
                if let Ok(connection) = taken(receiver.recv().await?) {
                    return Some(connection);
                }
            },
            Incoming::Closed => None,
        }
    }
}

/// From the other thread's event loop, or none, to ours.
fn taken((stream, peer): Handed) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nonblocking(true)?;
    Ok((TcpStream::from_std(stream)?, peer))
}
