//! The response of an upstream on its way to the client.

use super::headers::RelayedHead;
use super::tunnel;
use super::upload::ForwardedBody;
use super::upstream::ActiveRequest;
use crate::client::connection::round_trip::RoundTrip;
use crate::client::failure::RoundTripFailure;
use crate::client::paced::{BodyFailure, TimedBody};
use crate::server::connection_state::ConnectionState;
use crate::server::request::relay::{RelayedFields, RelayedResponse};
use crate::server::response::body::ResponseBody;
use bytes::Bytes;
use futures_util::{Stream, stream};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use runnel_store::{Error, Kind, Slot};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A response whose head has arrived.
pub(super) struct UpstreamResponse {
    pub(super) head: RelayedHead,
    pub(super) trip: Box<RoundTrip<ForwardedBody, RelayedHead>>,
    pub(super) slot: Slot,
    pub(super) active: ActiveRequest,
    pub(super) idle: Duration,
    pub(super) state: Rc<ConnectionState>,
}

impl UpstreamResponse {
    /// The response as the client gets it.
    ///
    /// # Errors
    /// The upstream changes the protocol to another one than the request asked for, or its content has
    /// a transfer coding that HTTP/1.1 clients need not know.
    pub(super) fn relayed(
        mut self,
        method: &Method,
        upgrade: Option<HeaderValue>,
    ) -> Result<RelayedResponse, RoundTripFailure> {
        let RelayedHead { status, length, is_event_stream, has_plain_framing, .. } = self.head;
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return self.switched(upgrade);
        }
        if !has_plain_framing {
            return Err(RoundTripFailure::Malformed("its transfer coding is not chunked"));
        }
        let fields = RelayedFields::new(std::mem::take(&mut self.head.lines));
        let body = self.body(method, status, length, is_event_stream);
        Ok(RelayedResponse { status, fields, body, upgrade: None })
    }

    fn body(
        mut self,
        method: &Method,
        status: StatusCode,
        length: Option<u64>,
        is_event_stream: bool,
    ) -> ResponseBody {
        let state = self.state.clone();
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return ResponseBody::empty(&state);
        }
        if *method == Method::HEAD {
            return match length {
                Some(length) => ResponseBody::announced(length, &state),
                None => ResponseBody::stream(Box::pin(stream::empty()), None, &state),
            };
        }
        if let Some(bytes) = self.trip.take_whole() {
            return ResponseBody::whole(bytes, &state);
        }
        let trailers = Rc::<RefCell<HeaderMap>>::default();
        self.trip.hold(self.slot);
        let pieces = UpstreamPieces {
            content: TimedBody::new(self.trip, (!is_event_stream).then_some(self.idle)),
            _active: self.active,
            trailers: trailers.clone(),
            events: is_event_stream.then(|| state.clone()),
            is_between: true,
            is_over: false,
        };
        ResponseBody::stream(Box::pin(pieces), length, &state).with_trailers(trailers)
    }

    /// The rest of the connection in another protocol.
    fn switched(self, upgrade: Option<HeaderValue>) -> Result<RelayedResponse, RoundTripFailure> {
        let wrong = || RoundTripFailure::Malformed("it switches to an unrequested protocol");
        let protocol = upgrade.ok_or_else(wrong)?;
        let given = self.head.protocol.trim_ascii();
        if !given.eq_ignore_ascii_case(protocol.as_bytes().trim_ascii()) {
            return Err(wrong());
        }
        let mut fields = RelayedFields::new(self.head.lines);
        let headers = fields.map();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol);
        let UpstreamResponse { trip, slot, active, idle, state, .. } = self;
        let (line, early_response) = trip.into_switched().ok_or_else(wrong)?;
        let body = ResponseBody::empty(&state);
        let upgrade: crate::server::connection_state::Upgrade =
            Box::new(move |client, early_request| {
                Box::pin(async move {
                    let early = (early_request, early_response);
                    tunnel::run(client, line, early, idle, state).await;
                    drop((slot, active));
                })
            });
        let status = StatusCode::SWITCHING_PROTOCOLS;
        Ok(RelayedResponse { status, fields, body, upgrade: Some(upgrade) })
    }
}

/// The content of a response, piece by piece.
struct UpstreamPieces {
    content: TimedBody<ForwardedBody, RelayedHead>,
    _active: ActiveRequest,
    trailers: Rc<RefCell<HeaderMap>>,
    /// Event streams end when the server drains: their clients reconnect.
    events: Option<Rc<ConnectionState>>,
    /// The last piece ended an event.
    is_between: bool,
    is_over: bool,
}

impl Stream for UpstreamPieces {
    type Item = runnel_store::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(state) = &self.events {
            if self.is_between && state.is_draining() {
                return Poll::Ready(None);
            }
            state.wake_at_drain(context.waker());
        }
        let piece = match ready!(self.content.poll_piece(context)) {
            Some(Ok(piece)) => piece,
            None => {
                self.is_over = true;
                let trailers = self.content.take_trailers();
                self.trailers.replace(trailers);
                return Poll::Ready(None);
            }
            Some(Err(failure)) => {
                self.is_over = true;
                let (kind, cause) = match failure {
                    BodyFailure::Late => (Kind::Timeout, "it took too long".to_string()),
                    BodyFailure::Failed(failure) => (Kind::Unavailable, failure.to_string()),
                };
                tracing::debug!(cause, "an upstream broke its response off");
                return Poll::Ready(Some(Err(Error::new(kind, "the response ended early"))));
            }
        };
        if self.events.is_some() {
            self.is_between = piece.ends_with(b"\n\n");
        }
        Poll::Ready(Some(Ok(piece)))
    }
}
