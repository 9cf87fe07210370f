//! Unchanged requests for stores whose protocol runs over HTTP.

use crate::client::connection::dial::Connector;
use crate::client::connection::request_head::RequestHead;
use crate::client::failure::{BoxedError, FailureCause, RoundTripFailure};
use crate::client::hosts::Hosts;
use crate::client::paced::{BodyFailure, TimedBody};
use crate::network::client_tls::ClientTls;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Body;
use hyper::{Request, Response, Uri};
use runnel_store::{Count, Kind, SlotLimits};
use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The most requests to a host that wait for a connection; more are refused.
const WAITING: usize = 4096;

type TransportBody = UnsyncBoxBody<Bytes, BoxedError>;

/// Options of a [`Transport`].
#[derive(Clone, Debug)]
pub struct TransportOptions {
    /// Connect timeout. Default 10 s.
    pub connect_time: Duration,
    /// Idle timeout between two pieces of a response body, while a reader waits. Default 30 s.
    pub body_idle: Duration,
    /// The most idle connections of each host. Default 1,024.
    pub idle_connections: usize,
    /// The most connections of each host in use. A connection is in use until its response is
    /// complete. Default 1,024.
    pub connections: usize,
    /// The longest wait for a connection; at most 4,096 requests wait. Default 5 s.
    pub wait: Duration,
}

impl Default for TransportOptions {
    fn default() -> Self {
        TransportOptions {
            connect_time: Duration::from_secs(10),
            body_idle: Duration::from_secs(30),
            idle_connections: 1024,
            connections: 1024,
            wait: Duration::from_secs(5),
        }
    }
}

/// Connections to any number of hosts over HTTP/1.1, kept and used again. Unlike the store
/// [`crate::client`] it sends and answers what it is given: no redirects, no media types, no second
/// attempts. TLS certificates are always verified, against the roots that Mozilla trusts.
///
/// Clones share the connections. The futures are `Send`, as libraries for other protocols require.
#[derive(Clone)]
pub struct Transport {
    dial: Arc<Connector>,
    hosts: Arc<Hosts>,
    body_idle: Duration,
}

impl Transport {
    /// A transport without connections.
    pub fn new(options: TransportOptions) -> Self {
        let dial = Arc::new(Connector::new(None, options.connect_time));
        let limits =
            SlotLimits { slots: options.connections, waiting: WAITING, wait: options.wait };
        let hosts = Arc::new(Hosts::new(limits, options.idle_connections, None));
        Transport { dial, hosts, body_idle: options.body_idle }
    }

    /// A transport that trusts the authorities of a PEM text and no others. `file` names the text in
    /// errors.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: the text has no usable authority.
    pub fn with_authorities(
        options: TransportOptions,
        text: &[u8],
        file: &str,
    ) -> runnel_store::Result<Self> {
        let tls = Ok(ClientTls::trusting(text, file)?.connector());
        let mut transport = Transport::new(options);
        let time = transport.dial.time;
        transport.dial = Arc::new(Connector { tls, ..Connector::new(None, time) });
        Ok(transport)
    }

    /// Sends a request and waits for the head of the response, at most until `until`. The caller
    /// drives the response body. Dropping the future or the body cancels the request.
    ///
    /// # Errors
    /// The failure of the transport; a status is never an error.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        until: Instant,
    ) -> Result<Response<Received>, TransportError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxedError>,
    {
        let place = authority_of(request.uri());
        let Some(host) = self.hosts.of(request.uri()) else {
            let message = "the address names no host".to_string();
            let fault = TransportFault::Connect;
            return Err(TransportError { fault, message, detail: String::new(), is_sent: false });
        };
        let slot = host.slots.take(Some(until)).await.map_err(|none| {
            let fault = match none.kind() {
                Kind::Timeout => TransportFault::Timeout,
                _ => TransportFault::Crowded,
            };
            let message = none.message(&format!("connections to {place}"));
            TransportError { fault, message, detail: String::new(), is_sent: false }
        })?;
        host.counters.add(Count::Requests, 1);
        let (parts, body) = request.into_parts();
        let (method, target, headers) = (&parts.method, &parts.uri, &parts.headers);
        let head = RequestHead { method, target, headers, media_type: None };
        let (body, is_sent) = (body.map_err(Into::into).boxed_unsync(), AtomicBool::new(false));
        let sending = host.send(&self.dial, head, body, &is_sent);
        let answer = match tokio::time::timeout_at(until.into(), sending).await {
            Err(_) => Err(TransportError {
                is_sent: is_sent.load(Ordering::Relaxed),
                ..TransportError::late(&place, "answer")
            }),
            Ok(Err(failure)) => Err(TransportError::of(&failure, &place)),
            Ok(Ok(answered)) => Ok(answered),
        };
        if !answer.as_ref().is_ok_and(|(head, _)| !head.status.is_server_error()) {
            host.counters.add(Count::Failures, 1);
        }
        let (head, mut trip) = answer?;
        trip.hold(slot);
        let content = TimedBody::new(trip, Some(self.body_idle));
        let mut response = Response::new(Received { content, place });
        *response.status_mut() = head.status;
        *response.version_mut() = head.version;
        *response.headers_mut() = head.headers;
        Ok(response)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Transport").field("body_idle", &self.body_idle).finish_non_exhaustive()
    }
}

