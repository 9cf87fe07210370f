//! The parser of HTTP/1.1 request heads, and every reason to refuse one (RFC 9112 sections 2 to 6).
//!
//! Heads that two servers in a chain could read differently are refused, against request smuggling
//! (section 11.2): two lengths, a length beside chunked, a bare line feed, a target with a
//! fragment.

use super::shared_buffers::SharedBuffers;
use crate::protocol::fields::{self, Copied};
use crate::protocol::framing::{ChunkState, Framing};
use crate::server::options::{DEFAULT_HEADER_FIELDS, Limits};
use crate::server::request::exchange::HttpExchange;
use crate::server::request::head;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri, Version};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::rc::Rc;

/// Bytes of the request line beside the target: the method, the version, two spaces.
const BESIDE_TARGET: usize = 64;

/// Bytes of the request line after the target, without the line feed.
const AFTER_TARGET: usize = " HTTP/1.1\r".len();

/// A parsed request head.
#[derive(Debug)]
pub(crate) struct RequestHead {
    /// The request for the rest of the server.
    pub(crate) exchange: Rc<HttpExchange>,
    /// The framing of its body.
    pub(crate) framing: Framing,
    /// Whether the client keeps the connection.
    pub(crate) persists: bool,
    /// Whether the client waits for 100 Continue.
    pub(crate) expects: bool,
}

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadRefusal {
    pub(crate) status: StatusCode,
    pub(crate) reason: &'static str,
}

const fn bad(reason: &'static str) -> HeadRefusal {
    HeadRefusal { status: StatusCode::BAD_REQUEST, reason }
}

const LONG_TARGET: HeadRefusal =
    HeadRefusal { status: StatusCode::URI_TOO_LONG, reason: "the target is too long" };
const LONG_HEAD: HeadRefusal =
    HeadRefusal { status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reason: head::LONG_HEAD };
const OTHER_CODING: HeadRefusal = HeadRefusal {
    status: StatusCode::NOT_IMPLEMENTED,
    reason: "the only transfer coding here is chunked",
};
const OTHER_VERSION: HeadRefusal = HeadRefusal {
    status: StatusCode::HTTP_VERSION_NOT_SUPPORTED,
    reason: "this connection speaks HTTP/1.1",
};
/// Such a head is parsed as HTTP/1.1.
const LATER_MINOR: HeadRefusal = HeadRefusal {
    status: StatusCode::HTTP_VERSION_NOT_SUPPORTED,
    reason: "a later minor version is read as HTTP/1.1",
};
const BARE_LINE_FEED: HeadRefusal = bad("a line ends without a carriage return");
const FRAGMENT: HeadRefusal = bad("the target has a fragment, which is never sent");
const TWO_LENGTHS: HeadRefusal = bad("there is more than one Content-Length");
const NO_LENGTH: HeadRefusal = bad("the Content-Length must be a number");
const LENGTH_AND_CHUNKS: HeadRefusal =
    bad("there are a Content-Length and a Transfer-Encoding: send one of them");
const CHUNKS_OF_OLD: HeadRefusal = bad("HTTP/1.0 has no transfer codings");
const CHUNKS_WITHIN: HeadRefusal = bad("chunked must be the last transfer coding");
const TWO_CODINGS: HeadRefusal = bad("there is more than one transfer coding");

impl RequestHead {
    /// Parses the head at the beginning of `bytes` and returns its length; `None` while it is
    /// incomplete. Leading empty lines were removed.
    ///
    /// # Errors
    /// The bytes are no head, or exceed a limit.
    pub(crate) fn parse(
        bytes: &[u8],
        peer: SocketAddr,
        limits: &Limits,
        scratch: &SharedBuffers,
    ) -> Result<Option<(RequestHead, usize)>, HeadRefusal> {
        match parse_with_room(bytes, peer, limits, scratch) {
            Err(LATER_MINOR) => parse_with_room(&as_http11(bytes), peer, limits, scratch),
            parsed => parsed,
        }
    }
}

