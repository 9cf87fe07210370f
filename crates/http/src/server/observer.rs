//! Observers of connections and requests. Without an observer a request pays one comparison.

use crate::protocol::request_id;
use crate::protocol::trace_context::{self, TraceContext};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri, Version};
use runnel_store::Calling;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The status of a request whose client closed before the response (499, as in nginx).
pub const CLIENT_GONE: u16 = 499;

/// Time on the thread that is reported at once: other requests notice it.
const LONG_HOLD: Duration = Duration::from_millis(10);

/// The longest recorded route, in bytes.
const LONGEST_ROUTE: usize = 256;

/// Observes a server, on the serving thread. Its methods add to the latency of a request.
pub trait Observer: fmt::Debug {
    /// A connection was accepted.
    fn opened(&self, peer: SocketAddr);
    /// A connection ended.
    fn closed(&self, peer: SocketAddr);
    /// Whether each request gets an id (`X-Request-Id`) and a trace context.
    fn names_requests(&self) -> bool;
    /// Whether to sample a trace that starts here.
    fn samples(&self, trace: u128) -> bool;
    /// An HTTP/1.1 head was refused during parsing. No other method is called for it.
    fn refused(&self, refused: &RefusedHead);
    /// A request started.
    fn begun(&self, request: &ObservedRequest);
    /// A request ended: its response is complete or cancelled.
    fn ended(&self, request: &ObservedRequest);
    /// A request held the thread for this long, 10 ms or more, without yielding.
    fn held(&self, request: &ObservedRequest, time: Duration);
    /// A call to another server, made for a request, ended.
    fn called(&self, request: &ObservedRequest, call: &OutboundCall);
}

/// A malformed, oversized or slow head.
#[derive(Clone, Copy, Debug)]
pub struct RefusedHead {
    /// The peer of the connection: forwarded addresses in such a head are not trusted.
    pub peer: SocketAddr,
    /// The status of the response.
    pub status: u16,
    /// The reason: one of a few dozen fixed sentences.
    pub reason: &'static str,
    /// The length of the response body, in bytes.
    pub sent: u64,
}

/// One request, from its head to the end of its response.
pub struct ObservedRequest {
    observer: Rc<dyn Observer>,
    /// The method.
    pub method: Method,
    /// The target as sent.
    pub uri: Uri,
    /// The version of the protocol.
    pub version: Version,
    /// The address of the client.
    pub peer: SocketAddr,
    /// The field `User-Agent`.
    pub agent: Option<HeaderValue>,
    /// The field `Referer`.
    pub referrer: Option<HeaderValue>,
    /// The `Content-Length` of the request.
    pub length: Option<u64>,
    id: Option<HeaderValue>,
    /// The trace context; `None` when the observer wants none.
    pub trace: Option<TraceContext>,
    /// When the head was complete.
    pub started: Instant,
    status: Cell<u16>,
    sent: Cell<u64>,
    /// The length of the response body, if known.
    expected: Cell<Option<u64>>,
    whole: Cell<bool>,
    busy: Cell<Duration>,
    held: Cell<Duration>,
    route: RefCell<Option<String>>,
}

impl ObservedRequest {
    /// The request id; `None` when the observer wants none.
    pub fn id(&self) -> Option<&str> {
        self.id.as_ref().and_then(|id| id.to_str().ok())
    }

    /// The status of the response; 0 before there is one, [`CLIENT_GONE`] without one.
    pub fn status(&self) -> u16 {
        self.status.get()
    }

    /// Bytes of the body passed to the connection.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Whether the body is complete.
    pub fn is_whole(&self) -> bool {
        // A response without a body is complete.
        self.whole.get() || self.method == Method::HEAD || self.expected.get() == Some(self.sent())
    }

    /// The time that the thread spent on this request.
    pub fn busy(&self) -> Duration {
        self.busy.get()
    }

    /// The longest time that this request held the thread without yielding.
    pub fn held(&self) -> Duration {
        self.held.get()
    }

    /// The route of the program, such as `/item/:id`; `None` when no route matched.
    pub fn route(&self) -> Option<String> {
        self.route.borrow().clone()
    }

    /// Calls a function with the route, without a copy.
    pub fn with_route<T>(&self, act: impl FnOnce(Option<&str>) -> T) -> T {
        act(self.route.borrow().as_deref())
    }

    /// Records the route. The first one wins: routes of nested calls do not count.
    pub(crate) fn set_route(&self, pattern: &str) {
        let mut route = self.route.borrow_mut();
        if route.is_none() && pattern.len() <= LONGEST_ROUTE {
            *route = Some(pattern.to_string());
        }
    }

    /// Adds time that the thread spent on this request.
    fn worked(&self, time: Duration) {
        self.busy.set(self.busy.get() + time);
        if time > self.held.get() {
            self.held.set(time);
        }
        if time >= LONG_HOLD {
            self.observer.held(self, time);
        }
    }
}

