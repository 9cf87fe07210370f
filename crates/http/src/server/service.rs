//! Dispatch: from a request to the verb or the handler that answers it.

use crate::handler::{Handler, Served};
use crate::protocol::target::{self, InvalidTarget};
use crate::server::busy_poll::BusyPoll;
use crate::server::connection_state::ConnectionState;
use crate::server::observer::{Observer, RequestWatch};
use crate::server::options::{AccessPolicy, Limits};
use crate::server::registry::ConnectionRegistration;
use crate::server::request::body::RequestBody;
use crate::server::request::early_hints::{self, EarlyHints};
use crate::server::request::exchange::HttpExchange;
use crate::server::request::forwarded;
use crate::server::request::head::{self, Head};
use crate::server::request::hosts::ServedHosts;
use crate::server::request::origin::{self, CrossOriginRequest};
use crate::server::request::relay;
use crate::server::request::upload;
use crate::server::response::body::ResponseBody;
use crate::server::response::handler_cycle::HandlerCycle;
use crate::server::response::own_files;
use crate::server::response::panics::guard_now;
use crate::server::response::problem::{Problem, allow};
use crate::server::response::reply::PendingResponse;
use crate::server::response::request_cycle::RequestCycle;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};
use runnel_store::{Reference, Store, Value, Verb, Verbs};
use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

/// The message for a write from a page of another origin.
const FOREIGN_WRITE: &str = "a page of another origin may not write here, unless the option allowedOrigins: names its \
     origin";

/// The request handler of one connection.
pub(crate) struct RequestService {
    /// The served store or handler, borrowed anew for each request.
    pub(crate) served: Rc<RefCell<Served>>,
    pub(crate) limits: Rc<Limits>,
    pub(crate) hosts: Rc<ServedHosts>,
    pub(crate) state: Rc<ConnectionState>,
    pub(crate) peer: SocketAddr,
    pub(crate) observer: Option<Rc<dyn Observer>>,
    pub(crate) busy_poll: Option<Rc<BusyPoll>>,
    /// HTTP/2: concurrent requests.
    pub(crate) multiplexed: bool,
    /// Whether the connection is encrypted.
    pub(crate) is_secure: bool,
    /// The load balancer says that it does not know its client: no field about it is believed.
    pub(crate) is_anonymous: bool,
    /// The verified certificate of the client, where it sent one.
    pub(crate) client_certificate: Option<Rc<Value>>,
    /// The registration of a trusted proxy's connection.
    pub(crate) membership: Option<Rc<ConnectionRegistration>>,
}

/// The interface of hyper, for HTTP/2.
impl Service<Request<Incoming>> for RequestService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = PendingResponse;

    fn call(&self, request: Request<Incoming>) -> PendingResponse {
        let (head, body) = request.into_parts();
        let exchange =
            HttpExchange::new(head.method, head.uri, head.version, head.headers, self.peer);
        self.answer(Rc::new(exchange), RequestBody::Multiplexed(body, Rc::default()))
    }
}

impl RequestService {
    /// The largest request body, in bytes.
    pub(crate) fn max_body(&self) -> u64 {
        match &*self.served.borrow() {
            Served::Store(_) => self.limits.body,
            Served::Handler(handler) => handler.max_body().unwrap_or(self.limits.body),
        }
    }

