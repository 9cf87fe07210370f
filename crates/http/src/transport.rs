//! Requests as they are to somewhere else: for stores whose protocol travels over HTTP.

use crate::client::hosts::Hosts;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use runnel_store::{Count, Kind, Slot, SlotLimits};
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// How long an idle connection is kept: less than most servers keep theirs.
const KEPT: Duration = Duration::from_secs(50);

/// How many requests to a host wait for a connection; more are refused.
const WAITING: usize = 4096;

/// The causes of an error that are looked at, from the outside in.
const CAUSES: usize = 16;

type Fault = Box<dyn StdError + Send + Sync>;

/// How a [`Transport`] behaves.
#[derive(Clone, Debug)]
pub struct TransportOptions {
    /// From the first attempt to a connection. Default 10 s.
    pub connect_time: Duration,
    /// Between two pieces of an answer's body that somebody waits for. Default 30 s.
    pub body_idle: Duration,
    /// How many idle connections are kept for each host. Default 1,024.
    pub idle_connections: usize,
    /// How many connections each host gets, idle ones not counted. Default 1,024.
    pub connections: usize,
    /// How long a request waits for one of them; 4,096 wait at most. Default 5 s.
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
/// A clone shares the connections. Its futures are `Send`, because protocols that others have
/// written ask for that.
#[derive(Clone)]
pub struct Transport {
    http: legacy::Client<HttpsConnector<HttpConnector>, UnsyncBoxBody<Bytes, Fault>>,
    hosts: Arc<Hosts>,
    body_idle: Duration,
}

impl Transport {
    /// Without a connection yet.
    pub fn new(options: TransportOptions) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.connect_time));
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(KEPT)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(options.idle_connections)
            .build(connector);
        let limits =
            SlotLimits { slots: options.connections, waiting: WAITING, wait: options.wait };
        let hosts = Arc::new(Hosts::new(limits, None));
        Transport { http, hosts, body_idle: options.body_idle }
    }

    /// Sends a request and answers when the head of the answer has come, at the latest at `until`.
    /// The body of the answer is read as it is wanted. Dropping the future or the body gives the
    /// request up.
    ///
    /// # Errors
    /// What went wrong on the way; a status is never an error.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        until: Instant,
    ) -> Result<Response<Received>, TransportError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Fault>,
    {
        let host = host_of(request.uri());
        let known = self.hosts.of(request.uri());
        let slot = match &known {
            None => None,
            Some(known) => Some(known.slots.take(Some(until)).await.map_err(|none| {
                let fault = match none.kind() {
                    Kind::Timeout => TransportFault::Timeout,
                    _ => TransportFault::Crowded,
                };
                let message = none.message(&format!("connections to {host}"));
                TransportError { fault, message, detail: String::new() }
            })?),
        };
        let count = |what| known.iter().for_each(|known| known.counters.add(what, 1));
        count(Count::Requests);
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let answer = match tokio::time::timeout_at(until.into(), self.http.request(request)).await {
            Err(_) => Err(TransportError::late(&host, "answer")),
            Ok(Err(error)) => Err(TransportError::of(&error, error.is_connect(), &host)),
            Ok(Ok(response)) => Ok(response.map(|body| Received {
                body,
                _slot: slot,
                host,
                idle: self.body_idle,
                timer: Box::pin(tokio::time::sleep(self.body_idle)),
                is_waiting: false,
            })),
        };
        if !answer.as_ref().is_ok_and(|answer| !answer.status().is_server_error()) {
            count(Count::Failures);
        }
        answer
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Transport").field("body_idle", &self.body_idle).finish_non_exhaustive()
    }
}

fn host_of(target: &Uri) -> String {
    target.authority().map_or("the server", |authority| authority.as_str()).to_string()
}

/// The body of an answer. It ends with an error when nothing comes for the time that
/// [`TransportOptions::body_idle`] says, counted only while somebody waits for it.
pub struct Received {
    body: Incoming,
    /// The place among the host's connections.
    _slot: Option<Slot>,
    host: String,
    idle: Duration,
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl Received {
    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, TransportError>> {
        loop {
            match self.frame().await? {
                Ok(frame) => {
                    if let Ok(piece) = frame.into_data() {
                        return Some(Ok(piece));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Received").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = TransportError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| {
                frame.map_err(|error| TransportError {
                    message: format!("{} broke its answer off", this.host),
                    ..TransportError::of(&error, false, &this.host)
                })
            }));
        }
        if !this.is_waiting {
            this.is_waiting = true;
            let until = Instant::now() + this.idle;
            this.timer.as_mut().reset(until.into());
        }
        this.timer
            .as_mut()
            .poll(context)
            .map(|()| Some(Err(TransportError::late(&this.host, "go on with its answer"))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What went wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportFault {
    /// There was no connection, so the request was not sent.
    Connect,
    /// Too many wait for a connection already, or none was free in time.
    Crowded,
    /// It took too long.
    Timeout,
    /// The connection ended in the middle.
    Closed,
    /// The certificate is not to be trusted, or the other side speaks no TLS.
    Untrusted,
    /// The other side does not speak HTTP.
    Malformed,
}

/// One request that got no whole answer.
#[derive(Clone, Debug)]
pub struct TransportError {
    /// What went wrong.
    pub fault: TransportFault,
    /// One sentence for people, with the host.
    pub message: String,
    /// All causes, for the log.
    pub detail: String,
}

impl TransportError {
    fn late(host: &str, what: &str) -> Self {
        TransportError {
            fault: TransportFault::Timeout,
            message: format!("{host} took too long to {what}"),
            detail: String::new(),
        }
    }

    /// Finds the deepest cause that says something.
    fn of(error: &(dyn StdError + 'static), connecting: bool, host: &str) -> Self {
        let mut detail = String::new();
        let mut found = None;
        let mut next = Some(error);
        for _ in 0..CAUSES {
            let Some(cause) = next else { break };
            detail.push_str(if detail.is_empty() { "" } else { ": " });
            detail.push_str(&cause.to_string());
            found = known(cause, host).or(found);
            next = match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => cause.source(),
            };
        }
        let (fault, message) = match found {
            Some(found) => found,
            None if connecting => (TransportFault::Connect, format!("{host} cannot be reached")),
            None => (TransportFault::Closed, format!("{host} cannot be used")),
        };
        // A connection that ended before there was one is safe to try again.
        let is_early = connecting && fault == TransportFault::Closed;
        let fault = if is_early { TransportFault::Connect } else { fault };
        TransportError { fault, message, detail }
    }
}

/// What one cause says.
fn known(cause: &(dyn StdError + 'static), host: &str) -> Option<(TransportFault, String)> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        let message = format!("{host} has no trustworthy secure connection: {error}");
        return Some((TransportFault::Untrusted, message));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        if error.is_parse() {
            let message = format!("{host} answered something else than HTTP");
            return Some((TransportFault::Malformed, message));
        }
        let is_closed = error.is_closed() || error.is_incomplete_message() || error.is_canceled();
        return is_closed.then(|| closed(host));
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::ConnectionRefused => {
            Some((TransportFault::Connect, format!("{host} refused the connection")))
        }
        io::ErrorKind::TimedOut => {
            Some((TransportFault::Timeout, format!("{host} took too long to connect")))
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Some(closed(host)),
        _ => None,
    }
}

fn closed(host: &str) -> (TransportFault, String) {
    (TransportFault::Closed, format!("{host} closed the connection without an answer"))
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
