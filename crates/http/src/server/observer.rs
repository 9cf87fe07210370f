//! Who watches a server is told of its connections and requests. Without an observer a request pays
//! one comparison.

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

/// The status that stands for an answer which was never given: the client went away before
/// (nginx's number).
pub const CLIENT_GONE: u16 = 499;

/// Work for one request that is told at once: others begin to notice.
const LONG_HOLD: Duration = Duration::from_millis(10);

/// The longest pattern that is kept for a request, in bytes.
const LONGEST_ROUTE: usize = 256;

/// Watches a server, on the thread that serves. Everything it does is time that a request waits.
pub trait Observer: fmt::Debug {
    /// A connection was accepted.
    fn opened(&self, peer: SocketAddr);
    /// A connection has ended.
    fn closed(&self, peer: SocketAddr);
    /// Whether each request is to have a name (`X-Request-Id`) and a place in a trace.
    fn names_requests(&self) -> bool;
    /// Whether a trace that begins here is to be written down.
    fn samples(&self, trace: u128) -> bool;
    /// The head of a request of HTTP/1.1 was refused before it could be read as one. No other method
    /// is called for it.
    fn refused(&self, refused: &RefusedHead);
    /// A request came.
    fn begun(&self, request: &ObservedRequest);
    /// A request is over: its answer was handed over to the last byte, or is not wanted any more.
    fn ended(&self, request: &ObservedRequest);
    /// The thread worked for a request for this long, 10 ms or more, and for nobody else.
    fn held(&self, request: &ObservedRequest, time: Duration);
    /// A call to another server, made for a request, is over.
    fn called(&self, request: &ObservedRequest, call: &OutboundCall);
}

/// A head that is none, or too large, or too slow.
#[derive(Clone, Copy, Debug)]
pub struct RefusedHead {
    /// Who made the connection: what such a head says of proxies is not believed.
    pub peer: SocketAddr,
    /// The status of the answer.
    pub status: u16,
    /// What was wrong: one of a few dozen fixed sentences.
    pub reason: &'static str,
    /// How long the body of the answer is, in bytes.
    pub sent: u64,
}

/// One request, from its head to the end of its answer.
pub struct ObservedRequest {
    observer: Rc<dyn Observer>,
    method: Method,
    uri: Uri,
    version: Version,
    peer: SocketAddr,
    agent: Option<HeaderValue>,
    referrer: Option<HeaderValue>,
    length: Option<u64>,
    id: Option<HeaderValue>,
    trace: Option<TraceContext>,
    started: Instant,
    status: Cell<u16>,
    sent: Cell<u64>,
    /// How long the body of the answer is, where that is known.
    expected: Cell<Option<u64>>,
    whole: Cell<bool>,
    busy: Cell<Duration>,
    held: Cell<Duration>,
    route: RefCell<Option<String>>,
}

impl ObservedRequest {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The target as it was sent.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The version of the protocol.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The address of the client.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The field `User-Agent`.
    pub fn agent(&self) -> Option<&HeaderValue> {
        self.agent.as_ref()
    }

    /// The field `Referer`.
    pub fn referrer(&self) -> Option<&HeaderValue> {
        self.referrer.as_ref()
    }

    /// How long the body of the request says it is, in bytes.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The name of the request; `None` when the observer wants no names.
    pub fn id(&self) -> Option<&str> {
        self.id.as_ref().and_then(|id| id.to_str().ok())
    }

    /// Its place in a trace; `None` when the observer wants no names.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// When its head had come.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The status of the answer; 0 before there is one, [`CLIENT_GONE`] when there was none.
    pub fn status(&self) -> u16 {
        self.status.get()
    }

    /// How many bytes of body were handed over to the connection.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// Whether the body was handed over to its end.
    pub fn is_whole(&self) -> bool {
        // Of an answer without a body nothing is asked.
        self.whole.get() || self.method == Method::HEAD || self.expected.get() == Some(self.sent())
    }

    /// How long the thread worked for this request.
    pub fn busy(&self) -> Duration {
        self.busy.get()
    }

    /// How long the thread worked for this request at most, before others had their turn.
    pub fn held(&self) -> Duration {
        self.held.get()
    }

    /// The pattern of the program that answered, such as `/item/:id`; `None` when no program did.
    pub fn route(&self) -> Option<String> {
        self.route.borrow().clone()
    }

    /// Does something with the pattern, without a copy.
    pub fn with_route<T>(&self, act: impl FnOnce(Option<&str>) -> T) -> T {
        act(self.route.borrow().as_deref())
    }

    /// A program says which of its patterns answers. The first one counts: what that asks of others
    /// in turn is its own matter.
    pub(crate) fn set_route(&self, pattern: &str) {
        let mut route = self.route.borrow_mut();
        if route.is_none() && pattern.len() <= LONGEST_ROUTE {
            *route = Some(pattern.to_string());
        }
    }

    /// The thread worked for this request.
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
    /// Where to, without the query.
    pub target: String,
    /// Its place in the trace.
    pub trace: TraceContext,
    /// When it began.
    pub started: Instant,
    /// How long it took to the head of the answer.
    pub took: Duration,
    /// The status, or what went wrong.
    pub outcome: Result<u16, String>,
}

/// What is told of one request. When this is dropped the request is over.
pub(crate) struct RequestWatch(Rc<ObservedRequest>);

impl RequestWatch {
    /// A request came.
    pub(crate) fn begin(
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

    /// The response is known: its status, and the length of its body where there is one. It carries
    /// the id of the request.
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

    /// What is told.
    pub(crate) fn observed(&self) -> Rc<ObservedRequest> {
        self.0.clone()
    }

    /// The first work for the request is done: it is answered at once or later.
    pub(crate) fn dispatched(&self) {
        self.0.worked(self.0.started.elapsed());
    }

    /// Something was done for this request.
    pub(crate) fn during<T>(&self, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = act();
        self.0.worked(start.elapsed());
        done
    }

    /// So many bytes of the body were handed over.
    pub(crate) fn sent(&self, bytes: u64) {
        self.0.sent.set(self.0.sent.get() + bytes);
    }

    /// The body has come to its end.
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

/// A call that is under way for a request.
struct UnderWay {
    request: Rc<ObservedRequest>,
    method: String,
    target: String,
    trace: TraceContext,
    started: Instant,
    is_told: bool,
}

/// A call to another server begins.
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
        self.tell(Err("it was given up".to_string()));
    }
}