    /// Answers a request. The exchange has no other holder yet.
    pub(crate) fn answer(
        &self,
        mut exchange: Rc<HttpExchange>,
        body: RequestBody,
    ) -> PendingResponse {
        let number = self.state.start_request();
        if let Some(exchange) = Rc::get_mut(&mut exchange) {
            self.identify(exchange, number);
        }
        let served = self.served.borrow().clone();
        let asked = match &served {
            Served::Store(_) => {
                CrossOriginRequest::by(&exchange.method, &exchange.headers, &self.limits.access)
            }
            Served::Handler(_) => None,
        };
        let announces = self.multiplexed && exchange.method == Method::HEAD;
        if let Some(busy_poll) = &self.busy_poll {
            busy_poll.restart();
        }
        let watch = self.observer.as_ref().map(|observer| {
            let HttpExchange { method, uri, version, headers, peer, .. } = &*exchange;
            RequestWatch::start(observer, (method, uri, *version), headers, *peer, body.length())
        });
        if let (Some(watch), Some(exchange)) = (&watch, Rc::get_mut(&mut exchange)) {
            exchange.observed = Some(watch.observed());
        }
        // The reply is large: it is moved only where an observer, CORS or the last request changes
        // it.
        let mut reply = self.reply(served, exchange, body);
        if announces {
            reply = reply.with(announce);
        }
        if let Some(watch) = watch {
            reply = reply.watched(watch);
        }
        if let Some(asked) = asked {
            reply = reply.with(|response| asked.answer(response.headers_mut()));
        }
        let is_last = number >= self.limits.requests;
        if self.multiplexed && is_last {
            self.state.stopping.set(true);
            self.state.wake();
        } else if is_last {
            reply = reply.closing();
        }
        reply
    }

    /// Finds out who sent a request, and how.
    fn identify(&self, exchange: &mut HttpExchange, number: u32) {
        let proxies = &self.limits.access.trusted_proxies[..];
        if !proxies.is_empty() {
            let believed = if self.is_anonymous { &[] } else { proxies };
            exchange.peer = forwarded::client(believed, self.peer, &mut exchange.headers);
            if let (Some(membership), 1) = (&self.membership, number) {
                membership.belongs_to(exchange.peer);
            }
        }
        exchange.is_secure = self.is_secure || forwarded::is_secure(proxies, &exchange.headers);
        exchange.client_certificate.clone_from(&self.client_certificate);
        let hints_early = self.limits.early_hints && !self.multiplexed;
        if hints_early && early_hints::are_understood(exchange.version, &exchange.headers) {
            exchange.hints = EarlyHints::of_request(&self.state, number);
        }
    }

    fn reply(
        &self,
        served: Served,
        exchange: Rc<HttpExchange>,
        body: RequestBody,
    ) -> PendingResponse {
        let state = match self.multiplexed {
            true => ConnectionState::stream_of(&self.state),
            false => self.state.clone(),
        };
        match served {
            Served::Store(root) => self.dispatch(root, exchange, body, &state),
            Served::Handler(handler) => self.hand_over(handler, exchange, body, &state),
        }
    }

    /// A request of a handler: it sees the request as it was sent.
    fn hand_over(
        &self,
        handler: Rc<dyn Handler>,
        mut exchange: Rc<HttpExchange>,
        body: RequestBody,
        state: &Rc<ConnectionState>,
    ) -> PendingResponse {
        let admitted = self.check_head(&exchange).and_then(|_| {
            adopt_authority(&mut exchange);
            check_target(&exchange, &self.limits)
        });
        if let Err(problem) = admitted {
            let problem = problem.for_request(&exchange);
            return problem.respond(HeaderMap::new(), state).into();
        }
        let is_secure = exchange.is_secure;
        let (limits, state) = (self.limits.clone(), state.clone());
        HandlerCycle { handler, limits, state, is_secure }.run(exchange, body)
    }

    fn dispatch(
        &self,
        root: Rc<dyn Store>,
        mut exchange: Rc<HttpExchange>,
        body: RequestBody,
        state: &Rc<ConnectionState>,
    ) -> PendingResponse {
        if let Some((head, reference)) = self.find_relay(&root, &mut exchange) {
            return self.relay(root, exchange, body, (head, reference), state);
        }
        let (head, task, reference) = match self.admit(&mut exchange) {
            Ok(admitted) => admitted,
            Err(problem) => {
                let problem = problem.for_request(&exchange);
                return problem.respond(HeaderMap::new(), state).into();
            }
        };
        if exchange.uri.path() == "*" && task == MethodTask::Bodiless(BodilessTask::Options) {
            return about_the_server(state).into();
        }
        let (root, reference) = match own_files::find(exchange.uri.path()) {
            Some(own) => own,
            None => (root, reference),
        };
        let cycle = RequestCycle {
            root,
            reference,
            exchange,
            head,
            limits: self.limits.clone(),
            state: state.clone(),
        };
        match task {
            MethodTask::Refused => {
                let verbs = cycle.verbs();
                cycle.problem(Problem::not_allowed(verbs)).into()
            }
            MethodTask::Write(verb) => cycle.write(verb, body),
            MethodTask::Bodiless(ask) if self.multiplexed && !body.is_over() => {
                self.once_sent(body, cycle, ask, state)
            }
            MethodTask::Bodiless(ask) => ask.of(cycle),
        }
    }

