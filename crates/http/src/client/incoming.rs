//! The answer of a server as content.

use super::call::Wire;
use super::{address, fault};
use crate::{conditions, media};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, BodyStream};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName};
use hyper::{Response, StatusCode, Uri};
use runnel_store::{Body, ByteStream, Content, Error, Kind, Reference, Result, Slot, Verb};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How much of an answer that nobody wants is read, so that the connection can be used again.
const DISCARDED: usize = 64 * 1024;
/// How long that may take.
const DISCARD_TIME: Duration = Duration::from_secs(1);
/// How much of an error's text is kept for the log.
const ERROR_TEXT: usize = 2 * 1024;

/// An answer whose head has come.
pub(super) struct Reception {
    pub(super) response: Response<Incoming>,
    /// The place among the host's connections, until the body has been read.
    pub(super) slot: Option<Slot>,
    pub(super) wire: Rc<Wire>,
    pub(super) target: Uri,
    /// When the caller stops waiting for the answer; a stream it reads in its own time.
    pub(super) deadline: Option<Instant>,
    pub(super) verb: Verb,
    pub(super) reference: Reference,
}

impl Reception {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Goes on with a success (and with 304, which only a caller with a tag gets); every other
    /// status is an error.
    pub(super) async fn accepted(self) -> Result<Self> {
        let status = self.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(self);
        }
        let text = start_of(self.response.into_body(), ERROR_TEXT).await;
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
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Reads and forgets the rest, so that the connection can be used again.
    pub(super) async fn discard(self) {
        discard(self.response.into_body()).await;
        drop(self.slot);
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
        let mut pieces = self.stream(idle);
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
            if collected.is_empty() && length == Some(piece.len() as u64) {
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
        Error::new(Kind::Timeout, fault::too_long(&self.target, "send its answer"))
            .on(self.verb, &self.reference)
    }

    /// The body, piece by piece, with at most so much time between two.
    fn stream(self, idle: Option<Duration>) -> ByteStream {
        let late = self.late();
        let (target, verb, reference) = (self.target, self.verb, self.reference);
        let frames = BodyStream::new(self.response.into_body());
        let start = Some((frames, late, self.slot));
        Box::pin(stream::unfold(start, move |state| {
            let (target, reference) = (target.clone(), reference.clone());
            async move {
                let (mut frames, late, slot) = state?;
                loop {
                    let frame = match idle {
                        None => frames.next().await,
                        Some(idle) => match tokio::time::timeout(idle, frames.next()).await {
                            Ok(frame) => frame,
                            Err(_) => return Some((Err(late), None)),
                        },
                    };
                    match frame? {
                        Ok(frame) => {
                            // Trailers are nobody's content.
                            let Ok(piece) = frame.into_data() else { continue };
                            return Some((Ok(piece), Some((frames, late, slot))));
                        }
                        Err(error) => {
                            let error = broken_off(&error, &target).on(verb, &reference);
                            return Some((Err(error), None));
                        }
                    }
                }
            }
        }))
    }
}

fn broken_off(error: &hyper::Error, target: &Uri) -> Error {
    let host = target.authority().map_or("the server", |authority| authority.as_str());
    Error::new(Kind::Unavailable, format!("{host} broke its answer off"))
        .with_detail(error.to_string())
}

/// A body that was small enough, or not.
enum Collected {
    Whole(Bytes),
    Stream(ByteStream),
}

/// Reads and forgets a body, within limits. Beyond them the connection is given up.
pub(super) async fn discard(body: Incoming) {
    start_of(body, DISCARDED).await;
}

/// The first bytes of a body, as far as they come in time.
async fn start_of(mut body: Incoming, most: usize) -> Bytes {
    let until = Instant::now() + DISCARD_TIME;
    let mut start = BytesMut::new();
    while start.len() < most {
        match tokio::time::timeout_at(until.into(), body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(piece) = frame.into_data() {
                    start.extend_from_slice(&piece);
                }
            }
            _ => break,
        }
    }
    start.truncate(most);
    start.freeze()
}