/// Parses with an array for as many fields as the limits allow.
fn parse_with_room(
    bytes: &[u8],
    peer: SocketAddr,
    limits: &Limits,
    scratch: &SharedBuffers,
) -> Result<Option<(RequestHead, usize)>, HeadRefusal> {
    if limits.header_fields == DEFAULT_HEADER_FIELDS {
        let mut fields = [const { MaybeUninit::uninit() }; DEFAULT_HEADER_FIELDS];
        return parse_into(&mut fields, bytes, peer, limits, scratch);
    }
    let mut fields = vec![MaybeUninit::uninit(); limits.header_fields];
    parse_into(&mut fields, bytes, peer, limits, scratch)
}

/// The bytes with HTTP/1.1 in place of a later minor version: a recipient treats a message as the
/// latest minor version that it knows (RFC 9110 section 2.5).
fn as_http11(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let end = memchr::memchr2(b'\r', b'\n', &bytes).unwrap_or(bytes.len());
    if let Some(minor) = end.checked_sub(1).and_then(|at| bytes.get_mut(at)) {
        *minor = b'1';
    }
    bytes
}

/// Checks a request line, perhaps an incomplete one.
fn check_line(line: &[u8], limits: &Limits) -> Result<(), HeadRefusal> {
    if line.len() > limits.target.saturating_add(BESIDE_TARGET) {
        return Err(LONG_TARGET);
    }
    match memchr::memchr(b'#', line) {
        Some(_) => Err(FRAGMENT),
        None => Ok(()),
    }
}

/// The length of the request line, or of its received part.
fn line_length(bytes: &[u8], request: &httparse::Request<'_, '_>) -> usize {
    match request.path {
        // The common case: the parser has read it, and only the version follows the target.
        Some(target) if request.version.is_some() => {
            let start = target.as_ptr().addr() - bytes.as_ptr().addr();
            start + target.len() + AFTER_TARGET
        }
        _ => memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()),
    }
}

fn parse_into<'a>(
    fields: &mut [MaybeUninit<httparse::Header<'a>>],
    bytes: &'a [u8],
    peer: SocketAddr,
    limits: &Limits,
    scratch: &SharedBuffers,
) -> Result<Option<(RequestHead, usize)>, HeadRefusal> {
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, fields);
    let line = line_length(bytes, &request).min(bytes.len());
    check_line(&bytes[..line], limits)?;
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => Some(length),
        Ok(httparse::Status::Partial) => None,
        Err(httparse::Error::TooManyHeaders) => return Err(LONG_HEAD),
        Err(httparse::Error::Version) => return Err(of_version(&bytes[..line])),
        Err(error) => return Err(of_syntax(error)),
    };
    let seen = length.unwrap_or(bytes.len());
    if has_bare_line_feed(&bytes[..seen]) {
        return Err(BARE_LINE_FEED);
    }
    if seen.saturating_sub(line) > limits.header_section {
        return Err(LONG_HEAD);
    }
    let Some(length) = length else { return Ok(None) };
    let none = || bad("the request line is malformed");
    let method = request.method.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    let method = method.ok_or_else(none)?;
    let version = if request.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let copied = Copied::new(&bytes[..length], scratch.copy(&bytes[..length]));
    let target = request.path.ok_or_else(none)?;
    let uri = Uri::from_maybe_shared(copied.part(target.as_bytes()))
        .map_err(|_| bad("the target is malformed"))?;
    let (mut message, mut headers) = (MessageFraming::new(version), scratch.take_headers());
    for field in request.headers.iter() {
        let Ok(name) = HeaderName::from_bytes(field.name.as_bytes()) else {
            return Err(bad("the name of a header field is malformed"));
        };
        let Ok(value) = HeaderValue::from_maybe_shared(copied.part(field.value)) else {
            return Err(bad("the value of a header field is malformed"));
        };
        message.look_at(&name, value.as_bytes())?;
        headers.append(name, value);
    }
    let (framing, persists, expects) = message.ends();
    let exchange = Rc::new(HttpExchange::new(method, uri, version, headers, peer));
    Ok(Some((RequestHead { exchange, framing, persists, expects }, length)))
}

fn has_bare_line_feed(bytes: &[u8]) -> bool {
    // No early exit, so that the compiler vectorizes the loop.
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let bare =
        pairs.fold(false, |bare, (before, byte)| bare | ((*byte == b'\n') & (*before != b'\r')));
    bare || bytes.first() == Some(&b'\n')
}

