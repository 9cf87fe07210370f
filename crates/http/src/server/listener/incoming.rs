//! Where a server's connections come from: a socket that listens, or somebody who accepts for
//! several servers and hands each its share.

use crate::network::unix_socket::{SocketFile, accept_unix};
use crate::server::listener::descriptors::out_of_descriptors;
use crate::server::listener::listen::{AcceptQueue, Handed, close_queue};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{mpsc, oneshot};

/// A server's share of the connections that another thread accepts.
pub struct Share {
    /// What the server is handed. It ends when the other thread has heard that the server leaves.
    pub connections: mpsc::Receiver<Handed>,
    /// Says that the server leaves. Whatever was accepted for it before is still handed over.
    pub leave: Box<dyn FnOnce()>,
    /// The other thread has no file descriptor left: an idle connection is given up for it, and the
    /// answer is whether there was one.
    pub scarce: mpsc::Receiver<oneshot::Sender<bool>>,
}

/// Where connections come from.
pub(crate) enum ConnectionSource {
    /// Our own socket, which is closed with us.
    Listener(TcpListener),
    /// A socket on which others listen too.
    Shared(TcpListener),
    /// A Unix socket: our own, whose file goes with us, or one that others hold.
    Unix(UnixListener, Option<SocketFile>),
    /// Handed over one by one; with the question of the other thread that is not answered yet.
    Handed(Share, Option<oneshot::Sender<bool>>),
}

/// What waits when no more connections are accepted.
pub(crate) enum Leftover {
    Accepting(AcceptQueue),
    Handed(mpsc::Receiver<Handed>),
}

impl ConnectionSource {
    /// The next connection. Nobody hands any more: never.
    pub(crate) async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            ConnectionSource::Listener(listener) | ConnectionSource::Shared(listener) => {
                listener.accept().await
            }
            ConnectionSource::Unix(listener, _) => taken(accept_unix(listener).await?),
            ConnectionSource::Handed(share, asked) => tokio::select! {
                handed = share.connections.recv() => match handed {
                    Some(handed) => taken(handed),
                    None => std::future::pending().await,
                },
                Some(asks) = share.scarce.recv() => {
                    *asked = Some(asks);
                    Err(out_of_descriptors())
                }
            },
        }
    }

    /// Lets no more connections into the queue. On a socket of others they go on coming; what is in
    /// its queue is theirs unless it is to be emptied.
    pub(crate) fn close(self, empties_queue: bool) -> Option<Leftover> {
        match self {
            ConnectionSource::Listener(listener) => {
                close_queue(&listener);
                AcceptQueue::of_port(listener).ok().map(Leftover::Accepting)
            }
            ConnectionSource::Shared(_) | ConnectionSource::Unix(_, None) if !empties_queue => None,
            ConnectionSource::Shared(listener) => {
                AcceptQueue::of_port(listener).ok().map(Leftover::Accepting)
            }
            ConnectionSource::Unix(listener, file) => {
                drop(file);
                AcceptQueue::of_unix(listener).ok().map(Leftover::Accepting)
            }
            ConnectionSource::Handed(share, _) => {
                (share.leave)();
                Some(Leftover::Handed(share.connections))
            }
        }
    }
}

impl Leftover {
    /// The next connection that waits.
    pub(crate) async fn next(&mut self) -> Option<(TcpStream, SocketAddr)> {
        loop {
            let handed = match self {
                Leftover::Accepting(queue) => queue.next().await?,
                Leftover::Handed(receiver) => receiver.recv().await?,
            };
            if let Ok(connection) = taken(handed) {
                return Some(connection);
            }
        }
    }
}

/// From the other thread's event loop, or none, to ours.
fn taken((stream, peer): Handed) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nonblocking(true)?;
    Ok((TcpStream::from_std(stream)?, peer))
}
