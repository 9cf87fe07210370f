//! The answer of a server as content.

use super::answer_head::AnswerHead;
use super::call::Wire;
use super::failure::Failure;
use super::outgoing::Payload;
use super::round_trip::RoundTrip;
use super::{address, fault};
use crate::{conditions, media};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use hyper::header::{self, HeaderName};
use hyper::{StatusCode, Uri};
use runnel_store::{Body, ByteStream, Content, Error, Kind, Reference, Result, Verb};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// How much of an answer that nobody wants is read, so that the connection can be used again.
const DISCARDED: usize = 64 * 1024;
/// How long that may take.
const DISCARD_TIME: Duration = Duration::from_secs(1);
/// How much of an error's text is kept for the log.
const ERROR_TEXT: usize = 2 * 1024;

/// An answer whose head has come.
pub(super) struct Reception {
    pub(super) head: AnswerHead,
    /// The rest of it.
    pub(super) trip: RoundTrip<Payload>,
    pub(super) wire: Rc<Wire>,
    pub(super) target: Uri,
    /// When the caller stops waiting for the answer; a stream it reads in its own time.
    pub(super) deadline: Option<Instant>,
    pub(super) verb: Verb,
    pub(super) reference: Reference,
}

impl Reception {
    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Goes on with a success (and with 304, which only a caller with a tag gets); every other
    /// status is an error.
    pub(super) async fn accepted(self) -> Result<Self> {
        let status = self.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        let text = start_of(self.trip, ERROR_TEXT).await;
        let error = fault::of_status(status).on(self.verb, &self.reference);
        let text = String::from_utf8_lossy(&text);
        Err(if text.is_empty() { error } else { error.with_detail(text) })
    }

    /// Where the answer says that the new thing is.
    pub(super) fn location(&self) -> Option<Reference> {
        let location = self.header(header::LOCATION)?;
        address::reference(&address::resolve(&self.target, location)?)
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// Reads and forgets the rest, so that the connection can be used again.
    pub(super) async fn discard(self) {
        discard(self.trip).await;
    }

    /// The answer as content: collected when it is small, a stream when it is not.
    pub(super) async fn content(self) -> Result<Content> {
        let media_type = self.header(header::CONTENT_TYPE).map(str::to_owned);
        let entity_tag = self.header(header::ETAG).and_then(conditions::parse_tag);
        let modified = self
            .header(header::LAST_MODIFIED)
            .and_then(|text| httpdate::parse_http_date(text).ok());
        let length = self.header(header::CONTENT_LENGTH).and_then(|text| text.parse().ok());
        let is_endless =
            media_type.as_deref().is_some_and(|kind| kind.starts_with("text/event-stream"));
        let (body, media_type) = match self.status() {
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED => {
                (Body::Empty, media_type.map(Into::into))
            }
            // Events come when they come.
            _ if is_endless => (Body::Stream(self.stream(None), None), media_type.map(Into::into)),
            _ => match self.collected(length).await? {
                Collected::Whole(bytes) => media::text_or_bytes(bytes, media_type, false),
                Collected::Stream(stream) => {
                    (Body::Stream(stream, length), media_type.map(Into::into))
                }
            },
        };
        Ok(Content { body, media_type, entity_tag, modified, class: None })
    }

    async fn collected(self, length: Option<u64>) -> Result<Collected> {
        let most = self.wire.options.collect;
        let idle = Some(self.wire.options.body_idle);
        if length.is_some_and(|length| length > most) {
            return Ok(Collected::Stream(self.stream(idle)));
        }
        let late = self.late();
        let deadline = self.deadline;
        let mut pieces = self.pieces(idle);
        let mut collected = BytesMut::new();
        loop {
            let next = match deadline {
                None => pieces.next().await,
                Some(deadline) => {
                    match tokio::time::timeout_at(deadline.into(), pieces.next()).await {
                        Ok(next) => next,
                        // However steadily it drips: the caller waits no longer.
                        Err(_) => return Err(late),
                    }
                }
            };
            let Some(piece) = next.transpose()? else {
                return Ok(Collected::Whole(collected.freeze()));
            };
            if collected.is_empty() && pieces.trip.is_over() {
                return Ok(Collected::Whole(piece));
            }
            collected.extend_from_slice(&piece);
            if collected.len() as u64 > most {
                let start = stream::iter([Ok(collected.freeze())]);
                return Ok(Collected::Stream(Box::pin(start.chain(pieces))));
            }
        }
    }

    fn late(&self) -> Error {
        late(&self.target).on(self.verb, &self.reference)
    }

    /// The body, piece by piece, with at most so much time between two.
    fn stream(self, idle: Option<Duration>) -> ByteStream {
        Box::pin(self.pieces(idle))
    }

    fn pieces(self, idle: Option<Duration>) -> Pieces {
        let (target, verb, reference) = (self.target, self.verb, self.reference);
        Pieces { trip: self.trip, idle, timer: None, is_waiting: false, target, verb, reference }
    }
}

/// The pieces of a body. It ends with its first error.
struct Pieces {
    trip: RoundTrip<Payload>,
    /// How long the next one may take.
    idle: Option<Duration>,
    /// Made when a piece is waited for.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    target: Uri,
    verb: Verb,
    reference: Reference,
}

impl Stream for Pieces {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Poll::Ready(piece) = this.trip.poll_piece(context) {
            this.is_waiting = false;
            return Poll::Ready(piece.map(|piece| {
                piece.map_err(|failure| {
                    broken_off(&failure, &this.target).on(this.verb, &this.reference)
                })
            }));
        }
        let Some(idle) = this.idle else { return Poll::Pending };
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        if !this.is_waiting {
            this.is_waiting = true;
            timer.as_mut().reset(tokio::time::Instant::now() + idle);
        }
        ready!(timer.as_mut().poll(context));
        this.trip.give_up();
        Poll::Ready(Some(Err(late(&this.target).on(this.verb, &this.reference))))
    }
}

fn late(target: &Uri) -> Error {
    Error::new(Kind::Timeout, fault::too_long(target, "send its answer"))
}

fn broken_off(failure: &Failure, target: &Uri) -> Error {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    Error::new(Kind::Unavailable, format!("{host} broke its answer off"))
        .with_detail(failure.to_string())
}

/// A body that was small enough, or not.
enum Collected {
    Whole(Bytes),
    Stream(ByteStream),
}

/// Reads and forgets a body, within limits. Beyond them the connection is given up.
pub(super) async fn discard(trip: RoundTrip<Payload>) {
    if !trip.is_over() {
        start_of(trip, DISCARDED).await;
    }
}

/// The first bytes of a body, as far as they come in time.
async fn start_of(mut trip: RoundTrip<Payload>, most: usize) -> Bytes {
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
