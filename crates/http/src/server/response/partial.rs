//! Answering parts of content: 206, 416 and `multipart/byteranges` (RFC 9110 sections 14 and 15.3.7).

use crate::protocol::conditions::{self, Validators};
use crate::protocol::range::{self, Asked, Span};
use crate::server::connection_state::Meter;
use crate::server::response::body::AnswerBody;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_store::{ByteStream, Error, Kind, Result, Seekable};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// Content on its way out.
pub(crate) enum Outgoing {
    Bytes(Bytes),
    Stream(ByteStream, Option<u64>),
}

/// A part of content, as it is answered.
pub(crate) struct Part {
    pub(crate) body: AnswerBody,
    /// The content type of several parts; a single one has that of the whole.
    pub(crate) kind: Option<HeaderValue>,
    /// Where a single part lies.
    pub(crate) place: Option<HeaderValue>,
}

/// What is to be sent of content.
pub(crate) enum Sent {
    All(Outgoing),
    Part(Part),
    /// Nothing that was asked for is there; `Content-Range` says how long it is.
    Beyond(HeaderValue),
}

impl Outgoing {
    fn length(&self) -> Option<u64> {
        match self {
            Outgoing::Bytes(bytes) => Some(bytes.len() as u64),
            Outgoing::Stream(_, length) => *length,
        }
    }

    /// All of it.
    pub(crate) fn body(self, meter: &Rc<Meter>) -> AnswerBody {
        match self {
            Outgoing::Bytes(bytes) => AnswerBody::whole(bytes, meter),
            Outgoing::Stream(stream, length) => AnswerBody::stream(stream, length, meter),
        }
    }

    /// Whether any part can be had, one by one and again.
    fn is_seekable(&self) -> bool {
        match self {
            Outgoing::Bytes(_) => true,
            Outgoing::Stream(stream, _) => Seekable::of(stream).is_some(),
        }
    }
}

/// Whether parts of content can be asked for: it has a known length, and a validator by which a
/// client can tell that its parts belong together.
pub(crate) fn has_parts(content: &Outgoing, validators: &Validators) -> bool {
    let validated = validators.tag.is_some() || validators.modified.is_some();
    validated && content.length().is_some()
}

/// What of the content is sent, by the `Range` and `If-Range` of a request. `kind` is the type of
/// the content.
pub(crate) fn sent(
    headers: &HeaderMap,
    content: Outgoing,
    validators: &Validators,
    kind: &HeaderValue,
    meter: &Rc<Meter>,
) -> Sent {
    let mut fields = headers.get_all(header::RANGE).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else { return Sent::All(content) };
    let Some(length) = content.length() else { return Sent::All(content) };
    if !is_current(headers, validators) {
        return Sent::All(content);
    }
    match range::asked(field.as_bytes(), length) {
        Asked::Whole => Sent::All(content),
        Asked::Beyond => Sent::Beyond(value(format!("bytes */{length}"))),
        Asked::Spans(spans) => match spans[..] {
            [span] => Sent::Part(Part {
                body: one(content, span, meter),
                kind: None,
                place: Some(place(span, length)),
            }),
            // What can only be read from the beginning would be read again for each part.
            _ if !content.is_seekable() => Sent::All(content),
            _ => Sent::Part(several(&content, &spans, length, kind, meter)),
        },
    }
}

/// Whether the client's part belongs to the present content (RFC 9110 section 13.1.5): compared
/// strongly. A date is strong when a second change within its second can no longer come.
fn is_current(headers: &HeaderMap, validators: &Validators) -> bool {
    let Some(condition) = headers.get(header::IF_RANGE) else { return true };
    let Ok(text) = condition.to_str() else { return false };
    if let Some(wanted) = conditions::parse_tag(text) {
        let tag = validators.tag.as_ref();
        return tag.is_some_and(|tag| !wanted.weak && !tag.weak && tag.text == wanted.text);
    }
    let Some(modified) = validators.modified else { return false };
    let settled = SystemTime::now().duration_since(modified);
    settled.is_ok_and(|age| age >= Duration::from_secs(2))
        && conditions::date_header(modified).is_some_and(|date| date == *condition)
}

fn one(content: Outgoing, span: Span, meter: &Rc<Meter>) -> AnswerBody {
    let length = Some(span.length());
    match content {
        Outgoing::Bytes(bytes) => AnswerBody::whole(cut(&bytes, span), meter),
        Outgoing::Stream(stream, _) => {
            let part = match Seekable::of(&stream) {
                Some(seekable) => seekable.part(span.from, span.length()),
                None => passing(stream, span),
            };
            AnswerBody::stream(part, length, meter)
        }
    }
}

fn cut(bytes: &Bytes, span: Span) -> Bytes {
    bytes.slice(span.from as usize..span.to as usize)
}

/// A part of a stream that is read from its beginning.
fn passing(stream: ByteStream, span: Span) -> ByteStream {
    Box::pin(stream::try_unfold((stream, 0, span), |(mut stream, mut at, span)| async move {
        while at < span.to {
            let piece = stream.next().await.transpose()?;
            let Some(piece) = piece else {
                return Err(Error::new(Kind::Failed, "content ended before its length"));
            };
            let (start, end) = (at, at + piece.len() as u64);
            at = end;
            let (from, to) = (span.from.max(start), span.to.min(end));
            if from < to {
                let piece = piece.slice((from - start) as usize..(to - start) as usize);
                return Ok(Some((piece, (stream, at, span))));
            }
        }
        Ok(None)
    }))
}

/// Several parts, each with its type and place, as `multipart/byteranges`.
fn several(
    content: &Outgoing,
    spans: &[Span],
    length: u64,
    kind: &HeaderValue,
    meter: &Rc<Meter>,
) -> Part {
    let boundary = boundary();
    let mut pieces: Vec<ByteStream> = Vec::with_capacity(2 * spans.len() + 1);
    let mut total = 0;
    for (at, span) in spans.iter().enumerate() {
        let line = if at == 0 { "" } else { "\r\n" };
        let mut head = format!("{line}--{boundary}\r\nContent-Type: ").into_bytes();
        head.extend_from_slice(kind.as_bytes());
        head.extend_from_slice(b"\r\nContent-Range: ");
        head.extend_from_slice(place(*span, length).as_bytes());
        head.extend_from_slice(b"\r\n\r\n");
        total += head.len() as u64 + span.length();
        pieces.push(ready(head.into()));
        pieces.push(match content {
            Outgoing::Bytes(bytes) => ready(cut(bytes, *span)),
            Outgoing::Stream(stream, _) => match Seekable::of(stream) {
                Some(seekable) => seekable.part(span.from, span.length()),
                None => ready(Bytes::new()),
            },
        });
    }
    let end = format!("\r\n--{boundary}--\r\n");
    total += end.len() as u64;
    pieces.push(ready(end.into()));
    let all = stream::iter(pieces).flatten();
    Part {
        body: AnswerBody::stream(Box::pin(all), Some(total), meter),
        kind: Some(value(format!("multipart/byteranges; boundary={boundary}"))),
        place: None,
    }
}

fn ready(bytes: Bytes) -> ByteStream {
    Box::pin(stream::iter([Result::Ok(bytes)]))
}

fn place(span: Span, length: u64) -> HeaderValue {
    value(format!("bytes {}-{}/{length}", span.from, span.to - 1))
}

/// A line that no content contains but by a chance of one in 2^128, and that nobody can foresee.
fn boundary() -> String {
    let (one, other) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!("{one:016x}{other:016x}")
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
