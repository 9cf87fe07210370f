//! Connections: to the host of an address, or to a Unix socket whatever the host.

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use runnel_store::{Count, Counters, Level};
use std::future::Future;
use std::io::{self, IoSlice};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tower_service::Service;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections.
#[derive(Clone)]
pub(super) enum Dial {
    /// To the host and port of each address.
    Host(HttpConnector),
    /// To one socket, within this time.
    Socket(Arc<Path>, Duration),
}

impl Dial {
    pub(super) fn new(socket: Option<&Path>, connect_time: Duration) -> Self {
        if let Some(socket) = socket {
            return Dial::Socket(socket.into(), connect_time);
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect_time));
        Dial::Host(tcp)
    }
}

impl Service<Uri> for Dial {
    type Response = Line;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Line, Fault>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match self {
            Dial::Host(tcp) => tcp.poll_ready(context).map_err(Into::into),
            Dial::Socket(..) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        match self {
            Dial::Host(tcp) => {
                let target = address.clone();
                let connecting = tcp.call(address);
                let counters = super::hosts::counters(&target, None);
                Box::pin(async move { Ok(Line::new(End::Host(connecting.await?), counters)) })
            }
            Dial::Socket(path, time) => {
                let (path, time) = (path.clone(), *time);
                let counters = super::hosts::counters(&address, Some(&path));
                Box::pin(async move {
                    let connecting = tokio::time::timeout(time, UnixStream::connect(&path));
                    let connected = connecting.await.map_err(|_| io::ErrorKind::TimedOut);
                    let stream = connected.map_err(io::Error::from)??;
                    Ok(Line::new(End::Socket(TokioIo::new(stream)), counters))
                })
            }
        }
    }
}

/// A connection, counted as long as it is open.
pub(super) struct Line {
    end: End,
    counters: Arc<Counters>,
}

/// What it leads to.
enum End {
    Host(TokioIo<TcpStream>),
    Socket(TokioIo<UnixStream>),
}

impl Line {
    fn new(end: End, counters: Arc<Counters>) -> Self {
        counters.add(Count::Opened, 1);
        counters.rise(Level::Open, 1);
        Line { end, counters }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.counters.fall(Level::Open, 1);
    }
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        match &self.end {
            End::Host(stream) => stream.connected(),
            End::Socket(_) => Connected::new(),
        }
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Host(stream) => Pin::new(stream).poll_read(context, into),
            End::Socket(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.end {
            End::Host(stream) => Pin::new(stream).poll_write(context, bytes),
            End::Socket(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Host(stream) => Pin::new(stream).poll_flush(context),
            End::Socket(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.end {
            End::Host(stream) => Pin::new(stream).poll_shutdown(context),
            End::Socket(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.end {
            End::Host(stream) => stream.is_write_vectored(),
            End::Socket(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.end {
            End::Host(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            End::Socket(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }
}
