//! The response of a server as content.

use crate::client::body::decoding::{ACCEPTED, Coding, decoded};
use crate::client::call::{VerbCall, discard, start_of};
use crate::client::connection::response_head::ReceivedHead;
use crate::client::connection::round_trip::RoundTrip;
use crate::client::failure::RoundTripFailure;
use crate::client::outgoing::{OutgoingContent, RequestPayload};
use crate::client::paced::{BodyFailure, TimedBody};
use crate::client::{address, fault};
use crate::protocol::conditions;
use crate::protocol::media_type;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use hyper::header::{self, HeaderName};
use hyper::{Method, StatusCode};
use runnel_store::{Body, ByteStream, Content, Error, Kind, Outcome, Reference, Result};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Bytes of an error response's text that are kept for the log.
const ERROR_TEXT: usize = 2 * 1024;

/// A response whose head has arrived.
pub(crate) struct ReceivedResponse {
    pub(crate) call: Box<VerbCall>,
    pub(crate) head: ReceivedHead,
    /// Reads its body.
    pub(crate) trip: Box<RoundTrip<RequestPayload>>,
}

impl ReceivedResponse {
    /// Sends a request and waits for the head of the response.
    pub(crate) async fn of(mut call: Box<VerbCall>) -> Result<Self> {
        let (head, trip) = call.send().await?;
        Ok(ReceivedResponse { call, head, trip })
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Passes a success on (and 304, which only a caller with a tag gets); every other status is an
    /// error.
    pub(crate) async fn accepted(mut self) -> Result<Self> {
        let status = self.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        let text = start_of(&mut self.trip, ERROR_TEXT).await;
        let error = fault::of_status(status).on(self.call.verb, &self.call.reference);
        // A gateway without the answer of its server. A server that is overloaded has done nothing.
        let is_lost = matches!(status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT);
        let error = if is_lost { self.call.lost(error) } else { error };
        let text = String::from_utf8_lossy(&text);
        Err(if text.is_empty() { error } else { error.with_detail(text) })
    }

    /// The outcome of a write: what was created and where, and the content of the response.
    pub(crate) async fn outcome(self) -> Result<Outcome> {
        let outcome = Outcome::put(self.status() == StatusCode::CREATED);
        let reference = self.location();
        let call = self.call.repetition();
        let content = self.content().await.map_err(|error| call.lost(error))?;
        let entity_tag = content.entity_tag.clone();
        let is_empty = match &content.body {
            Body::Empty => true,
            Body::Bytes(bytes) => bytes.is_empty(),
            Body::Text(text) => text.is_empty(),
            _ => false,
        };
        let content = (!is_empty).then_some(content);
        Ok(Outcome { reference, entity_tag, content, ..outcome })
    }

    /// The reference in `Location`.
    fn location(&self) -> Option<Reference> {
        let location = self.header(header::LOCATION)?;
        address::reference(&address::resolve(&self.call.target, location)?)
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The announced length of the body.
    pub(crate) fn length(&self) -> Option<u64> {
        if self.call.method == Method::HEAD {
            return None;
        }
        self.header(header::CONTENT_LENGTH).and_then(|text| text.parse().ok())
    }

    /// The coding of the body, where the client asked for one.
    pub(crate) fn coding(&self) -> Option<Coding> {
        let is_asked = self.call.headers.get(header::ACCEPT_ENCODING) == Some(&ACCEPTED);
        is_asked.then(|| Coding::of(&self.head.headers)).flatten()
    }

    /// Drains the body, so that the connection can be reused.
    pub(crate) async fn discard(self) {
        discard(self.trip).await;
    }

    /// The response as content: collected when small, a stream when large.
    pub(crate) async fn content(self) -> Result<Content> {
        let media_type = self.header(header::CONTENT_TYPE).map(media_type::named);
        let coding = self.coding();
        let entity_tag = self.header(header::ETAG).and_then(conditions::parse_tag);
        let entity_tag = entity_tag.filter(|_| coding.is_none());
        let modified = self
            .header(header::LAST_MODIFIED)
            .and_then(|text| httpdate::parse_http_date(text).ok());
        let length = self.length().filter(|_| coding.is_none());
        let is_endless =
            media_type.as_deref().is_some_and(|kind| kind.starts_with("text/event-stream"));
        let (body, media_type) = match self.status() {
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED => {
                (Body::Empty, media_type)
            }
            _ if self.call.method == Method::HEAD => (Body::Empty, media_type),
            // An event stream has no idle timeout.
            _ if is_endless => (Body::Stream(self.stream(None)?, None), media_type),
            _ => match self.collected(length).await? {
                Collected::Whole(bytes) => media_type::text_or_bytes(bytes, media_type),
                Collected::Stream(stream) => (Body::Stream(stream, length), media_type),
            },
        };
        Ok(Content { body, media_type, entity_tag, modified, ..Content::default() })
    }

    async fn collected(self, length: Option<u64>) -> Result<Collected> {
        let most = self.call.client.options.collect;
        let idle = Some(self.call.body_idle());
        if length.is_some_and(|length| length > most) {
            return Ok(Collected::Stream(self.stream(idle)?));
        }
        let deadline = self.call.deadline;
        if self.coding().is_some() {
            let late = late(&self.call);
            return collect(self.stream(idle)?, most, deadline, || late.clone()).await;
        }
        let mut pieces = self.pieces(idle);
        // Most answers arrive in one piece, which is the content as it is.
        let first = match within(pieces.next(), deadline).await {
            Some(first) => first.transpose()?,
            None => return Err(pieces.late()),
        };
        match first {
            None => Ok(Collected::Whole(Bytes::new())),
            Some(piece) if pieces.content.is_over() => Ok(Collected::Whole(piece)),
            Some(piece) => {
                let late = pieces.late();
                let start = stream::iter([Ok(piece)]);
                collect(Box::pin(start.chain(pieces)), most, deadline, || late.clone()).await
            }
        }
    }

    /// The body as a stream, with an idle timeout between two pieces.
    fn stream(self, idle: Option<Duration>) -> Result<ByteStream> {
        match self.coding() {
            Some(coding) => decoded(Box::pin(self.pieces(idle)), coding),
            None => Ok(Box::pin(self.pieces(idle))),
        }
    }

    fn pieces(mut self, idle: Option<Duration>) -> ResponsePieces {
        self.call.body = OutgoingContent::Nothing;
        ResponsePieces { call: self.call, content: TimedBody::new(self.trip, idle) }
    }
}

/// The pieces of a response body. The stream ends with its first error.
struct ResponsePieces {
    call: Box<VerbCall>,
    content: TimedBody<RequestPayload>,
}

/// The error of a body that takes too long.
fn late(call: &VerbCall) -> Error {
    let message = fault::timed_out(&call.target, "send its response");
    Error::new(Kind::Timeout, message).on(call.verb, &call.reference)
}

/// What comes before a deadline; `None` behind it.
async fn within<T>(next: impl Future<Output = T>, deadline: Option<Instant>) -> Option<T> {
    match deadline {
        None => Some(next.await),
        Some(deadline) => tokio::time::timeout_at(deadline.into(), next).await.ok(),
    }
}

/// The whole of a small body, or a stream of a large one. A deadline also ends a steady drip.
async fn collect(
    mut body: ByteStream,
    most: u64,
    deadline: Option<Instant>,
    late: impl Fn() -> Error,
) -> Result<Collected> {
    let mut collected = BytesMut::new();
    loop {
        let next = within(body.next(), deadline).await.ok_or_else(&late)?;
        let Some(piece) = next.transpose()? else {
            return Ok(Collected::Whole(collected.freeze()));
        };
        collected.extend_from_slice(&piece);
        if collected.len() as u64 > most {
            let start = stream::iter([Ok(collected.freeze())]);
            return Ok(Collected::Stream(Box::pin(start.chain(body))));
        }
    }
}

impl ResponsePieces {
    fn late(&self) -> Error {
        late(&self.call)
    }

    fn broken_off(&self, failure: &RoundTripFailure) -> Error {
        let host = self.call.target.authority().map_or("the server", |host| host.as_str());
        Error::new(Kind::Unavailable, format!("{host} ended its response early"))
            .with_detail(failure.to_string())
            .on(self.call.verb, &self.call.reference)
    }
}

impl Stream for ResponsePieces {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(self.content.poll_piece(context));
        Poll::Ready(piece.map(|piece| {
            piece.map_err(|gap| match gap {
                BodyFailure::Late => self.late(),
                BodyFailure::Failed(failure) => self.broken_off(&failure),
            })
        }))
    }
}

/// A body that fits into [`crate::ClientOptions::collect`], or a stream.
enum Collected {
    Whole(Bytes),
    Stream(ByteStream),
}
