//! One verb as requests: connection, timeouts, redirects, and the retry after a closed connection.

use crate::client::body::unread::UnreadBodies;
use crate::client::connection::dial::Connector;
use crate::client::connection::http2::Http2Hosts;
use crate::client::connection::request_head::RequestHead;
use crate::client::connection::response_head::ReceivedHead;
use crate::client::connection::round_trip::RoundTrip;
use crate::client::connection::websocket;
use crate::client::cookies::CookieJar;
use crate::client::failure::RoundTripFailure;
use crate::client::hosts::{Host, Hosts};
use crate::client::options::ClientOptions;
use crate::client::outgoing::{OutgoingContent, RequestPayload, StreamProgress};
use crate::client::{address, fault};
use bytes::{Bytes, BytesMut};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Method, StatusCode, Uri};
use runnel_store::{
    Calling, Count, Error, Exchange, Kind, Port, RedirectPolicy, Reference, Result, SlotLimits,
    Verb,
};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of an unwanted response body that are drained so that the connection can be reused.
const DISCARDED: usize = 64 * 1024;
/// Timeout of that drain.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// The headers that follow a redirect to another origin. A list of secret ones would miss those that an API
/// names itself, such as `X-API-Key`. Conditions stay: a delete without its `If-Match` would delete more.
const PUBLIC: [HeaderName; 10] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::RANGE,
    header::USER_AGENT,
];

/// The connections and options of one client.
pub(crate) struct HttpClient {
    dial: Connector,
    hosts: Hosts,
    /// What servers with TLS are asked with first, unless HTTP/2 is off.
    http2: Option<(Connector, Http2Hosts)>,
    cookies: Option<CookieJar>,
    /// Answers of `fetch` whose bodies were not begun to be read.
    pub(crate) unread: UnreadBodies,
    pub(crate) options: ClientOptions,
}

impl HttpClient {
    pub(crate) fn new(options: ClientOptions) -> Self {
        let offering = |protocols: &[&[u8]]| {
            let mut dial = Connector::new(options.socket.as_deref(), options.connect_time);
            dial.proxy = options.proxy.clone().map(Arc::new);
            dial.private = options.private;
            if let Some(tls) = &options.tls {
                dial.tls = Ok(tls.connector());
            }
            dial.offer(protocols);
            dial
        };
        let http2 = options.http2.then(|| (offering(&[b"h2", b"http/1.1"]), Http2Hosts::default()));
        let dial = offering(&[]);
        let cookies = options.cookies.then(CookieJar::default);
        let limits =
            SlotLimits { slots: options.connections, waiting: options.waiting, wait: options.wait };
        let hosts = Hosts::new(limits, options.idle_connections, options.socket.as_deref());
        HttpClient { dial, hosts, http2, cookies, unread: UnreadBodies::default(), options }
    }
}

/// The head of a response, and the round trip that reads its body.
pub(crate) type Answered = (ReceivedHead, Box<RoundTrip<RequestPayload>>);

/// What a request does when it is sent twice.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Repetition {
    /// The same as once.
    Same,
    /// Something else than once.
    More,
}

impl Repetition {
    /// The error of a request that was sent, and whose response was lost.
    pub(crate) fn lost(self, error: Error) -> Error {
        if self == Repetition::Same { error } else { error.in_doubt() }
    }
}

/// One verb.
pub(crate) struct VerbCall {
    pub(crate) client: Rc<HttpClient>,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) headers: Rc<HeaderMap>,
    /// The content to send; empty once the response head has arrived.
    pub(crate) body: OutgoingContent,
    pub(crate) deadline: Option<Instant>,
    /// Whether the verb has a condition: repeating it is then not idempotent.
    pub(crate) conditional: bool,
    /// What a redirect does.
    pub(crate) redirects: RedirectPolicy,
    /// The timeout of this call for the head and between two pieces of the body, in place of those of the client.
    pub(crate) timeout: Option<Duration>,
    /// Whether the cookies of the client are sent: not beside those of a program.
    pub(crate) sends_cookies: bool,
    /// The request that caused this call: its trace continues in the other server.
    pub(crate) followed: Option<Rc<dyn Exchange>>,
    pub(crate) verb: Verb,
    pub(crate) reference: Reference,
}

