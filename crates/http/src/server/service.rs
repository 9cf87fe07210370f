//! From a request to the verb that answers it.

use crate::protocol::target;
use crate::server::busy_poll::Spin;
use crate::server::connection_state::Meter;
use crate::server::observer::{Observer, Watch};
use crate::server::options::Limits;
use crate::server::request::body::RequestBody;
use crate::server::request::exchange::HttpExchange;
use crate::server::request::forwarded;
use crate::server::request::head::{self, Head};
use crate::server::request::origin::{self, Asked};
use crate::server::request::upload;
use crate::server::response::body::AnswerBody;
use crate::server::response::cycle::Turn;
use crate::server::response::problem::{Problem, allow};
use crate::server::response::reply::Reply;
use crate::server::serve::Membership;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};
use runnel_store::{Reference, Store, Verb, Verbs};
use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

/// What is said to a page of another origin that writes.
const FOREIGN_WRITE: &str =
    "a page of another origin may not write here, unless the option origins: names its origin";

/// The requests of one connection.
pub(crate) struct Requests {
    /// The store that is served: the server's, looked at for each request.
    pub(crate) root: Rc<RefCell<Rc<dyn Store>>>,
    pub(crate) limits: Rc<Limits>,
    pub(crate) meter: Rc<Meter>,
    pub(crate) peer: SocketAddr,
    pub(crate) observer: Option<Rc<dyn Observer>>,
    pub(crate) spin: Option<Rc<Spin>>,
    /// Several requests at a time, as in HTTP/2.
    pub(crate) multiplexed: bool,
    /// The connection of a trusted proxy.
    pub(crate) membership: Option<Rc<Membership>>,
}

/// As hyper asks, for HTTP/2.
impl Service<Request<Incoming>> for Requests {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Reply;

    fn call(&self, request: Request<Incoming>) -> Reply {
        let (head, body) = request.into_parts();
        let exchange =
            HttpExchange::new(head.method, head.uri, head.version, head.headers, self.peer);
        self.answer(Rc::new(exchange), RequestBody::Multiplexed(body))
    }
}

impl Requests {
    /// Answers a request, which nobody else holds yet.
    pub(crate) fn answer(&self, mut exchange: Rc<HttpExchange>, body: RequestBody) -> Reply {
        let number = self.meter.begin();
        if let (proxies @ [_, ..], Some(exchange)) =
            (&self.limits.proxies[..], Rc::get_mut(&mut exchange))
        {
            exchange.peer = forwarded::client(proxies, self.peer, &mut exchange.headers);
            if let (Some(membership), 1) = (&self.membership, number) {
                membership.belongs_to(exchange.peer);
            }
        }
        let asked = Asked::by(&exchange.method, &exchange.headers, &self.limits);
        if let Some(spin) = &self.spin {
            spin.touch();
        }
        let watch =
            self.observer.as_ref().map(|observer| Watch::begin(observer, &exchange, body.length()));
        if let (Some(watch), Some(exchange)) = (&watch, Rc::get_mut(&mut exchange)) {
            exchange.observed = Some(watch.observed());
        }
        // Large as it is, it stays where it is unless somebody has something to say about it.
        let mut reply = self.reply(exchange, body);
        if let Some(watch) = watch {
            reply = watch.over(reply);
        }
        if let Some(asked) = asked {
            reply = reply.with(|response| asked.answer(response));
        }
        let is_last = number >= self.limits.requests;
        if self.multiplexed && is_last {
            self.meter.stopping.set(true);
            self.meter.wake();
        } else if is_last {
            reply = reply.closing();
        }
        reply
    }

    fn reply(&self, exchange: Rc<HttpExchange>, body: RequestBody) -> Reply {
        let meter = match self.multiplexed {
            true => Meter::stream_of(&self.meter),
            false => self.meter.clone(),
        };
        self.begin(exchange, body, &meter)
    }

    fn begin(&self, mut exchange: Rc<HttpExchange>, body: RequestBody, meter: &Rc<Meter>) -> Reply {
        let (head, task, reference) = match self.admit(&mut exchange) {
            Ok(admitted) => admitted,
            Err(problem) => {
                let problem = problem.for_request(&exchange);
                return Reply::ready(problem.respond(HeaderMap::new(), meter));
            }
        };
        if exchange.uri.path() == "*" && task == Task::Ask(Ask::Options) {
            return Reply::ready(about_the_server(meter));
        }
        let turn = Turn {
            root: self.root.borrow().clone(),
            reference,
            exchange,
            head,
            limits: self.limits.clone(),
            meter: meter.clone(),
        };
        match task {
            Task::Trace => {
                let verbs = turn.verbs();
                Reply::ready(turn.problem(Problem::not_allowed(verbs)))
            }
            Task::Write(verb) => turn.write(verb, body),
            Task::Ask(ask) if self.multiplexed && !body.is_over() => {
                self.once_sent(body, turn, ask, meter)
            }
            Task::Ask(ask) => ask.of(turn),
        }
    }