impl fmt::Debug for ObservedRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ObservedRequest")
            .field("method", &self.method)
            .field("path", &self.uri.path())
            .field("status", &self.status.get())
            .finish_non_exhaustive()
    }
}

/// A call to another server that was made for a request.
#[derive(Clone, Debug)]
pub struct OutboundCall {
    /// The method.
    pub method: String,
    /// The URL without the query.
    pub target: String,
    /// Its trace context.
    pub trace: TraceContext,
    /// When it started.
    pub started: Instant,
    /// Time to the head of the response.
    pub took: Duration,
    /// The status, or the error.
    pub outcome: Result<u16, String>,
}

/// The observer's handle of a request. Dropping it ends the request.
pub(crate) struct RequestWatch(Rc<ObservedRequest>);

impl RequestWatch {
    /// Starts observing a request.
    pub(crate) fn start(
        observer: &Rc<dyn Observer>,
        (method, uri, version): (&Method, &Uri, Version),
        headers: &HeaderMap,
        peer: SocketAddr,
        length: Option<u64>,
    ) -> Self {
        let field = |name: HeaderName| headers.get(name).cloned();
        let names = observer.names_requests();
        let trace = names.then(|| {
            TraceContext::of(headers).unwrap_or_else(|| {
                let mut root = TraceContext::root();
                root.sampled = observer.samples(root.trace);
                root
            })
        });
        let observed = ObservedRequest {
            observer: observer.clone(),
            method: method.clone(),
            uri: uri.clone(),
            version,
            peer,
            agent: field(header::USER_AGENT),
            referrer: field(header::REFERER),
            length,
            id: names.then(|| request_id::of(headers)),
            trace,
            started: Instant::now(),
            status: Cell::new(0),
            sent: Cell::new(0),
            expected: Cell::new(None),
            whole: Cell::new(false),
            busy: Cell::new(Duration::ZERO),
            held: Cell::new(Duration::ZERO),
            route: RefCell::new(None),
        };
        observer.begun(&observed);
        RequestWatch(Rc::new(observed))
    }

    /// The response is known: its status, and the length of its body if known. Adds the request id
    /// to its headers.
    pub(crate) fn answered(
        &self,
        status: StatusCode,
        length: Option<u64>,
        headers: &mut HeaderMap,
    ) {
        self.0.status.set(status.as_u16());
        self.0.expected.set(length);
        if let Some(id) = &self.0.id {
            headers.insert(request_id::HEADER, id.clone());
        }
    }

    /// The observed request.
    pub(crate) fn observed(&self) -> Rc<ObservedRequest> {
        self.0.clone()
    }

    /// The first poll is over: the response is ready or pending.
    pub(crate) fn dispatched(&self) {
        self.0.worked(self.0.started.elapsed());
    }

    /// Measures work for this request.
    pub(crate) fn during<T>(&self, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = act();
        self.0.worked(start.elapsed());
        done
    }

    /// Adds bytes of the body.
    pub(crate) fn sent(&self, bytes: u64) {
        self.0.sent.set(self.0.sent.get() + bytes);
    }

    /// The body is complete.
    pub(crate) fn is_whole(&self) {
        self.0.whole.set(true);
    }
}

impl Drop for RequestWatch {
    fn drop(&mut self) {
        if self.0.status.get() == 0 {
            self.0.status.set(CLIENT_GONE);
        }
        self.0.observer.ended(&self.0);
    }
}

/// A call to another server in progress.
struct UnderWay {
    request: Rc<ObservedRequest>,
    method: String,
    target: String,
    trace: TraceContext,
    started: Instant,
    is_told: bool,
}

/// A call to another server starts.
pub(crate) fn calling(
    request: &Rc<ObservedRequest>,
    method: &str,
    target: &str,
) -> Option<Box<dyn Calling>> {
    let trace = request.trace.as_ref()?.child();
    Some(Box::new(UnderWay {
        request: request.clone(),
        method: method.to_string(),
        target: target.to_string(),
        trace,
        started: Instant::now(),
        is_told: false,
    }))
}

impl UnderWay {
    fn tell(&mut self, outcome: Result<u16, String>) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let call = OutboundCall {
            method: std::mem::take(&mut self.method),
            target: std::mem::take(&mut self.target),
            trace: self.trace.clone(),
            started: self.started,
            took: self.started.elapsed(),
            outcome,
        };
        self.request.observer.called(&self.request, &call);
    }
}

impl Calling for UnderWay {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![(trace_context::PARENT_NAME, self.trace.traceparent())];
        if let Some(state) = self.trace.state.as_ref().and_then(|state| state.to_str().ok()) {
            headers.push((trace_context::STATE_NAME, state.to_string()));
        }
        headers
    }

    fn ended(mut self: Box<Self>, outcome: Result<u16, &runnel_store::Error>) {
        self.tell(outcome.map_err(|error| error.message.clone()));
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.tell(Err("it was cancelled".to_string()));
    }
}