fn authority_of(target: &Uri) -> String {
    target.authority().map_or("the server", |authority| authority.as_str()).to_string()
}

/// The body of an answer. It ends with an error when nothing comes for the time that
/// [`TransportOptions::body_idle`] says, counted only while a reader waits.
pub struct Received {
    content: TimedBody<TransportBody>,
    place: String,
}

impl Received {
    /// The next piece; `None` at the end, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, TransportError>> {
        let piece = poll_fn(|context| self.content.poll_piece(context)).await?;
        Some(piece.map_err(|gap| match gap {
            BodyFailure::Late => TransportError::late(&self.place, "continue its response"),
            BodyFailure::Failed(failure) => TransportError {
                message: format!("{} ended its response early", self.place),
                ..TransportError::of(&failure, &self.place)
            },
        }))
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Received").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportFault {
    /// Connecting failed: the request was not sent.
    Connect,
    /// Too many requests wait for a connection, or none became free in time.
    Crowded,
    /// A timeout expired.
    Timeout,
    /// The connection closed during the exchange.
    Closed,
    /// The certificate is not trusted, or the server speaks no TLS.
    Untrusted,
    /// The server does not speak HTTP.
    Malformed,
}

/// A request without a complete response.
#[derive(Clone, Debug)]
pub struct TransportError {
    /// The kind of failure.
    pub fault: TransportFault,
    /// One sentence for people, with the host.
    pub message: String,
    /// All causes, for the log.
    pub detail: String,
    /// Whether the server may have received the request.
    pub is_sent: bool,
}

impl TransportError {
    fn late(host: &str, what: &str) -> Self {
        TransportError {
            fault: TransportFault::Timeout,
            message: format!("{host} took too long to {what}"),
            detail: String::new(),
            is_sent: true,
        }
    }

    pub(crate) fn of(failure: &RoundTripFailure, host: &str) -> Self {
        let detail = failure.to_string();
        let (fault, message) = match failure.root() {
            FailureCause::Tls(reason) => {
                let message = format!("{host} has no trustworthy secure connection: {reason}");
                (TransportFault::Untrusted, message)
            }
            FailureCause::Malformed => {
                let message = format!("{host} does not speak HTTP");
                (TransportFault::Malformed, message)
            }
            FailureCause::Io(io::ErrorKind::ConnectionRefused) => {
                (TransportFault::Connect, format!("{host} refused the connection"))
            }
            FailureCause::Io(io::ErrorKind::TimedOut) => {
                (TransportFault::Timeout, format!("{host} took too long to connect"))
            }
            FailureCause::Closed
            | FailureCause::Io(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => closed(host),
            _ if failure.is_connect() => {
                (TransportFault::Connect, format!("{host} cannot be reached"))
            }
            _ => (TransportFault::Closed, format!("{host} cannot be used")),
        };
        // A connection that failed before the request is safe to retry.
        let is_early = failure.is_connect() && fault == TransportFault::Closed;
        let fault = if is_early { TransportFault::Connect } else { fault };
        TransportError { fault, message, detail, is_sent: !failure.is_connect() }
    }
}

fn closed(host: &str) -> (TransportFault, String) {
    (TransportFault::Closed, format!("{host} closed the connection without a response"))
}

impl fmt::Display for TransportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl StdError for TransportError {}

impl From<TransportError> for runnel_store::Error {
    fn from(error: TransportError) -> Self {
        let (kind, temporary) = match error.fault {
            TransportFault::Connect | TransportFault::Closed | TransportFault::Crowded => {
                (Kind::Unavailable, true)
            }
            TransportFault::Timeout => (Kind::Timeout, true),
            TransportFault::Untrusted => (Kind::Denied, false),
            TransportFault::Malformed => (Kind::Failed, false),
        };
        runnel_store::Error::new(kind, error.message)
            .with_temporary(temporary)
            .with_detail(error.detail)
    }
}