    /// The head and the reference of a request that is relayed to an upstream. A request that is refused
    /// is not.
    fn find_relay(
        &self,
        root: &Rc<dyn Store>,
        exchange: &mut Rc<HttpExchange>,
    ) -> Option<(Head, Reference)> {
        // The response to TRACE shows cookies to scripts, and CONNECT opens a tunnel to anywhere.
        if !relay::has_proxy() || matches!(exchange.method, Method::TRACE | Method::CONNECT) {
            return None;
        }
        let head = self.check_head(exchange).ok()?;
        let reference = target::reference(&exchange.uri, self.limits.target).ok()?;
        let relays = guard_now(|| root.verbs(&reference)).is_ok_and(Verbs::relays);
        relays.then(|| {
            adopt_authority(exchange);
            (head, reference)
        })
    }

    /// Relays a request. Which pages of other origins may write is the upstream's to say, unless this
    /// server names some.
    fn relay(
        &self,
        root: Rc<dyn Store>,
        exchange: Rc<HttpExchange>,
        body: RequestBody,
        (head, reference): (Head, Reference),
        state: &Rc<ConnectionState>,
    ) -> PendingResponse {
        let access = &self.limits.access;
        if !access.allowed_origins.is_empty()
            && let Err(problem) = self.check_source(&exchange)
        {
            let problem = problem.for_request(&exchange);
            return problem.respond(HeaderMap::new(), state).into();
        }
        let is_trusted = forwarded::is_trusted(&access.trusted_proxies, self.peer);
        let (limits, state) = (self.limits.clone(), state.clone());
        let cycle = RequestCycle { root, reference, exchange, head, limits, state };
        cycle.relay(body, self.peer, is_trusted)
    }

    /// Checks the head of a request and resolves its task and reference.
    fn admit(
        &self,
        exchange: &mut Rc<HttpExchange>,
    ) -> Result<(Head, MethodTask, Reference), Problem> {
        let head = self.check_head(exchange)?;
        self.check_source(exchange)?;
        let task = MethodTask::of(&exchange.method)?;
        if exchange.uri.path() == "*" && task == MethodTask::Bodiless(BodilessTask::Options) {
            return Ok((head, task, Reference::default()));
        }
        adopt_authority(exchange);
        let reference = target::reference(&exchange.uri, self.limits.target)?;
        Ok((head, task, reference))
    }

    /// Checks the head of a request, and that its host is served.
    fn check_head(&self, exchange: &HttpExchange) -> Result<Head, Problem> {
        let HttpExchange { method, uri, version, headers, .. } = exchange;
        if self.membership.as_ref().is_some_and(|one| one.is_refused()) {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS);
            return Err(problem.because("this client has too many connections").closing());
        }
        if self.multiplexed {
            head::check_section(headers, &self.limits)?;
        }
        let head = head::check(method, uri, *version, headers)?;
        match self.hosts.check(host(exchange).unwrap_or_default()) {
            Ok(()) => Ok(head),
            Err(message) => Err(Problem::new(StatusCode::MISDIRECTED_REQUEST).because(message)),
        }
    }

    /// Checks that no page of another origin writes.
    fn check_source(&self, exchange: &HttpExchange) -> Result<(), Problem> {
        let AccessPolicy { trusted_proxies, .. } = &self.limits.access;
        let HttpExchange { method, headers, .. } = exchange;
        if method.is_safe() {
            return Ok(());
        }
        let host = forwarded::host(trusted_proxies, headers).or_else(|| host(exchange));
        if origin::is_foreign_write(method, headers, host, &self.limits.access) {
            let problem = Problem::new(StatusCode::FORBIDDEN);
            return Err(problem.because(FOREIGN_WRITE));
        }
        Ok(())
    }

    /// Answers when the request is complete, although its body is ignored. In HTTP/2 an earlier
    /// response resets the stream, and the client's errors on it go unnoticed (RFC 9113 sections
    /// 5.1 and 8.1). HTTP/1.1 reads the rest after the response.
    fn once_sent(
        &self,
        body: RequestBody,
        cycle: RequestCycle,
        ask: BodilessTask,
        state: &Rc<ConnectionState>,
    ) -> PendingResponse {
        let (limits, state) = (self.limits.clone(), state.clone());
        PendingResponse::later(async move {
            match upload::discard(body, &limits).await {
                Ok(()) => ask.of(cycle).finish().await,
                Err(problem) => problem.respond(HeaderMap::new(), &state),
            }
        })
    }
}

