//! Partial responses: 206, 416 and `multipart/byteranges` (RFC 9110 sections 14 and 15.3.7).

use crate::protocol::conditions::{self, Validators};
use crate::protocol::range::{self, ByteRange, RequestedRanges};
use crate::server::connection_state::ConnectionState;
use crate::server::response::body::ResponseBody;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_store::{ByteStream, Error, Kind, Result, Seekable};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// The content of a response.
pub(crate) enum ResponseContent {
    Bytes(Bytes),
    Stream(ByteStream, Option<u64>),
}

/// The requested part of content.
pub(crate) struct PartialContent {
    pub(crate) body: ResponseBody,
    /// The content type of several parts; a single one keeps its own.
    pub(crate) kind: Option<HeaderValue>,
    /// `Content-Range` of a single part.
    pub(crate) content_range: Option<HeaderValue>,
}

/// The result of a range request.
pub(crate) enum RangeResult {
    All(ResponseContent),
    Part(PartialContent),
    /// Unsatisfiable: 416 with this `Content-Range`.
    Beyond(HeaderValue),
}

impl ResponseContent {
    fn length(&self) -> Option<u64> {
        match self {
            ResponseContent::Bytes(bytes) => Some(bytes.len() as u64),
            ResponseContent::Stream(_, length) => *length,
        }
    }

    /// The whole content.
    pub(crate) fn body(self, state: &Rc<ConnectionState>) -> ResponseBody {
        match self {
            ResponseContent::Bytes(bytes) => ResponseBody::whole(bytes, state),
            ResponseContent::Stream(stream, length) => ResponseBody::stream(stream, length, state),
        }
    }

    /// Whether any range can be read, repeatedly.
    fn is_seekable(&self) -> bool {
        match self {
            ResponseContent::Bytes(_) => true,
            ResponseContent::Stream(stream, _) => Seekable::of(stream).is_some(),
        }
    }
}

/// Whether content supports ranges: it has a known length, and a validator by which a client can
/// combine parts.
pub(crate) fn has_parts(content: &ResponseContent, validators: &Validators) -> bool {
    let validated = validators.tag.is_some() || validators.modified.is_some();
    validated && content.length().is_some()
}

/// Selects the content for the `Range` and `If-Range` of a request. `kind` is the content type.
pub(crate) fn select_range(
    headers: &HeaderMap,
    content: ResponseContent,
    validators: &Validators,
    kind: &HeaderValue,
    state: &Rc<ConnectionState>,
) -> RangeResult {
    let mut fields = headers.get_all(header::RANGE).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return RangeResult::All(content);
    };
    let Some(length) = content.length() else { return RangeResult::All(content) };
    if !is_current(headers, validators) {
        return RangeResult::All(content);
    }
    match range::parse(field.as_bytes(), length) {
        RequestedRanges::Whole => RangeResult::All(content),
        RequestedRanges::Beyond => RangeResult::Beyond(header_value(format!("bytes */{length}"))),
        RequestedRanges::Spans(spans) => match spans[..] {
            [span] => RangeResult::Part(PartialContent {
                body: single_part(content, span, state),
                kind: None,
                content_range: Some(content_range(span, length)),
            }),
            // A stream would be read again from its beginning for each part.
            _ if !content.is_seekable() => RangeResult::All(content),
            _ => RangeResult::Part(multipart(&content, &spans, length, kind, state)),
        },
    }
}

/// Whether `If-Range` matches the current content (RFC 9110 section 13.1.5), by strong comparison.
/// A date is strong when no second change within its second can come any more.
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

fn single_part(
    content: ResponseContent,
    span: ByteRange,
    state: &Rc<ConnectionState>,
) -> ResponseBody {
    let length = Some(span.length());
    match content {
        ResponseContent::Bytes(bytes) => ResponseBody::whole(own_part(&bytes, span), state),
        ResponseContent::Stream(stream, _) => {
            let part = match Seekable::of(&stream) {
                Some(seekable) => seekable.part(span.from, span.length()),
                None => skip_to(stream, span),
            };
            ResponseBody::stream(part, length, state)
        }
    }
}

fn slice_range(bytes: &Bytes, span: ByteRange) -> Bytes {
    bytes.slice(span.from as usize..span.to as usize)
}

/// A part of bytes. A small one is a copy where nobody else has the bytes: the part alone is charged, and a slice
/// would keep all of them.
fn own_part(bytes: &Bytes, span: ByteRange) -> Bytes {
    let is_small = span.length() < bytes.len() as u64 / 2;
    match is_small && bytes.is_unique() {
        true => Bytes::copy_from_slice(&slice_range(bytes, span)),
        false => slice_range(bytes, span),
    }
}

/// A range of a stream that is read from its beginning.
fn skip_to(stream: ByteStream, span: ByteRange) -> ByteStream {
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

/// Several ranges as `multipart/byteranges`.
fn multipart(
    content: &ResponseContent,
    spans: &[ByteRange],
    length: u64,
    kind: &HeaderValue,
    state: &Rc<ConnectionState>,
) -> PartialContent {
    let boundary = boundary();
    let mut pieces: Vec<ByteStream> = Vec::with_capacity(2 * spans.len() + 1);
    let mut total = 0;
    for (at, span) in spans.iter().enumerate() {
        let line = if at == 0 { "" } else { "\r\n" };
        let mut head = format!("{line}--{boundary}\r\nContent-Type: ").into_bytes();
        head.extend_from_slice(kind.as_bytes());
        head.extend_from_slice(b"\r\nContent-Range: ");
        head.extend_from_slice(content_range(*span, length).as_bytes());
        head.extend_from_slice(b"\r\n\r\n");
        total += head.len() as u64 + span.length();
        pieces.push(once(head.into()));
        pieces.push(match content {
            ResponseContent::Bytes(bytes) => once(slice_range(bytes, *span)),
            ResponseContent::Stream(stream, _) => match Seekable::of(stream) {
                Some(seekable) => seekable.part(span.from, span.length()),
                None => once(Bytes::new()),
            },
        });
    }
    let end = format!("\r\n--{boundary}--\r\n");
    total += end.len() as u64;
    pieces.push(once(end.into()));
    let all = stream::iter(pieces).flatten();
    PartialContent {
        body: ResponseBody::stream(Box::pin(all), Some(total), state),
        kind: Some(header_value(format!("multipart/byteranges; boundary={boundary}"))),
        content_range: None,
    }
}

fn once(bytes: Bytes) -> ByteStream {
    Box::pin(stream::iter([Result::Ok(bytes)]))
}

fn content_range(span: ByteRange, length: u64) -> HeaderValue {
    header_value(format!("bytes {}-{}/{length}", span.from, span.to - 1))
}

/// A boundary of 128 random bits: unpredictable, and in no content.
fn boundary() -> String {
    let (one, other) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!("{one:016x}{other:016x}")
}

fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
