//! A look at the bytes of HTTP/1.1 requests before the parser has them, for what it forgives and we
//! do not: what two servers in a row could read differently is refused (RFC 9112 section 11.2).
//!
//! The parser drops one of two lengths, prefers the chunks where there is a length too, takes a
//! line feed alone for the end of a line and forgets what follows a `#`. Here the messages are
//! followed from border to border, without keeping them, and the first fault ends the connection.

/// The bytes of a line that are kept while the rest of it has not come: enough for the two fields
/// that count here, and for the size of a chunk.
const KEPT: usize = 64;
/// The request line has this much beside its target: the method, the version, two spaces.
const BESIDE_TARGET: usize = 64;

/// What is wrong with the head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    BareLineFeed,
    Fragment,
    LongTarget,
    TwoLengths,
    LengthAndChunks,
    UnknownCoding,
}

impl Fault {
    /// The status line and a sentence.
    pub(crate) fn said(self) -> (&'static str, &'static str) {
        const BAD: &str = "400 Bad Request";
        match self {
            Fault::BareLineFeed => (BAD, "a line ends without a carriage return"),
            Fault::Fragment => (BAD, "the target has a fragment, which is never sent"),
            Fault::LongTarget => ("414 URI Too Long", "the target is too long"),
            Fault::TwoLengths => (BAD, "there is more than one Content-Length"),
            Fault::LengthAndChunks => {
                (BAD, "there are a Content-Length and a Transfer-Encoding: send one of them")
            }
            Fault::UnknownCoding => {
                ("501 Not Implemented", "the only transfer coding here is chunked")
            }
        }
    }
}

/// Where the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The line of the request, or an empty line before it.
    Request,
    /// A field of the head.
    Field,
    /// The body, with what is left of it.
    Body(u64),
    /// The line with the size of a chunk.
    ChunkSize,
    /// The chunk and the end of its line, with what is left of them.
    Chunk(u64),
    /// A field after the last chunk.
    Trailer,
    /// Nothing is looked at any more: the parser will refuse this, or it is not HTTP/1.
    Unknown,
}

/// What is known of the messages of one connection.
pub(crate) struct Screen {
    place: Place,
    /// How many heads were complete.
    heads: u32,
    fault: Option<Fault>,
    longest_line: usize,
    /// The line whose end has not come: its first bytes, its length, and its last byte.
    start: [u8; KEPT],
    length: usize,
    last: u8,
    /// Of the head under way.
    content_length: Option<u64>,
    lengths: u8,
    chunked: bool,
    is_head: bool,
}

impl Screen {
    /// For a new connection, with the longest target that is allowed.
    pub(crate) fn new(longest_target: usize) -> Self {
        Screen {
            place: Place::Request,
            heads: 0,
            fault: None,
            longest_line: longest_target.saturating_add(BESIDE_TARGET),
            start: [0; KEPT],
            length: 0,
            last: 0,
            content_length: None,
            lengths: 0,
            chunked: false,
            is_head: false,
        }
    }

    /// What was wrong, once something was.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Whether what came ends where a message ends.
    pub(crate) fn is_between(&self) -> bool {
        self.place == Place::Request && self.length == 0 && self.fault.is_none()
    }

    /// How many heads were complete before the fault.
    pub(crate) fn heads(&self) -> u32 {
        self.heads
    }

    /// Whether the head with the fault asks for no body.
    pub(crate) fn is_head(&self) -> bool {
        self.is_head
    }

