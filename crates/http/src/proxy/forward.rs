//! One request on its way to an upstream: which one, how often, and for how long.

use super::balance::{Balancer, TriedUpstreams};
use super::fault::{AttemptFailure, all_down};
use super::headers::{self, RelayedHead};
use super::options::{HostField, ProxyOptions};
use super::response::UpstreamResponse;
use super::sticky::StickyCookie;
use super::target;
use super::upload::{ForwardedBody, ForwardedContent};
use super::upstream::ProxyUpstream;
use crate::client::connection::forward_proxy::ForwardProxy;
use crate::client::connection::request_head::{Length, OutgoingHead};
use crate::client::connection::round_trip::RoundTrip;
use crate::client::failure::RoundTripFailure;
use crate::protocol::fields::{self, FieldLines};
use crate::server::connection_state::{ConnectionState, RequestTimeout};
use crate::server::request::exchange::HttpExchange;
use crate::server::request::relay::{RelayedBody, RelayedResponse};
use crate::server::request::timer::RequestTimer;
use hyper::header::{self, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, StatusCode};
use runnel_store::{Calling, Count, Error, Exchange, Kind, Reference, Result};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

/// How long a client that expects 100 Continue waits for the upstream's, as curl does.
const CONTINUE_TIME: Duration = Duration::from_secs(1);

/// The parts of a proxy that its requests share.
pub(super) struct ProxyCore {
    pub(super) balancer: Balancer,
    pub(super) sticky: Option<StickyCookie>,
    pub(super) options: ProxyOptions,
}

/// One request.
struct Forwarding<'a> {
    core: &'a ProxyCore,
    exchange: &'a HttpExchange,
    target: PathAndQuery,
    lines: FieldLines,
    content: ForwardedContent,
    upgrade: Option<HeaderValue>,
    state: Rc<ConnectionState>,
    is_idempotent: bool,
}

/// The exchange of a relayed request; `None` where a store or a program asks the proxy.
pub(super) fn relayed_exchange(exchange: &dyn Exchange) -> Option<&HttpExchange> {
    exchange.as_any()?.downcast_ref::<HttpExchange>().filter(|one| one.relay.is_some())
}

impl ProxyCore {
    /// Relays the request of an exchange, and leaves the response there.
    ///
    /// # Errors
    /// No upstream has answered.
    pub(super) async fn forward(
        &self,
        exchange: &HttpExchange,
        reference: &Reference,
    ) -> Result<()> {
        let Some(relay) = &exchange.relay else { return Err(not_relayed()) };
        let mut request = relay.take_request().ok_or_else(not_relayed)?;
        let encoded_slashes = self.options.encoded_slashes;
        let whole = &request.whole;
        let target = target::path_and_query(&exchange.uri, whole, reference, encoded_slashes)?;
        let has_body = !matches!(request.body, RelayedBody::Nothing);
        let upgrade =
            headers::upgrade(exchange).filter(|_| !has_body && !request.state.is_of_stream());
        let mut lines = headers::request_lines(exchange, &request, upgrade.as_ref());
        let calling = begin_trace(exchange, &mut lines);
        let is_idempotent = matches!(
            exchange.method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE
        );
        let body = std::mem::replace(&mut request.body, RelayedBody::Nothing);
        let content = ForwardedContent::of(body, request.expects, is_idempotent, exchange).await?;
        let state = request.state;
        let mut forwarding = Forwarding {
            core: self,
            exchange,
            target,
            lines,
            content,
            upgrade,
            state,
            is_idempotent,
        };
        let result = forwarding.send().await;
        if let Some(calling) = calling {
            calling.ended(result.as_ref().map(|response| response.status.as_u16()));
        }
        relay.respond(result?);
        Ok(())
    }
}

