//! An incremental parser of responses: only as much of HTTP/1.1 as status and length need (RFC 9112
//! sections 4, 6 and 7).
//!
//! A head that arrives in one piece, the common case, is not copied.

/// The longest head, and the longest trailer section, in bytes.
const MAX_HEAD_SIZE: usize = 32 * 1024;
/// The most header fields of a head.
const MAX_HEADERS: usize = 100;

/// The input is no HTTP/1.1 response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The progress of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadStep {
    /// More input is needed.
    More,
    /// The response is complete, with this many bytes of the input.
    Done(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadStage {
    Head,
    /// Remaining bytes of the body.
    Sized(u64),
    /// A chunk size line: the size so far, its digits, and whether they ended.
    ChunkSize(u64, u8, bool),
    /// Remaining bytes of a chunk.
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    /// Trailers: the length of the current line, and of all.
    Trailers(usize, usize),
    /// A body until the connection closes.
    UntilClose,
}

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyFraming {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The relevant parts of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// Its length, with the empty line.
    size: usize,
    status: u16,
    framing: BodyFraming,
    /// Whether the server keeps the connection.
    keeps: bool,
}

/// Reads one response after another.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    stage: ReadStage,
    /// An incomplete head.
    kept: Vec<u8>,
    /// Responses to HEAD have no body.
    bodiless: bool,
    started: bool,
    status: u16,
    length: u64,
    keeps: bool,
}

impl ResponseReader {
    /// `bodiless`: the requests are HEAD requests.
    pub(crate) fn new(bodiless: bool) -> Self {
        ResponseReader {
            stage: ReadStage::Head,
            kept: Vec::new(),
            bodiless,
            started: false,
            status: 0,
            length: 0,
            keeps: true,
        }
    }

    /// Starts the next response.
    pub(crate) fn restart(&mut self) {
        self.stage = ReadStage::Head;
        self.kept.clear();
        self.started = false;
        self.length = 0;
        self.keeps = true;
    }

    /// Whether part of the response has arrived.
    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// The status of a complete response.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of the body so far, without chunk framing.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether another request may follow on the connection.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether the end of the connection completes the response.
    pub(crate) fn ended(&self) -> bool {
        self.stage == ReadStage::UntilClose
    }

    /// Consumes input; passes parts of the body to `body`.
    ///
    /// # Errors
    /// The input is no response; the connection is unusable.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut body: impl FnMut(&[u8]),
    ) -> Result<ReadStep, Malformed> {
        self.started |= !bytes.is_empty();
        let mut at = 0;
        loop {
            if self.stage == ReadStage::Sized(0) {
                return Ok(ReadStep::Done(at));
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(&first) = rest.first() else {
                return Ok(ReadStep::More);
            };
            match self.stage {
                ReadStage::Head => match self.head(rest)? {
                    None => return Ok(ReadStep::More),
                    Some(taken) => at += taken,
                },
                ReadStage::Sized(left) => {
                    let taken = self.part(rest, left, &mut body);
                    self.stage = ReadStage::Sized(left - taken as u64);
                    at += taken;
                }
                ReadStage::Chunk(left) => {
                    let taken = self.part(rest, left, &mut body);
                    let left = left - taken as u64;
                    self.stage =
                        if left == 0 { ReadStage::ChunkEnd } else { ReadStage::Chunk(left) };
                    at += taken;
                }
                ReadStage::ChunkSize(size, digits, ended) => {
                    self.stage = chunk_size(size, digits, ended, first)?;
                    at += 1;
                }
                ReadStage::ChunkEnd => {
                    self.stage = match first {
                        b'\r' => ReadStage::ChunkEnd,
                        b'\n' => ReadStage::ChunkSize(0, 0, false),
                        _ => return Err(Malformed),
                    };
                    at += 1;
                }
                ReadStage::Trailers(line, all) => {
                    at += 1;
                    self.stage = match first {
                        b'\n' if line == 0 => return Ok(ReadStep::Done(at)),
                        b'\n' => ReadStage::Trailers(0, all + 1),
                        b'\r' => ReadStage::Trailers(line, all + 1),
                        _ if all >= MAX_HEAD_SIZE => return Err(Malformed),
                        _ => ReadStage::Trailers(line + 1, all + 1),
                    };
                }
                ReadStage::UntilClose => {
                    self.part(rest, u64::MAX, &mut body);
                    return Ok(ReadStep::More);
                }
            }
        }
    }

    /// Passes at most `left` bytes of the body on. Returns how many.
    fn part(&mut self, rest: &[u8], left: u64, body: &mut impl FnMut(&[u8])) -> usize {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        body(&rest[..size]);
        self.length += size as u64;
        size
    }

    /// Parses a head. Returns its bytes in this input, `None` while it is incomplete.
    fn head(&mut self, rest: &[u8]) -> Result<Option<usize>, Malformed> {
        let before = self.kept.len();
        let found = if before == 0 {
            parse_head(rest)?
        } else {
            // The end of a head is among the first bytes, however long the body.
            let room = MAX_HEAD_SIZE.saturating_sub(before).min(rest.len());
            self.kept.extend_from_slice(&rest[..room]);
            parse_head(&self.kept)?
        };
        let Some(head) = found else {
            if before + rest.len() > MAX_HEAD_SIZE {
                return Err(Malformed);
            }
            if before == 0 {
                self.kept.extend_from_slice(rest);
            }
            return Ok(None);
        };
        self.kept.clear();
        // 1xx: an interim response (RFC 9110 section 15.2).
        if head.status < 200 {
            return if head.status == 101 { Err(Malformed) } else { Ok(Some(head.size - before)) };
        }
        self.status = head.status;
        self.keeps = head.keeps;
        let bodiless = self.bodiless || head.status == 204 || head.status == 304;
        self.stage = match head.framing {
            _ if bodiless => ReadStage::Sized(0),
            BodyFraming::Length(length) => ReadStage::Sized(length),
            BodyFraming::Chunked => ReadStage::ChunkSize(0, 0, false),
            BodyFraming::UntilClose => {
                self.keeps = false;
                ReadStage::UntilClose
            }
        };
        Ok(Some(head.size - before))
    }
}