impl VerbCall {
    /// Sends the request and follows redirects, up to a response that is no redirect.
    pub(crate) async fn send(&mut self) -> Result<Answered> {
        let calling = self.begin_trace();
        let result = self.follow().await;
        if let Some(calling) = calling {
            calling.ended(result.as_ref().map(|(head, _)| head.status.as_u16()));
        }
        result.map_err(|error| error.on(self.verb, &self.reference))
    }

    /// Starts a span of the causing request's trace; the headers carry it to the other server.
    fn begin_trace(&mut self) -> Option<Box<dyn Calling>> {
        let target = &self.target;
        let host = target.authority().map_or("", |authority| authority.as_str());
        let host = host.rsplit('@').next().unwrap_or_default();
        let scheme = target.scheme_str().unwrap_or("http");
        let shown = [scheme, "://", host, target.path()].concat();
        let calling = self.followed.take()?.calling(self.method.as_str(), &shown)?;
        for (name, value) in calling.headers() {
            if let Ok(value) = HeaderValue::try_from(value) {
                Rc::make_mut(&mut self.headers).insert(name, value);
            }
        }
        Some(calling)
    }

    async fn follow(&mut self) -> Result<Answered> {
        for _ in 0..=self.client.options.redirects {
            let (head, trip) = self.send_in_turn().await?;
            if self.redirects == RedirectPolicy::Manual {
                return Ok((head, trip));
            }
            let Some(next) = self.redirect(&head)? else { return Ok((head, trip)) };
            if self.redirects == RedirectPolicy::Refuse {
                let message = format!("the server redirects ({})", head.status.as_u16());
                return Err(Error::new(Kind::Failed, message));
            }
            discard(trip).await;
            if !address::same_origin(&self.target, &next) {
                if self.client.options.socket.is_some() {
                    let message = "the server behind the socket redirects to another host";
                    return Err(Error::new(Kind::Failed, message));
                }
                self.leave_origin(&next)?;
            }
            self.target = next;
        }
        Err(Error::new(
            Kind::Failed,
            format!("there are more than {} redirects", self.client.options.redirects),
        ))
    }

    /// Takes from the request what another origin must not get.
    fn leave_origin(&mut self, next: &Uri) -> Result<()> {
        if !matches!(self.body, OutgoingContent::Nothing) {
            let host = next.authority().map_or("another host", |authority| authority.as_str());
            let message = format!(
                "the server redirects the content to another origin, {host}: send it there yourself"
            );
            return Err(Error::new(Kind::Failed, message));
        }
        let kept = PUBLIC.iter().filter_map(|name| Some((name, self.headers.get(name)?.clone())));
        let kept: HeaderMap = kept.map(|(name, value)| (name.clone(), value)).collect();
        self.headers = Rc::new(kept);
        Ok(())
    }

    /// Sends the request as soon as the host has a free slot.
    async fn send_in_turn(&mut self) -> Result<Answered> {
        let Some(host) = self.client.hosts.of(&self.target) else {
            return Err(Error::new(Kind::Invalid, "the address names no host"));
        };
        if host.slots.is_full() {
            self.client.unread.give_way(&host.counters.place);
        }
        let slot = host.slots.take(self.deadline).await.map_err(|none| {
            let what = format!("connections to {}", host.counters.place);
            none.error(&what)
        })?;
        host.counters.add(Count::Requests, 1);
        if let Some(jar) = self.client.cookies.as_ref().filter(|_| self.sends_cookies) {
            let cookies = jar.header(&self.target);
            let headers = Rc::make_mut(&mut self.headers);
            match cookies {
                Some(cookies) => drop(headers.insert(header::COOKIE, cookies)),
                None => drop(headers.remove(header::COOKIE)),
            }
        }
        let result = self.send_with_retry(&host).await;
        if let (Some(jar), Ok((head, _))) = (&self.client.cookies, &result) {
            jar.keep(&self.target, &head.headers);
        }
        if !result.as_ref().is_ok_and(|(head, _)| !head.status.is_server_error()) {
            host.counters.add(Count::Failures, 1);
        }
        let (head, mut trip) = result?;
        trip.hold(slot);
        Ok((head, trip))
    }