/// Starts a span of the request's trace; the fields carry it to the upstream.
fn begin_trace(exchange: &HttpExchange, lines: &mut FieldLines) -> Option<Box<dyn Calling>> {
    exchange.observed.as_ref()?.trace.as_ref()?;
    let calling = exchange.calling(exchange.method.as_str(), exchange.uri.path())?;
    for (name, value) in calling.headers() {
        if HeaderValue::from_str(&value).is_ok() {
            lines.set(name, value.as_bytes());
        }
    }
    Some(calling)
}

/// The head of a request to one upstream.
pub(super) struct ForwardedHead<'a> {
    pub(super) upstream: &'a ProxyUpstream,
    pub(super) method: &'a Method,
    pub(super) target: &'a PathAndQuery,
    /// `Host` of the request, where the upstream gets that.
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) lines: &'a FieldLines,
}

impl OutgoingHead for ForwardedHead<'_> {
    fn method(&self) -> &Method {
        self.method
    }

    fn write(&self, length: Length, _: Option<&ForwardProxy>, into: &mut Vec<u8>) {
        into.extend_from_slice(self.method.as_str().as_bytes());
        into.push(b' ');
        into.extend_from_slice(self.upstream.base.as_bytes());
        into.extend_from_slice(self.target.as_str().as_bytes());
        into.extend_from_slice(b" HTTP/1.1\r\n");
        fields::write("host", self.host.unwrap_or(&self.upstream.host_field).as_bytes(), into);
        into.extend_from_slice(self.lines.as_bytes());
        length.write(self.method, into);
    }
}

/// The error of a request that is not relayed as it is.
pub(super) fn not_relayed() -> Error {
    let message = "a Proxy passes on the requests of a server, and nothing that changes or keeps their \
                   answers can stand before it; a program reads another server by `ref:http://…`";
    Error::new(Kind::NotAllowed, message)
}

