//! Requests over HTTP/2 to servers with TLS that choose it by ALPN: one connection to a host carries all of them,
//! up to the number of streams that the server allows; the rest waits for a stream.

use crate::client::connection::dial::Connector;
use crate::client::connection::line::ClientConnection;
use crate::client::connection::request_head::RequestHead;
use crate::client::connection::response_head::ReceivedHead;
use crate::client::connection::round_trip::{RoundTrip, StreamBody};
use crate::client::failure::RoundTripFailure;
use crate::client::hosts::Host;
use crate::client::outgoing::RequestPayload;
use crate::network::wire::chose_http2;
use crate::server::protocols::Local;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header;
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;

/// Bytes that a server may send of a response before they are read.
const STREAM_WINDOW: u32 = 256 * 1024;
/// Bytes that it may send of all responses of a connection.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// The longest header section of a response, in bytes.
const LONGEST_HEADERS: u32 = 256 * 1024;
/// Interval of pings while requests are active, and the wait for their answer.
const PING: Duration = Duration::from_secs(20);
/// A connection without requests during a whole interval is closed.
const IDLE: Duration = Duration::from_secs(25);
/// The most remembered hosts; beyond, those without a connection are forgotten.
const REMEMBERED: usize = 1024;

/// The hosts of a client as HTTP/2 knows them.
#[derive(Default)]
pub(crate) struct Http2Hosts(RefCell<HashMap<Authority, Rc<Http2Host>>>);

/// A host. The lock lets one request open the connection that all of them use.
#[derive(Default)]
struct Http2Host {
    connection: RefCell<Option<Multiplexed>>,
    opening: Mutex<()>,
    /// The server has chosen HTTP/1.1.
    is_http1: Cell<bool>,
}

#[derive(Clone)]
struct Multiplexed {
    sender: SendRequest<RequestPayload>,
    /// Held by each response that is not complete.
    active: Arc<()>,
    /// The requests so far.
    requests: Rc<Cell<u64>>,
}

impl Http2Hosts {
    /// Sends a request over HTTP/2. `Err` gives the payload back where the server speaks HTTP/1.1 only, or
    /// the request cannot be said in HTTP/2.
    pub(crate) async fn send(
        &self,
        dial: &Connector,
        host: &Host,
        head: &RequestHead<'_>,
        payload: RequestPayload,
        is_sent: &AtomicBool,
    ) -> Result<Result<Answered, RoundTripFailure>, RequestPayload> {
        let is_secure = head.target.scheme() == Some(&Scheme::HTTPS);
        let authority = head.target.authority().filter(|_| is_secure);
        let Some(authority) = authority.filter(|_| !head.headers.contains_key(header::HOST)) else {
            return Err(payload);
        };
        let known = self.host(authority);
        if known.is_http1.get() {
            return Err(payload);
        }
        let connection = match known.connect(dial, host, head.target).await {
            Ok(Some(connection)) => connection,
            Ok(None) => return Err(payload),
            Err(failure) => return Ok(Err(failure)),
        };
        is_sent.store(true, Ordering::Relaxed);
        Ok(connection.send(head, payload).await)
    }

    /// Opens another connection for the requests that follow: over this one, a response is late. What its other
    /// streams wait for still arrives.
    pub(crate) fn forget(&self, target: &Uri) {
        if let Some(host) = target.authority().and_then(|one| self.0.borrow().get(one).cloned()) {
            host.connection.replace(None);
        }
    }

    fn host(&self, authority: &Authority) -> Rc<Http2Host> {
        let mut hosts = self.0.borrow_mut();
        if let Some(known) = hosts.get(authority) {
            return known.clone();
        }
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, host| host.connection.borrow().is_some());
        }
        let made = Rc::<Http2Host>::default();
        hosts.insert(authority.clone(), made.clone());
        made
    }
}

/// The head of a response, and what reads its body.
type Answered = (ReceivedHead, Box<RoundTrip<RequestPayload>>);

impl Http2Host {
    fn usable(&self) -> Option<Multiplexed> {
        let mut connection = self.connection.borrow_mut();
        if connection.as_ref().is_some_and(|one| one.sender.is_closed()) {
            *connection = None;
        }
        connection.clone()
    }

    /// The open connection, or a new one; `None` where the server chose HTTP/1.1: the connection is then in
    /// the pool of the host.
    async fn connect(
        self: &Rc<Self>,
        dial: &Connector,
        host: &Host,
        target: &Uri,
    ) -> Result<Option<Multiplexed>, RoundTripFailure> {
        if let Some(open) = self.usable() {
            return Ok(Some(open));
        }
        let _opening = self.opening.lock().await;
        if let Some(open) = self.usable() {
            return Ok(Some(open));
        }
        if self.is_http1.get() {
            return Ok(None);
        }
        let mut line = dial.connect(target, &host.counters).await?;
        if !chose_http2(&line.wire()) {
            self.is_http1.set(true);
            host.keep(line);
            return Ok(None);
        }
        let (sender, connection) = Builder::new(Local)
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(LONGEST_HEADERS)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .handshake(TokioIo::new(Multiplexing(line)))
            .await
            .map_err(|error| RoundTripFailure::Broken(io::Error::other(error)))?;
        let open = Multiplexed { sender, active: Arc::new(()), requests: Rc::default() };
        self.connection.replace(Some(open.clone()));
        let host = self.clone();
        let (active, requests) = (open.active.clone(), open.requests.clone());
        tokio::task::spawn_local(async move {
            let mut connection = std::pin::pin!(connection);
            loop {
                let before = requests.get();
                match tokio::time::timeout(IDLE, connection.as_mut()).await {
                    Ok(ended) => {
                        if let Err(error) = ended {
                            tracing::debug!(%error, "a connection of HTTP/2 ended");
                        }
                        return;
                    }
                    // One is held here, one by the host.
                    Err(_) if requests.get() == before && Arc::strong_count(&active) <= 2 => {
                        // Without senders, the connection says goodbye and ends.
                        host.connection.replace(None);
                    }
                    Err(_) => {}
                }
            }
        });
        Ok(Some(open))
    }
}

impl Multiplexed {
    async fn send(
        mut self,
        head: &RequestHead<'_>,
        payload: RequestPayload,
    ) -> Result<Answered, RoundTripFailure> {
        self.requests.set(self.requests.get() + 1);
        let mut request = Request::new(payload);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.target.clone();
        *request.headers_mut() = head.headers.clone();
        let headers = request.headers_mut();
        for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
            headers.remove(name);
        }
        if let Some(media_type) = head.media_type {
            headers.insert(header::CONTENT_TYPE, media_type.clone());
        }
        let response = self.sender.send_request(request).await.map_err(|error| {
            tracing::debug!(%error, "a request over HTTP/2 failed");
            // GOAWAY, a refused stream, a closed connection: the server may have seen the request.
            RoundTripFailure::Closed
        })?;
        let (parts, body) = response.into_parts();
        let head =
            ReceivedHead { status: parts.status, version: parts.version, headers: parts.headers };
        Ok((head, Box::new(RoundTrip::of_stream(StreamBody::new(body, self.active)))))
    }
}

/// A connection as hyper uses it.
struct Multiplexing(ClientConnection);

impl AsyncRead for Multiplexing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.wire().poll_read(context, buffer)
    }
}

impl AsyncWrite for Multiplexing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.wire().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.wire().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.wire().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.wire().poll_shutdown(context)
    }
}