    /// Looks at bytes that came. Answers how many of them may go on to the parser: all, or those
    /// before the line with the fault.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() && self.fault.is_none() {
            let rest = &bytes[at..];
            match self.place {
                Place::Unknown => return bytes.len(),
                Place::Body(left) => at += self.skip(rest, left, Place::Body, Place::Request),
                Place::Chunk(left) => at += self.skip(rest, left, Place::Chunk, Place::ChunkSize),
                Place::Request | Place::Field | Place::ChunkSize | Place::Trailer => {
                    let taken = self.line(rest);
                    if self.fault.is_some() {
                        return at;
                    }
                    at += taken;
                }
            }
        }
        at
    }

    /// Passes over what is not looked at.
    fn skip(&mut self, rest: &[u8], left: u64, same: fn(u64) -> Place, after: Place) -> usize {
        let count = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
        let left = left - count as u64;
        self.place = if left == 0 { after } else { same(left) };
        count
    }

    /// Takes a line, or the part of it that is there. Answers how many bytes that were.
    fn line(&mut self, rest: &[u8]) -> usize {
        let end = memchr::memchr(b'\n', rest);
        let part = &rest[..end.unwrap_or(rest.len())];
        if self.place == Place::Request {
            if self.length + part.len() > self.longest_line {
                self.fault = Some(Fault::LongTarget);
            } else if memchr::memchr(b'#', part).is_some() {
                self.fault = Some(Fault::Fragment);
            }
        }
        if self.length == 0
            && let Some(end) = end
        {
            // The usual case: the whole line is here.
            let bare = part.last() != Some(&b'\r');
            self.end_of_line(part.strip_suffix(b"\r").unwrap_or(part), bare);
            return end + 1;
        }
        let room = KEPT - self.length.min(KEPT);
        let kept = &part[..room.min(part.len())];
        let from = self.length.min(KEPT);
        self.start[from..from + kept.len()].copy_from_slice(kept);
        self.length += part.len();
        self.last = part.last().copied().unwrap_or(self.last);
        let Some(end) = end else { return rest.len() };
        let bare = self.last != b'\r';
        let length = self.length - usize::from(!bare && self.length > 0);
        let start = self.start;
        self.end_of_line(&start[..length.min(KEPT)], bare);
        (self.length, self.last) = (0, 0);
        end + 1
    }

    /// A line without its end; of a long one that came in parts, the beginning.
    fn end_of_line(&mut self, line: &[u8], bare: bool) {
        if bare && self.fault.is_none() {
            match self.place {
                Place::Request | Place::Field => self.fault = Some(Fault::BareLineFeed),
                // The parser refuses it.
                _ => self.place = Place::Unknown,
            }
            return;
        }
        match self.place {
            Place::Request if line.is_empty() => {}
            Place::Request => {
                self.is_head = line.starts_with(b"HEAD ");
                (self.content_length, self.lengths, self.chunked) = (None, 0, false);
                self.place = Place::Field;
            }
            Place::Field if line.is_empty() => {
                self.heads = self.heads.saturating_add(1);
                self.place = match (self.chunked, self.content_length) {
                    (true, _) => Place::ChunkSize,
                    (false, Some(1..)) => Place::Body(self.content_length.unwrap_or(0)),
                    (false, _) => Place::Request,
                };
            }
            Place::Field => self.field(line),
            Place::ChunkSize => self.place = chunk(line),
            Place::Trailer if line.is_empty() => self.place = Place::Request,
            _ => {}
        }
    }

    fn field(&mut self, line: &[u8]) {
        // The longer of the two names has 17 letters.
        let Some(colon) = memchr::memchr(b':', &line[..line.len().min(18)]) else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths = self.lengths.saturating_add(1);
            self.content_length =
                std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            self.chunked = true;
            if !codings.any(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
                self.fault = Some(Fault::UnknownCoding);
            }
        } else {
            return;
        }
        if self.lengths > 1 {
            self.fault = Some(Fault::TwoLengths);
        } else if self.lengths > 0 && self.chunked {
            self.fault = Some(Fault::LengthAndChunks);
        }
    }
}

/// What follows the size of a chunk (RFC 9112 section 7.1).
fn chunk(line: &[u8]) -> Place {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let size = std::str::from_utf8(&line[..digits]).ok();
    match size.and_then(|size| u64::from_str_radix(size, 16).ok()) {
        Some(0) => Place::Trailer,
        Some(size) => size.checked_add(2).map_or(Place::Unknown, Place::Chunk),
        None => Place::Unknown,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The fault, how many heads were before it, and how many bytes went on: in one piece, and the
    /// same byte by byte.
    fn screened(text: &str) -> (Option<Fault>, u32) {
        let mut whole = Screen::new(100);
        whole.pass(text.as_bytes());
        let mut slow = Screen::new(100);
        for byte in text.as_bytes() {
            slow.pass(&[*byte]);
        }
        assert_eq!((slow.fault, slow.heads), (whole.fault, whole.heads), "{text:?}");
        (whole.fault, whole.heads)
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn what_is_in_order_passes() {
        for (text, heads) in [
            (GET.to_string(), 1),
            (format!("\r\n{GET}{GET}"), 2),
            (format!("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello{GET}"), 2),
            (format!("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n{GET}"), 2),
            (
                format!(
                    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n\
                     0123456789\r\n0\r\nX: y\r\n\r\n{GET}"
                ),
                2,
            ),
            // A body is not read as a request.
            (
                format!(
                    "POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\nGET /#a HTTP/1.1\n\r\n\r{GET}"
                ),
                2,
            ),
        ] {
            assert_eq!(screened(&text), (None, heads), "{text:?}");
        }
    }

    #[test]
    fn what_two_servers_could_read_differently_does_not() {
        use Fault::*;
        for (text, fault) in [
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", BareLineFeed),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", BareLineFeed),
            ("GET /#a HTTP/1.1\r\n\r\n", Fragment),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n", TwoLengths),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                LengthAndChunks,
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\nContent-Length: 5\r\n\r\n",
                LengthAndChunks,
            ),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", UnknownCoding),
        ] {
            assert_eq!(screened(text), (Some(fault), 0), "{text:?}");
            assert_eq!(screened(&format!("{GET}{text}")), (Some(fault), 1), "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(200));
        assert_eq!(screened(&long), (Some(LongTarget), 0));
    }

    #[test]
    fn what_comes_before_a_fault_goes_on() {
        let mut screen = Screen::new(100);
        let text = format!("{GET}GET / HTTP/1.1\nHost: a\r\n\r\n");
        assert_eq!(screen.pass(text.as_bytes()), GET.len());
        assert_eq!(screen.pass(b"anything"), 0);
    }
}