    /// Sends the request, and retries once when an idempotent one (RFC 9110 section 9.2.2) meets a
    /// closed connection, pooled or new. A stream cannot be sent twice.
    async fn send_with_retry(&mut self, host: &Host) -> Result<Answered> {
        let mut is_first = true;
        loop {
            let (payload, kind, feed) = self.body.payload().await?;
            match self.attempt(host, payload, kind.as_ref(), feed).await? {
                Ok(answered) => return Ok(answered),
                Err(failure) if is_first && self.may_repeat() && fault::was_closed(&failure) => {
                    tracing::debug!(target_uri = %self.target, "closed without a response: retrying");
                    host.counters.add(Count::Retries, 1);
                    is_first = false;
                }
                Err(failure) => {
                    let error = fault::no_response(&failure, &self.target);
                    return Err(if failure.is_connect() { error } else { self.lost(error) });
                }
            }
        }
    }

    fn may_repeat(&self) -> bool {
        self.is_repeatable() && !matches!(self.body, OutgoingContent::Spent)
    }

    fn is_repeatable(&self) -> bool {
        self.repetition() == Repetition::Same
    }

    /// What sending the request twice does.
    pub(crate) fn repetition(&self) -> Repetition {
        // RFC 9110 section 9.2.2, for methods that a server is known to treat so.
        const METHODS: [Method; 5] =
            [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE];
        if METHODS.contains(&self.method) && !self.conditional {
            Repetition::Same
        } else {
            Repetition::More
        }
    }

    /// The error of a request that was sent, and whose response was lost.
    pub(crate) fn lost(&self, error: Error) -> Error {
        self.repetition().lost(error)
    }

    /// The host, as its counters name it.
    pub(crate) fn place(&self) -> String {
        let host = self.client.hosts.of(&self.target);
        host.map_or_else(String::new, |host| host.counters.place.clone())
    }

    /// The idle timeout between two pieces of the body.
    pub(crate) fn body_idle(&self) -> Duration {
        self.timeout.unwrap_or(self.client.options.body_idle)
    }

    async fn attempt(
        &self,
        host: &Host,
        payload: RequestPayload,
        media_type: Option<&HeaderValue>,
        feed: Option<Rc<StreamProgress>>,
    ) -> Result<std::result::Result<Answered, RoundTripFailure>> {
        let (method, target) = (&self.method, &self.target);
        let head = RequestHead { method, target, headers: &self.headers, media_type };
        let is_sent = AtomicBool::new(false);
        let mut answer = pin!(self.dispatch(host, head, payload, &is_sent));
        let limit = self.timeout.unwrap_or(self.client.options.answer_time);
        let mut start = Instant::now();
        loop {
            let until = [start.checked_add(limit), self.deadline].into_iter().flatten().min();
            let Some(until) = until else { return Ok(answer.await) };
            match tokio::time::timeout_at(until.into(), answer.as_mut()).await {
                Ok(Err(failure)) => {
                    // The error of a failed stream takes precedence over that of the connection.
                    let own = feed.and_then(|feed| feed.error.borrow_mut().take());
                    return own.map_or(Ok(Err(failure)), Err);
                }
                Ok(Ok(answered)) => return Ok(Ok(answered)),
                Err(_) => match &feed {
                    // The timeout starts when the content has been sent.
                    Some(feed) if feed.last.get() > start && self.is_before_deadline() => {
                        start = feed.last.get();
                    }
                    _ => {
                        if let Some((_, http2)) = &self.client.http2 {
                            http2.forget(&self.target);
                        }
                        let message = fault::timed_out(&self.target, "answer");
                        let late = Error::new(Kind::Timeout, message);
                        return Err(match is_sent.load(Ordering::Relaxed) {
                            true => self.lost(late),
                            false => late,
                        });
                    }
                },
            }
        }
    }