impl Forwarding<'_> {
    /// Sends the request to one upstream after the other, until there is an answer.
    async fn send(&mut self) -> Result<RelayedResponse> {
        let core = self.core;
        let sticky = core.sticky.as_ref();
        let preferred = sticky.and_then(|sticky| sticky.upstream(&self.exchange.headers));
        let mut tried = TriedUpstreams::default();
        let mut retries = core.options.retries;
        let mut last: Option<(AttemptFailure, usize)> = None;
        let mut again = None;
        loop {
            let chosen =
                again.take().or_else(|| core.balancer.choose(tried, preferred, self.state.clock()));
            let Some(index) = chosen else {
                return Err(last.map_or_else(all_down, |(failure, index)| {
                    failure.error(core.balancer.upstreams[index].place(), self.is_idempotent)
                }));
            };
            tried.add(index);
            let upstream = &core.balancer.upstreams[index];
            let was_stale =
                matches!(&last, Some((failure, of)) if *of == index && failure.is_stale());
            let began = self.state.clock();
            let failure = match self.attempt(upstream, was_stale).await {
                Ok(mut response) => {
                    upstream.health.succeeded(self.state.clock());
                    if let Some(sticky) = sticky.filter(|_| preferred != Some(index)) {
                        sticky.set(index, self.exchange.is_secure, response.fields.map());
                    }
                    return Ok(response);
                }
                Err(failure) => failure,
            };
            upstream.host.counters.add(Count::Failures, 1);
            let is_alone = failure.is_late() && upstream.health.has_answered_since(began);
            if failure.is_of_upstream() && !is_alone && core.balancer.failed(index, Instant::now())
            {
                tracing::warn!(
                    upstream = upstream.place(),
                    "an upstream failed too often and rests"
                );
            }
            let is_repeatable = failure.is_unsent() || (self.is_idempotent && failure.is_closed());
            let may_repeat = is_repeatable && !self.content.has_started();
            if may_repeat && failure.is_stale() {
                // That it closed an idle connection says nothing about the upstream.
                again = Some(index);
            } else if may_repeat && retries > 0 {
                retries -= 1;
                if failure.is_closed() && core.balancer.upstreams.len() == 1 {
                    again = Some(index);
                }
            } else {
                return Err(failure.error(upstream.place(), self.is_idempotent));
            }
            upstream.host.counters.add(Count::Retries, 1);
            last = Some((failure, index));
        }
    }

    /// Sends the request to an upstream, on a new connection or on any.
    async fn attempt(
        &mut self,
        upstream: &Rc<ProxyUpstream>,
        on_new_line: bool,
    ) -> std::result::Result<RelayedResponse, AttemptFailure> {
        let options = &self.core.options;
        let active = upstream.start();
        let host = &upstream.host;
        let slot = host.slots.take(None).await.map_err(AttemptFailure::Crowded)?;
        host.counters.add(Count::Requests, 1);
        let idle = if on_new_line { None } else { host.idle_line().await };
        let reused = idle.is_some();
        let failed = |failure| AttemptFailure::RoundTrip { failure, reused };
        let line = match idle {
            Some(line) => line,
            None => {
                // The time of the connector is without the lookup of the name and without TLS.
                // Boxed, so that the future of a request on a kept connection is small.
                let connecting = Box::pin(upstream.dial.connect(&upstream.uri, &host.counters));
                let connected = tokio::time::timeout(options.connect_time, connecting).await;
                let late = || RoundTripFailure::Connect(io::ErrorKind::TimedOut.into());
                connected.unwrap_or_else(|_| Err(late())).map_err(failed)?
            }
        };
        let method = &self.exchange.method;
        let given = self.exchange.headers.get(header::HOST);
        let head = ForwardedHead {
            upstream,
            method,
            target: &self.target,
            host: given.filter(|_| options.host == HostField::Client),
            lines: &self.lines,
        };
        let mut trip = host.round_trip(line, &head, self.content.body());
        trip.keep_all(self.upgrade.is_some());
        let head = match self.head(&mut trip).await {
            Some(head) => head.map_err(failed)?,
            None => return Err(AttemptFailure::Late),
        };
        if head.status.is_server_error() {
            host.counters.add(Count::Failures, 1);
        }
        if self.content.is_awaited() {
            trip.end_request();
        }
        let (idle, state) = (options.idle_time, self.state.clone());
        let response = UpstreamResponse { head, trip, slot, active, idle, state };
        response.relayed(method, self.upgrade.clone()).map_err(failed)
    }

    /// The head of the response; `None` when it takes too long. The time begins with the end of the
    /// request.
    async fn head(
        &self,
        trip: &mut RoundTrip<ForwardedBody, RelayedHead>,
    ) -> Option<std::result::Result<RelayedHead, RoundTripFailure>> {
        let limit = self.core.options.answer_time;
        let start = self.state.clock();
        let mut timer = RequestTimer::new(self.state.clone(), RequestTimeout::Upstream);
        poll_fn(|context| {
            loop {
                let polled = trip.poll_head(context);
                let is_wanted = self.pass_interim(trip);
                match polled {
                    Poll::Ready(head) => return Poll::Ready(Some(head)),
                    Poll::Pending if is_wanted => continue,
                    Poll::Pending => {}
                }
                let is_awaited = self.content.is_awaited();
                let until = match self.content.last() {
                    _ if is_awaited => start + limit.min(CONTINUE_TIME),
                    last => last.unwrap_or(start) + limit,
                };
                ready!(timer.poll(until, context));
                if !is_awaited || limit <= CONTINUE_TIME {
                    return Poll::Ready(None);
                }
                self.content.want();
            }
        })
        .await
    }

    /// Passes interim responses on. Returns whether the upstream wants the body since now.
    fn pass_interim(&self, trip: &mut RoundTrip<ForwardedBody, RelayedHead>) -> bool {
        let mut is_wanted = false;
        for head in trip.take_interim() {
            if head.status == StatusCode::CONTINUE {
                // Reading the body sends it to the client.
                is_wanted |= self.content.is_awaited();
                self.content.want();
                continue;
            }
            self.state.add_interim(head.status, &head.lines);
        }
        is_wanted
    }
}