    /// Checks the head of a request: what it asks for, and where.
    fn admit(&self, exchange: &mut Rc<HttpExchange>) -> Result<(Head, Task, Reference), Problem> {
        let HttpExchange { method, uri, version, headers, .. } = &**exchange;
        if self.membership.as_ref().is_some_and(|one| one.is_refused()) {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS);
            return Err(problem.because("this client has too many connections").closing());
        }
        if self.multiplexed {
            head::check_section(headers, &self.limits)?;
        }
        let head = head::check(method, uri, *version, headers)?;
        self.check_source(exchange)?;
        let task = Task::of(&exchange.method)?;
        if exchange.uri.path() == "*" && task == Task::Ask(Ask::Options) {
            return Ok((head, task, Reference::default()));
        }
        if let Some(authority) = exchange.uri.authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
            && let Some(exchange) = Rc::get_mut(exchange)
        {
            // The host in the target counts, not that of the field (RFC 9112 section 3.2.2).
            exchange.headers.insert(header::HOST, host);
        }
        let reference = target::reference(&exchange.uri, self.limits.target)?;
        Ok((head, task, reference))
    }

    /// Whether the request names a host that is answered, and does not write for a page of another
    /// origin.
    fn check_source(&self, exchange: &HttpExchange) -> Result<(), Problem> {
        let Limits { hosts, proxies, .. } = &*self.limits;
        if !hosts.is_empty() && !origin::is_served(hosts, host(exchange).unwrap_or_default()) {
            let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST);
            return Err(problem.because("this server does not answer for that host"));
        }
        let HttpExchange { method, headers, .. } = exchange;
        if method.is_safe() {
            return Ok(());
        }
        let host = forwarded::host(proxies, headers).or_else(|| host(exchange));
        if origin::is_foreign_write(method, headers, host, &self.limits) {
            let problem = Problem::new(StatusCode::FORBIDDEN);
            return Err(problem.because(FOREIGN_WRITE));
        }
        Ok(())
    }

    /// Answers when the request is whole, although its body means nothing. In HTTP/2 an answer
    /// before that resets the stream, and what the client does wrong on it goes unnoticed
    /// (RFC 9113 sections 5.1 and 8.1). HTTP/1.1 reads the rest after the answer.
    fn once_sent(&self, body: RequestBody, turn: Turn, ask: Ask, meter: &Rc<Meter>) -> Reply {
        let (limits, meter) = (self.limits.clone(), meter.clone());
        Reply::later(async move {
            match upload::discard(body, &limits).await {
                Ok(()) => ask.of(turn).finish().await,
                Err(problem) => problem.respond(HeaderMap::new(), &meter),
            }
        })
    }
}

/// The host that a request is for, perhaps with a port.
fn host(exchange: &HttpExchange) -> Option<&[u8]> {
    match exchange.uri.authority() {
        Some(authority) => Some(authority.as_str().as_bytes()),
        None => exchange.headers.get(header::HOST).map(HeaderValue::as_bytes),
    }
}

/// `OPTIONS *` asks about the server and not about a reference.
fn about_the_server(meter: &Rc<Meter>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::empty(meter));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, allow(Verbs::ALL));
    response
}

/// What a method wants done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Ask(Ask),
    Write(Verb),
    /// Never done: the answer would show cookies to scripts.
    Trace,
}

/// What is asked for without a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Get,
    Delete,
    Options,
}

impl Task {
    fn of(method: &Method) -> Result<Task, Problem> {
        Ok(match *method {
            Method::GET | Method::HEAD => Task::Ask(Ask::Get),
            Method::PUT => Task::Write(Verb::Put),
            Method::POST => Task::Write(Verb::Post),
            Method::PATCH => Task::Write(Verb::Merge),
            Method::DELETE => Task::Ask(Ask::Delete),
            Method::OPTIONS => Task::Ask(Ask::Options),
            Method::TRACE => Task::Trace,
            _ => return Err(Problem::new(StatusCode::NOT_IMPLEMENTED)),
        })
    }
}

impl Ask {
    fn of(self, turn: Turn) -> Reply {
        match self {
            Ask::Get => turn.get(),
            Ask::Delete => turn.delete(),
            Ask::Options => turn.options(),
        }
    }
}
