//! One verb on its way: connections, time limits, redirects, and the second attempt.

use super::dial::Dial;
use super::hosts::Hosts;
use super::incoming::Reception;
use super::outgoing::{Feed, Outgoing, Payload};
use super::{ClientOptions, address, fault};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use runnel_store::{
    Calling, Count, Error, Exchange, Kind, Reference, Result, Slot, SlotLimits, Verb,
};
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long an idle connection is kept: less than most servers keep theirs.
const KEPT: Duration = Duration::from_secs(50);

/// Headers that only the host for which they were meant may see.
const SECRET: [HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

/// The connections of one client.
pub(super) struct Wire {
    http: legacy::Client<HttpsConnector<Dial>, Payload>,
    hosts: Hosts,
    pub(super) options: ClientOptions,
}

impl Wire {
    pub(super) fn new(options: ClientOptions) -> Self {
        let dial = Dial::new(options.socket.as_deref(), options.connect_time);
        let connector = HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(dial);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(KEPT)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(options.idle_connections)
            .build(connector);
        let limits =
            SlotLimits { slots: options.connections, waiting: options.waiting, wait: options.wait };
        let hosts = Hosts::new(limits, options.socket.as_deref());
        Wire { http, hosts, options }
    }
}

/// One verb.
pub(super) struct Call {
    pub(super) wire: Rc<Wire>,
    pub(super) method: Method,
    pub(super) target: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Outgoing,
    pub(super) deadline: Option<Instant>,
    /// Whether it has a condition: then doing it twice is not the same as once.
    pub(super) conditional: bool,
    /// The request for which this is done: its trace goes on in the other server.
    pub(super) followed: Option<Rc<dyn Exchange>>,
    pub(super) verb: Verb,
    pub(super) reference: Reference,
}

impl Call {
    /// Sends the request and follows redirects, up to an answer of another kind.
    pub(super) async fn send(mut self) -> Result<Reception> {
        let calling = self.begin_trace();
        let result = self.follow().await;
        if let Some(calling) = calling {
            calling.ended(result.as_ref().map(|reception| reception.status().as_u16()));
        }
        result.map_err(|error| error.on(self.verb, &self.reference))
    }

    /// Tells whoever follows the request of this call, which carries its place in the trace.
    fn begin_trace(&mut self) -> Option<Box<dyn Calling>> {
        let target = &self.target;
        let host = target.authority().map_or("", |authority| authority.as_str());
        let host = host.rsplit('@').next().unwrap_or_default();
        let scheme = target.scheme_str().unwrap_or("http");
        let shown = format!("{scheme}://{host}{}", target.path());
        let calling = self.followed.take()?.calling(self.method.as_str(), &shown)?;
        for (name, value) in calling.headers() {
            if let Ok(value) = HeaderValue::try_from(value) {
                self.headers.insert(name, value);
            }
        }
        Some(calling)
    }

    async fn follow(&mut self) -> Result<Reception> {
        for _ in 0..=self.wire.options.redirects {
            let (response, slot) = self.attempts().await?;
            let Some(next) = self.redirect(&response)? else {
                return Ok(Reception {
                    response,
                    slot,
                    wire: self.wire.clone(),
                    target: self.target.clone(),
                    deadline: self.deadline,
                    verb: self.verb,
                    reference: self.reference.clone(),
                });
            };
            super::incoming::discard(response.into_body()).await;
            drop(slot);
            if !address::same_origin(&self.target, &next) {
                if self.wire.options.socket.is_some() {
                    let message = "the server behind the socket redirects to another host";
                    return Err(Error::new(Kind::Failed, message));
                }
                for name in &SECRET {
                    self.headers.remove(name);
                }
            }
            self.target = next;
        }
        Err(Error::new(
            Kind::Failed,
            format!("there are more than {} redirects", self.wire.options.redirects),
        ))
    }

    /// Sends the request; once more, and not again, where one that may be repeated (RFC 9110 section
    /// 9.2.2) met a connection that died, kept or new. A stream cannot be sent again.
    async fn attempts(&mut self) -> Result<(Response<Incoming>, Option<Slot>)> {
        let host = self.wire.hosts.of(&self.target);
        let slot = match &host {
            Some(host) => Some(host.slots.take(self.deadline).await.map_err(|none| {
                let what = format!("connections to {}", host.counters.place);
                none.error(&what)
            })?),
            None => None,
        };
        let count = |what| host.iter().for_each(|host| host.counters.add(what, 1));
        count(Count::Requests);
        let result = self.answered(&count).await;
        if !result.as_ref().is_ok_and(|response| !response.status().is_server_error()) {
            count(Count::Failures);
        }
        Ok((result?, slot))
    }

    async fn answered(&mut self, count: &dyn Fn(Count)) -> Result<Response<Incoming>> {
        let (payload, kind, feed) = self.body.payload().await?;
        match self.attempt(payload, kind.clone(), feed).await? {
            Err(error) if self.may_repeat() && fault::was_closed(&error) => {
                tracing::debug!(target_uri = %self.target, "closed without an answer: once more");
                count(Count::Retries);
                let (payload, _, feed) = self.body.payload().await?;
                let again = self.attempt(payload, kind, feed).await?;
                again.map_err(|error| fault::of_wire(error, &self.target))
            }
            Err(error) => Err(fault::of_wire(error, &self.target)),
            Ok(response) => Ok(response),
        }
    }

    fn may_repeat(&self) -> bool {
        let idempotent = [Method::GET, Method::PUT, Method::DELETE].contains(&self.method);
        idempotent && !self.conditional && !matches!(self.body, Outgoing::Spent)
    }

    async fn attempt(
        &self,
        payload: Payload,
        kind: Option<HeaderValue>,
        feed: Option<Rc<Feed>>,
    ) -> Result<std::result::Result<Response<Incoming>, legacy::Error>> {
        let mut request = Request::new(payload);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        if let Some(kind) = kind {
            request.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
        let mut response = pin!(self.wire.http.request(request));
        let limit = self.wire.options.answer_time;
        let mut start = Instant::now();
        loop {
            let until = [start.checked_add(limit), self.deadline].into_iter().flatten().min();
            let Some(until) = until else { return Ok(response.await) };
            match tokio::time::timeout_at(until.into(), response.as_mut()).await {
                Ok(Err(error)) => {
                    // A stream that failed is its own cause.
                    let own = feed.and_then(|feed| feed.error.borrow_mut().take());
                    return own.map_or(Ok(Err(error)), Err);
                }
                Ok(Ok(response)) => return Ok(Ok(response)),
                Err(_) => match &feed {
                    // As long as the content is being sent, the time has not begun.
                    Some(feed) if feed.last.get() > start && self.is_before_deadline() => {
                        start = feed.last.get();
                    }
                    _ => {
                        let message = fault::too_long(&self.target, "answer");
                        return Err(Error::new(Kind::Timeout, message));
                    }
                },
            }
        }
    }

    fn is_before_deadline(&self) -> bool {
        self.deadline.is_none_or(|deadline| deadline > Instant::now())
    }

    /// Where a redirect leads, with the method that is used there (Fetch standard, section 4.4).
    fn redirect(&mut self, response: &Response<Incoming>) -> Result<Option<Uri>> {
        let status = response.status();
        let becomes_get = match status {
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => false,
            _ => return Ok(None),
        };
        let Some(location) = response.headers().get(header::LOCATION) else { return Ok(None) };
        let next = std::str::from_utf8(location.as_bytes())
            .ok()
            .and_then(|location| address::resolve(&self.target, location))
            .ok_or_else(|| Error::new(Kind::Failed, "the server redirects to no web address"))?;
        if becomes_get {
            self.method = Method::GET;
            self.body = Outgoing::Nothing;
        } else if matches!(self.body, Outgoing::Spent) {
            let message = "the server redirects, and a stream cannot be sent a second time";
            return Err(Error::new(Kind::Failed, message));
        }
        Ok(Some(next))
    }
}