    /// Sends it over HTTP/2 where the server chooses it, otherwise over HTTP/1.1.
    async fn dispatch(
        &self,
        host: &Host,
        head: RequestHead<'_>,
        mut payload: RequestPayload,
        is_sent: &AtomicBool,
    ) -> std::result::Result<Answered, RoundTripFailure> {
        if let Some((dial, http2)) = &self.client.http2
            && self.target.scheme() == Some(&Scheme::HTTPS)
        {
            match Box::pin(http2.send(dial, host, &head, payload, is_sent)).await {
                Ok(answered) => return answered,
                Err(unsent) => payload = unsent,
            }
        }
        host.send(&self.client.dial, head, payload, is_sent).await
    }

    /// Opens a WebSocket; answers the head of the server.
    pub(crate) async fn open_websocket(&mut self, port: Rc<dyn Port>) -> Result<ReceivedHead> {
        let calling = self.begin_trace();
        if let Some(jar) = self.client.cookies.as_ref().filter(|_| self.sends_cookies)
            && let Some(cookies) = jar.header(&self.target)
        {
            Rc::make_mut(&mut self.headers).insert(header::COOKIE, cookies);
        }
        let opening = websocket::open(&self.client.dial, &self.target, &self.headers, port);
        let limit = Instant::now().checked_add(self.client.options.answer_time);
        let until = [limit, self.deadline].into_iter().flatten().min();
        let opened = match until {
            None => Ok(opening.await),
            Some(until) => tokio::time::timeout_at(until.into(), opening).await,
        };
        let result = match opened {
            Ok(opened) => opened.map_err(|failure| fault::no_response(&failure, &self.target)),
            Err(_) => Err(Error::new(Kind::Timeout, fault::timed_out(&self.target, "answer"))),
        };
        if let Some(calling) = calling {
            calling.ended(result.as_ref().map(|head| head.status.as_u16()));
        }
        result.map_err(|error| error.on(self.verb, &self.reference))
    }

    fn is_before_deadline(&self) -> bool {
        self.deadline.is_none_or(|deadline| deadline > Instant::now())
    }

    /// The target of a redirect; also sets the method used there (Fetch standard, section 4.4).
    fn redirect(&mut self, head: &ReceivedHead) -> Result<Option<Uri>> {
        let status = head.status;
        let becomes_get = match status {
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => false,
            _ => return Ok(None),
        };
        let Some(location) = head.headers.get(header::LOCATION) else { return Ok(None) };
        let next = std::str::from_utf8(location.as_bytes())
            .ok()
            .and_then(|location| address::resolve(&self.target, location))
            .ok_or_else(|| Error::new(Kind::Failed, "the server redirects to no web address"))?;
        if becomes_get {
            self.method = Method::GET;
            self.body = OutgoingContent::Nothing;
        } else if matches!(self.body, OutgoingContent::Spent) {
            let message = "the server redirects, and a stream cannot be sent a second time";
            return Err(Error::new(Kind::Failed, message));
        }
        Ok(Some(next))
    }
}

/// Drains a body within limits. Beyond them the connection closes.
pub(crate) async fn discard(mut trip: Box<RoundTrip<RequestPayload>>) {
    if !trip.is_over() {
        start_of(&mut trip, DISCARDED).await;
    }
}

/// The first bytes of a body, as many as arrive within [`DISCARD_TIME`].
pub(crate) async fn start_of(trip: &mut RoundTrip<RequestPayload>, most: usize) -> Bytes {
    let until = Instant::now() + DISCARD_TIME;
    let mut start = BytesMut::new();
    while start.len() < most {
        let next = poll_fn(|context| trip.poll_piece(context));
        match tokio::time::timeout_at(until.into(), next).await {
            Ok(Some(Ok(piece))) => start.extend_from_slice(&piece),
            _ => break,
        }
    }
    start.truncate(most);
    start.freeze()
}
