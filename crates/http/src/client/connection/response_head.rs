//! The head of a response (RFC 9112 sections 4 and 5), and the framing of the content after it.

use crate::client::failure::RoundTripFailure;
use crate::protocol::fields::{self, Copied};
use crate::protocol::framing::{ChunkState, Framing};
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, Version};
use std::mem::MaybeUninit;

/// The most headers of a response.
const HEADERS: usize = 100;

/// The head of a response.
#[derive(Debug)]
pub(crate) struct ReceivedHead {
    pub(crate) status: StatusCode,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
}

impl ReceivedHead {
    /// Parses the head at the beginning of `bytes` and returns its length; `None` while it is
    /// incomplete.
    ///
    /// # Errors
    /// The bytes are no head.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, RoundTripFailure> {
        parse(bytes, Self::of)
    }
}

impl ResponseHead for ReceivedHead {
    fn of(head: &ParsedHead<'_>) -> Result<Self, RoundTripFailure> {
        let copied = Copied::new(head.bytes, Bytes::copy_from_slice(head.bytes));
        let mut headers = HeaderMap::with_capacity(head.fields.len());
        for field in head.fields {
            let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(field.name.as_bytes()),
                HeaderValue::from_maybe_shared(copied.part(field.value)),
            ) else {
                return Err(RoundTripFailure::Malformed("it has a malformed header"));
            };
            headers.append(name, value);
        }
        Ok(ReceivedHead { status: head.status, version: head.version, headers })
    }
}

/// What a caller keeps of a head.
pub(crate) trait ResponseHead: Sized {
    /// # Errors
    /// The head is malformed.
    fn of(head: &ParsedHead<'_>) -> Result<Self, RoundTripFailure>;
}

/// A head as it lies in the bytes that were read.
pub(crate) struct ParsedHead<'a> {
    pub(crate) status: StatusCode,
    version: Version,
    /// Its bytes, with the empty line.
    pub(crate) bytes: &'a [u8],
    pub(crate) fields: &'a [httparse::Header<'a>],
}

/// Parses the head at the beginning of `bytes`. Returns what `take` makes of it, and its length; `None`
/// while it is incomplete.
///
/// # Errors
/// The bytes are no head, and those of `take`.
pub(crate) fn parse<T>(
    bytes: &[u8],
    take: impl FnOnce(&ParsedHead<'_>) -> Result<T, RoundTripFailure>,
) -> Result<Option<(T, usize)>, RoundTripFailure> {
    let mut fields = [const { MaybeUninit::uninit() }; HEADERS];
    let mut head = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut head,
        bytes,
        &mut fields,
    );
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(RoundTripFailure::Malformed("it has too many headers"));
        }
        Err(_) => return Err(RoundTripFailure::Malformed("it is not HTTP")),
    };
    let status = head.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(RoundTripFailure::Malformed("its status is malformed"))?;
    let version = if head.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let parsed = ParsedHead { status, version, bytes: &bytes[..length], fields: head.headers };
    Ok(Some((take(&parsed)?, length)))
}

impl<'a> ParsedHead<'a> {
    /// The values of a field.
    pub(crate) fn values(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let of_name = move |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
        self.fields.iter().filter(of_name).map(|field| field.value)
    }

    /// The line of a field, where it is written as `Name: value`.
    pub(crate) fn line(&self, field: &httparse::Header<'_>) -> Option<&'a [u8]> {
        let offset = |text: &[u8]| text.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr());
        let (start, value) = (offset(field.name.as_bytes())?, offset(field.value)?);
        let line = self.bytes.get(start..value.checked_add(field.value.len())?)?;
        (value.checked_sub(start)? == field.name.len() + 2
            && line.get(field.name.len() + 1) == Some(&b' '))
        .then_some(line)
    }

