//! Sources of connections: a listening socket, or another thread that accepts for several servers.

use crate::network::unix_socket::{SocketFile, accept_unix};
use crate::server::listener::descriptors::out_of_descriptors;
use crate::server::listener::listen::{AcceptQueue, Handed, close_queue};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{mpsc, oneshot};

/// A server's share of the connections that another thread accepts.
pub struct Share {
    /// The handed connections. Ends when the other thread knows that the server leaves.
    pub connections: mpsc::Receiver<Handed>,
    /// Tells that the server leaves. Connections accepted for it before are still handed over.
    pub leave: Box<dyn FnOnce()>,
    /// The other thread needs a file descriptor: closes an idle connection and answers whether
    /// there was one.
    pub scarce: mpsc::Receiver<oneshot::Sender<bool>>,
}

/// A source of connections.
pub(crate) enum ConnectionSource {
    /// An own socket, which closes with the server.
    Listener(TcpListener),
    /// A shared listening socket.
    Shared(TcpListener),
    /// A Unix socket: an own one, whose file is removed at the end, or a shared one.
    Unix(UnixListener, Option<SocketFile>),
    /// Handed over one by one; with an unanswered request for a descriptor.
    Handed(Share, Option<oneshot::Sender<bool>>),
}

/// Connections that remain when accepting stops.
pub(crate) enum Leftover {
    Accepting(AcceptQueue),
    Handed(mpsc::Receiver<Handed>),
}

impl ConnectionSource {
    /// The next connection. Never ready when no thread hands any more.
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

    /// Stops queueing. On a shared socket others go on accepting; its queue is theirs unless it is
    /// to be emptied.
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
    /// The next remaining connection.
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

/// Moves a stream from the other thread's event loop to this one.
fn taken((stream, peer): Handed) -> io::Result<(TcpStream, SocketAddr)> {
    stream.set_nonblocking(true)?;
    Ok((TcpStream::from_std(stream)?, peer))
}