fn chunk_size(size: u64, digits: u8, ended: bool, byte: u8) -> Result<ReadStage, Malformed> {
    let digit = char::from(byte).to_digit(16).map(u64::from);
    match (byte, digit) {
        (b'\n', _) if digits == 0 => Err(Malformed),
        (b'\n', _) if size == 0 => Ok(ReadStage::Trailers(0, 0)),
        (b'\n', _) => Ok(ReadStage::Chunk(size)),
        (_, Some(digit)) if !ended => match digits {
            15.. => Err(Malformed),
            _ => Ok(ReadStage::ChunkSize(size * 16 + digit, digits + 1, false)),
        },
        _ if digits == 0 => Err(Malformed),
        _ => Ok(ReadStage::ChunkSize(size, digits, true)),
    }
}

/// The head at the beginning of `bytes`; `None` while it is incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    let size = match response.parse(bytes).map_err(|_| Malformed)? {
        httparse::Status::Complete(size) => size,
        httparse::Status::Partial => return Ok(None),
    };
    let status = response.code.filter(|code| *code >= 100).ok_or(Malformed)?;
    let mut keeps = response.version == Some(1);
    let (mut length, mut chunked, mut coded) = (None, false, false);
    for field in response.headers.iter() {
        let words = || field.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        if field.name.eq_ignore_ascii_case("content-length") {
            let this = decimal(field.value.trim_ascii())?;
            if length.is_some_and(|length| length != this) {
                return Err(Malformed);
            }
            length = Some(this);
        } else if field.name.eq_ignore_ascii_case("connection") {
            for word in words() {
                keeps &= !word.eq_ignore_ascii_case(b"close");
                keeps |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            coded = true;
            chunked = words().next_back().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
        }
    }
    let framing = match (coded, chunked, length) {
        (true, true, _) => BodyFraming::Chunked,
        (false, _, Some(length)) => BodyFraming::Length(length),
        _ => BodyFraming::UntilClose,
    };
    Ok(Some(Head { size, status, framing, keeps }))
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed);
    }
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or(Malformed)
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An input, whether it answers HEAD, and the expected result.
    type Case = (&'static str, bool, (u16, &'static str, bool, usize));

    /// Feeds an input in pieces of this size: status, body, whether the connection stays, and the
    /// number of unread bytes.
    fn read(text: &[u8], piece: usize, bodiless: bool) -> Option<(u16, Vec<u8>, bool, usize)> {
        let mut reader = ResponseReader::new(bodiless);
        let mut body = Vec::new();
        let mut at = 0;
        for part in text.chunks(piece) {
            match reader.feed(part, |part| body.extend_from_slice(part)).ok()? {
                ReadStep::More => at += part.len(),
                ReadStep::Done(taken) => {
                    let left = text.len() - at - taken;
                    return Some((reader.status(), body, reader.keeps(), left));
                }
            }
        }
        let done = reader.feed(b"", |_| ()).ok()? == ReadStep::Done(0) || reader.ended();
        done.then(|| (reader.status(), body, reader.keeps(), 0))
    }

    #[test]
    fn every_framing_is_understood_in_pieces_of_every_size() {
        let cases: [Case; 9] = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, (200, "hi", true, 0)),
            ("HTTP/1.1 200 OK\ncontent-length:2\n\nhi", false, (200, "hi", true, 0)),
            ("HTTP/1.1 204 No Content\r\n\r\n", false, (204, "", true, 0)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, (200, "", true, 0)),
            (
                "HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\n\r\n2;a=1\r\nhi\r\n01\r\n!\r\n0\r\nA: b\r\n\r\n",
                false,
                (404, "hi!", true, 0),
            ),
            ("HTTP/1.0 200 OK\r\n\r\nhi", false, (200, "hi", false, 0)),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
                false,
                (200, "x", false, 0),
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
                false,
                (200, "x", true, 0),
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
                false,
                (200, "", true, 0),
            ),
        ];
        for (text, bodiless, (status, body, keeps, left)) in cases {
            for piece in 1..=text.len() {
                let found = read(text.as_bytes(), piece, bodiless);
                let wanted = (status, body.as_bytes().to_vec(), keeps, left);
                assert_eq!(found, Some(wanted), "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_follows_a_response_is_told() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx+++";
        assert_eq!(read(text, text.len(), false).unwrap().3, 3);
    }

    #[test]
    fn what_is_no_response_is_malformed() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
        ] {
            let mut reader = ResponseReader::new(false);
            assert_eq!(reader.feed(text.as_bytes(), |_| ()), Err(Malformed), "{text:?}");
        }
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let mut reader = ResponseReader::new(false);
        let mut outcome = reader.feed(b"HTTP/1.1 200 OK\r\n", |_| ());
        for _ in 0..=MAX_HEAD_SIZE / 1000 {
            outcome = outcome.and_then(|_| reader.feed(&[b'a'; 1000], |_| ()));
        }
        assert_eq!(outcome, Err(Malformed));
    }

    proptest! {
        #[test]
        fn no_input_makes_it_panic(text in any::<Vec<u8>>(), piece in 1_usize..50) {
            let mut whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            read(&text, piece, false);
            whole.extend_from_slice(&text);
            read(&whole, piece, false);
        }
    }
}