/// Tells an unsupported version from a malformed one.
fn of_version(line: &[u8]) -> HeadRefusal {
    let mut words = line.trim_ascii().split(|byte| *byte == b' ');
    let version = words.nth(2).filter(|_| words.next().is_none());
    match version {
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9']) => LATER_MINOR,
        Some([b'H', b'T', b'T', b'P', b'/', major, b'.', minor])
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            OTHER_VERSION
        }
        _ => bad("the version of the protocol is malformed"),
    }
}

fn of_syntax(error: httparse::Error) -> HeadRefusal {
    bad(match error {
        httparse::Error::HeaderName => "the name of a header field is malformed",
        httparse::Error::HeaderValue => "the value of a header field is malformed",
        httparse::Error::NewLine => "a line must end with a carriage return and a line feed",
        _ => "the request line is malformed",
    })
}

/// The framing and persistence that the header fields express.
struct MessageFraming {
    version: Version,
    length: Option<u64>,
    is_chunked: bool,
    closes: bool,
    keeps: bool,
    expects: bool,
}

impl MessageFraming {
    fn new(version: Version) -> MessageFraming {
        MessageFraming {
            version,
            length: None,
            is_chunked: false,
            closes: false,
            keeps: false,
            expects: false,
        }
    }

    fn look_at(&mut self, name: &HeaderName, value: &[u8]) -> Result<(), HeadRefusal> {
        if *name == header::CONTENT_LENGTH {
            if self.length.is_some() {
                return Err(TWO_LENGTHS);
            }
            self.length = Some(fields::number(value.trim_ascii()).ok_or(NO_LENGTH)?);
        } else if *name == header::TRANSFER_ENCODING {
            if self.version == Version::HTTP_10 {
                return Err(CHUNKS_OF_OLD);
            }
            if self.is_chunked {
                return Err(TWO_CODINGS);
            }
            self.is_chunked = is_chunked(value);
            if !self.is_chunked {
                let mut codings = fields::words(value).rev();
                let is_last = codings.next().is_some_and(is_chunked);
                return Err(match !is_last && codings.any(is_chunked) {
                    true => CHUNKS_WITHIN,
                    false => OTHER_CODING,
                });
            }
        } else if *name == header::CONNECTION {
            for word in fields::words(value) {
                self.closes |= word.eq_ignore_ascii_case(b"close");
                self.keeps |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if *name == header::EXPECT {
            self.expects |= value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
        } else {
            return Ok(());
        }
        match self.is_chunked && self.length.is_some() {
            true => Err(LENGTH_AND_CHUNKS),
            false => Ok(()),
        }
    }

    /// The framing, whether the connection persists, and whether the client waits for 100 Continue.
    fn ends(self) -> (Framing, bool, bool) {
        let framing = match (self.is_chunked, self.length) {
            (true, _) => Framing::Chunked(ChunkState::Size),
            (false, length) => Framing::Length(length.unwrap_or(0)),
        };
        let is_new = self.version == Version::HTTP_11;
        let persists = !self.closes && (is_new || self.keeps);
        let expects = self.expects && is_new && framing != Framing::Length(0);
        (framing, persists, expects)
    }
}

/// Whether a transfer coding is chunked.
fn is_chunked(coding: &[u8]) -> bool {
    coding.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { target: 100, header_section: 1000, ..Limits::default() }
    }

    fn peer() -> SocketAddr {
        ([127, 0, 0, 1], 9).into()
    }

    fn parse(text: &str) -> Result<Option<(RequestHead, usize)>, HeadRefusal> {
        RequestHead::parse(text.as_bytes(), peer(), &limits(), &SharedBuffers::default())
    }

    /// The framing, whether the connection persists, and whether the client waits for 100 Continue.
    fn ends(text: &str) -> (Framing, bool, bool) {
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!(length, text.len());
        (head.framing, head.persists, head.expects)
    }

    #[test]
    fn a_head_is_what_was_said() {
        let text = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nA:  b c \r\nEmpty:\r\na: d\r\nContent-Length: 3\r\n\r\nabc";
        let end = text.len() - 3;
        for end in 0..end {
            assert!(parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!(length, end);
        let HttpExchange { method, uri, version, headers, .. } = &*head.exchange;
        assert_eq!((method.as_str(), *version), ("POST", Version::HTTP_11));
        assert_eq!(uri.path_and_query().unwrap(), "/a?b=c");
        assert_eq!(headers["empty"], "");
        let all: Vec<_> = headers.get_all("a").iter().collect();
        assert_eq!(all, ["b c", "d"]);
        assert_eq!((head.framing, head.persists), (Framing::Length(3), true));
    }

    #[test]
    fn a_later_minor_version_is_read_as_http11() {
        let text = "POST /a HTTP/1.7\r\nHost: x\r\nContent-Length: 3\r\n\r\n";
        for end in 0..text.len() {
            assert!(parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!((length, head.exchange.version), (text.len(), Version::HTTP_11));
        assert_eq!((head.framing, head.persists), (Framing::Length(3), true));
        for text in ["GET / HTTP/1.2\nHost: x\r\n\r\n", "GET / HTTP/1.12\r\n\r\n"] {
            assert_eq!(parse(text).unwrap_err().status, StatusCode::BAD_REQUEST, "{text:?}");
        }
        for text in ["GET / HTTP/3.0\r\n\r\n", "GET / HTTP/0.9\r\n\r\n"] {
            assert_eq!(parse(text).unwrap_err(), OTHER_VERSION, "{text:?}");
        }
    }

    #[test]
    fn a_head_says_how_its_content_ends() {
        let chunked = || Framing::Chunked(ChunkState::Size);
        let none = || Framing::Length(0);
        for (text, framing, persists, expects) in [
            ("GET / HTTP/1.1\r\n\r\n", none(), true, false),
            ("GET / HTTP/1.1\r\nConnection: a, Close\r\n\r\n", none(), false, false),
            ("GET / HTTP/1.0\r\n\r\n", none(), false, false),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", none(), true, false),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n", chunked(), true, false),
            (
                "PUT / HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
                Framing::Length(9),
                true,
                true,
            ),
            ("PUT / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", none(), true, false),
            (
                "PUT / HTTP/1.0\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
                Framing::Length(9),
                false,
                false,
            ),
        ] {
            assert_eq!(ends(text), (framing, persists, expects), "{text:?}");
        }
    }

    #[test]
    fn what_two_servers_could_read_differently_is_refused() {
        for (text, refusal) in [
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", BARE_LINE_FEED),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", BARE_LINE_FEED),
            ("GET / HTTP/1.1\r\nHost: a\r\n\n", BARE_LINE_FEED),
            ("GET /#a HTTP/1.1\r\n\r\n", FRAGMENT),
            ("GET /#a", FRAGMENT),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n", TWO_LENGTHS),
            ("GET / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", NO_LENGTH),
            ("GET / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", NO_LENGTH),
            ("GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", NO_LENGTH),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", NO_LENGTH),
            (
                "GET / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                LENGTH_AND_CHUNKS,
            ),
            (
                "GET / HTTP/1.1\r\ntransfer-encoding:chunked\r\nContent-Length: 5\r\n\r\n",
                LENGTH_AND_CHUNKS,
            ),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", OTHER_CODING),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", OTHER_CODING),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", CHUNKS_WITHIN),
            ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", CHUNKS_OF_OLD),
            ("GET / HTTP/2.0\r\n\r\n", OTHER_VERSION),
        ] {
            assert_eq!(parse(text).unwrap_err(), refusal, "{text:?}");
        }
        for text in [
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: \0\r\n\r\n",
            "GET / HTTPS/1.1\r\n\r\n",
            "GET /a b HTTP/1.1\r\n\r\n",
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(parse(text).unwrap_err().status, StatusCode::BAD_REQUEST, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_whole() {
        assert_eq!(parse(&"a".repeat(200)).unwrap_err(), LONG_TARGET);
        let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(1000));
        assert_eq!(parse(&long).unwrap_err(), LONG_HEAD);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a:b\r\n".repeat(101));
        assert_eq!(parse(&many).unwrap_err(), LONG_HEAD);
        let limits = Limits { header_fields: 3, ..limits() };
        let some = |count| format!("GET / HTTP/1.1\r\n{}\r\n", "a:b\r\n".repeat(count));
        let parse = |text: String| {
            RequestHead::parse(text.as_bytes(), peer(), &limits, &SharedBuffers::default())
                .map(|head| head.is_some())
        };
        assert_eq!((parse(some(3)), parse(some(4))), (Ok(true), Err(LONG_HEAD)));
    }
}