/// The host of a request, perhaps with a port.
fn host(exchange: &HttpExchange) -> Option<&[u8]> {
    match exchange.uri.authority() {
        Some(authority) => Some(authority.as_str().as_bytes()),
        None => exchange.headers.get(header::HOST).map(HeaderValue::as_bytes),
    }
}

/// The authority in the target overrides the field (RFC 9112 section 3.2.2).
fn adopt_authority(exchange: &mut Rc<HttpExchange>) {
    if let Some(authority) = exchange.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
        && let Some(exchange) = Rc::get_mut(exchange)
    {
        exchange.headers.insert(header::HOST, host);
    }
}

/// Checks the target of a request that a handler sees as it was sent.
fn check_target(exchange: &HttpExchange, limits: &Limits) -> Result<(), Problem> {
    let HttpExchange { method, uri, .. } = exchange;
    if *method == Method::CONNECT {
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED));
    }
    if uri.path().len() + uri.query().map_or(0, str::len) > limits.target {
        return Err(InvalidTarget::TooLong.into());
    }
    match uri.path() {
        "" | "*" => Ok(()),
        path if path.starts_with('/') => Ok(()),
        _ => Err(Problem::bad("the target of a request begins with a slash")),
    }
}

/// HTTP/2: the response to HEAD has a length and no content. HTTP/1.1 leaves the content out when it
/// writes the response.
fn announce(response: &mut Response<ResponseBody>) {
    let is_bare = matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if let (Some(length), false) = (response.body().length(), is_bare) {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response.body_mut().keep_length();
}

/// The response to `OPTIONS *`, which is about the server and no reference.
fn about_the_server(state: &Rc<ConnectionState>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty(state));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, allow(Verbs::ALL));
    response
}

/// The task of a method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MethodTask {
    Bodiless(BodilessTask),
    Write(Verb),
    /// A known method that no reference has: a response to TRACE would show cookies to scripts, and
    /// QUERY asks for a language of queries.
    Refused,
}

/// A task that ignores the request body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodilessTask {
    Get,
    Delete,
    Options,
}

impl MethodTask {
    fn of(method: &Method) -> Result<MethodTask, Problem> {
        Ok(match *method {
            Method::GET | Method::HEAD => MethodTask::Bodiless(BodilessTask::Get),
            Method::PUT => MethodTask::Write(Verb::Put),
            Method::POST => MethodTask::Write(Verb::Post),
            Method::PATCH => MethodTask::Write(Verb::Merge),
            Method::DELETE => MethodTask::Bodiless(BodilessTask::Delete),
            Method::OPTIONS => MethodTask::Bodiless(BodilessTask::Options),
            Method::TRACE => MethodTask::Refused,
            ref method if method.as_str() == "QUERY" => MethodTask::Refused,
            _ => return Err(Problem::new(StatusCode::NOT_IMPLEMENTED)),
        })
    }
}

impl BodilessTask {
    fn of(self, cycle: RequestCycle) -> PendingResponse {
        match self {
            BodilessTask::Get => cycle.get(),
            BodilessTask::Delete => cycle.delete(),
            BodilessTask::Options => cycle.options(),
        }
    }
}