    /// The framing of the content (RFC 9112 section 6.3), and whether the connection can be reused
    /// after it.
    ///
    /// # Errors
    /// The framing is invalid.
    pub(crate) fn framing(&self, answers_head: bool) -> Result<(Framing, bool), RoundTripFailure> {
        let (mut keeps, mut closes, mut has_length, mut coding) = (false, false, false, None);
        // One pass: an iterator for each name costs more than the parser.
        for field in self.fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            match field.name.len() {
                10 if is("connection") => {
                    for word in fields::words(field.value) {
                        keeps |= word.eq_ignore_ascii_case(b"keep-alive");
                        closes |= word.eq_ignore_ascii_case(b"close");
                    }
                }
                14 => has_length |= is("content-length"),
                17 if is("transfer-encoding") => coding = Some(field.value),
                _ => {}
            }
        }
        let persists = if self.version == Version::HTTP_10 { keeps } else { !closes };
        let has_none = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if has_none || answers_head {
            return Ok((Framing::Length(0), persists));
        }
        let length = if has_length { self.content_length()? } else { None };
        if let Some(last) = coding {
            if self.version == Version::HTTP_10 {
                return Err(RoundTripFailure::Malformed("HTTP/1.0 has no transfer encodings"));
            }
            let last = fields::words(last).next_back().unwrap_or_default();
            return Ok(match last.eq_ignore_ascii_case(b"chunked") {
                // With a length as well, another recipient may have framed it differently: do not
                // reuse.
                true => (Framing::Chunked(ChunkState::Size), persists && length.is_none()),
                false => (Framing::Close, false),
            });
        }
        Ok(length.map_or((Framing::Close, false), |length| (Framing::Length(length), persists)))
    }

    /// The one length that all fields agree on.
    fn content_length(&self) -> Result<Option<u64>, RoundTripFailure> {
        let mut length = None;
        for text in self.values("content-length").flat_map(fields::words) {
            let said = fields::number(text)
                .ok_or(RoundTripFailure::Malformed("its length is no number"))?;
            if length.is_some_and(|length| length != said) {
                return Err(RoundTripFailure::Malformed("it has two lengths"));
            }
            length = Some(said);
        }
        Ok(length)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn framed(text: &str, answers_head: bool) -> Result<(Framing, bool), RoundTripFailure> {
        let framed = |head: &ParsedHead<'_>| head.framing(answers_head);
        let (framed, length) = parse(text.as_bytes(), framed)?.unwrap();
        assert_eq!(length, text.len());
        Ok(framed)
    }

    #[test]
    fn heads_say_how_their_content_ends() {
        let chunked = || Framing::Chunked(ChunkState::Size);
        for (head, framing, persists) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", Framing::Length(3), true),
            ("HTTP/1.1 200\r\ncontent-length: 3, 3\r\n\r\n", Framing::Length(3), true),
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::Close, false),
            (
                "HTTP/1.1 200 OK\r\nConnection: a, Close\r\nContent-Length: 1\r\n\r\n",
                Framing::Length(1),
                false,
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", Framing::Length(1), false),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n",
                Framing::Length(1),
                true,
            ),
            ("HTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\n", Framing::Length(0), true),
            ("HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n", Framing::Length(0), true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n", chunked(), true),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
                chunked(),
                false,
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", Framing::Close, false),
        ] {
            assert_eq!(framed(head, false).unwrap(), (framing, persists), "{head}");
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(framed(head, true).unwrap(), (Framing::Length(0), true));
    }

    #[test]
    fn heads_that_can_be_read_in_two_ways_are_refused() {
        for head in [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3,\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "SSH-2.0-hello\r\n",
            "\0nonsense",
        ] {
            assert!(framed(head, false).is_err(), "{head:?}");
        }
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert!(ReceivedHead::parse(many.as_bytes()).is_err());
    }

    #[test]
    fn headers_are_what_was_said() {
        let text =
            b"HTTP/1.1 200 OK\r\nA: b c \r\nEmpty:\r\nSet-Cookie: 1\r\nset-cookie: 2\r\n\r\nrest";
        for end in 0..text.len() - 4 {
            assert!(ReceivedHead::parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        let (head, length) = ReceivedHead::parse(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"rest");
        assert_eq!(head.headers["a"], "b c");
        assert_eq!(head.headers["empty"], "");
        let cookies: Vec<_> = head.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["1", "2"]);
    }
}
