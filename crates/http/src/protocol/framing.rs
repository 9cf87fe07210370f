//! The framing of HTTP/1.1 content (RFC 9112 section 6), for server and client.

use bytes::{Buf, Bytes, BytesMut};

/// The longest chunk size line with its extensions, in bytes.
const CHUNK_LINE: usize = 4 * 1024;
/// The longest trailer section, in bytes.
const TRAILERS: usize = 16 * 1024;
/// The largest read, in bytes: with a quarter of it, large responses cost a third more.
const PIECE: usize = 256 * 1024;
/// The largest read of content of unknown length: event streams keep this buffer for long.
const UNKNOWN: usize = 16 * 1024;

/// A violation of the framing rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// A chunk larger than the body limit.
pub(crate) const HUGE_CHUNK: Malformed = Malformed("a chunk is too large");
const BAD_SIZE: Malformed = Malformed("the length of a chunk is no number");
const BAD_EXTENSION: Malformed = Malformed("an extension of a chunk is malformed");
/// A trailer line that is no field.
pub(crate) const BAD_TRAILER: Malformed = Malformed("a trailer field is malformed");
/// More trailer fields than the limit.
pub(crate) const MANY_TRAILERS: Malformed = Malformed("the trailer fields are too many");

/// The framing of a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After this many bytes.
    Length(u64),
    /// Chunked.
    Chunked(ChunkState),
    /// With the connection.
    Close,
}

/// The state of the chunk decoder (RFC 9112 section 7.1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// A chunk size line.
    Size,
    /// This many bytes of chunk data.
    Data(u64),
    /// The line end after the data.
    AfterData,
    /// The trailer section, of which this many bytes were read.
    Trailers(usize),
    Over,
}

/// The result of one decoding step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramingStep {
    Piece(Bytes),
    /// A well-formed line of the trailer section.
    Trailer(Bytes),
    /// More input is needed.
    More,
    End,
}

impl Framing {
    /// Whether the content is complete.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Framing::Length(0) | Framing::Chunked(ChunkState::Over))
    }

    /// The bytes of the current chunk that are still to come.
    pub(crate) fn announces(&self) -> u64 {
        match self {
            Framing::Chunked(ChunkState::Data(left)) => *left,
            _ => 0,
        }
    }

    /// The bytes of data before the next line of the framing, or the end.
    pub(crate) fn data_left(&self) -> u64 {
        match self {
            Framing::Length(left) | Framing::Chunked(ChunkState::Data(left)) => *left,
            _ => 0,
        }
    }

    /// Data was read without passing through the input.
    pub(crate) fn skip_data(&mut self, count: usize) {
        if let Framing::Length(left) | Framing::Chunked(ChunkState::Data(left)) = self {
            *left = left.saturating_sub(count as u64);
        }
    }

    /// The size of the next read.
    pub(crate) fn read_size(&self) -> usize {
        match self {
            Framing::Length(left) => {
                // One spare byte: a read that fills its buffer suggests more input, and the next
                // one would have to find out that there is none.
                usize::try_from(*left).map_or(PIECE, |left| left.saturating_add(1).min(PIECE))
            }
            Framing::Chunked(ChunkState::Data(left)) => {
                usize::try_from(*left).map_or(PIECE, |left| left.clamp(UNKNOWN, PIECE))
            }
            _ => UNKNOWN,
        }
    }

    /// Decodes the next piece of the input.
    ///
    /// # Errors
    /// Invalid sizes.
    pub(crate) fn next(&mut self, input: &mut BytesMut) -> Result<FramingStep, Malformed> {
        match self {
            Framing::Length(0) => Ok(FramingStep::End),
            Framing::Length(left) => Ok(piece(input, left)),
            Framing::Close if input.is_empty() => Ok(FramingStep::More),
            Framing::Close => Ok(FramingStep::Piece(input.split().freeze())),
            Framing::Chunked(chunk) => chunk.next(input),
        }
    }
}

impl ChunkState {
    fn next(&mut self, input: &mut BytesMut) -> Result<FramingStep, Malformed> {
        loop {
            match self {
                ChunkState::Size => {
                    let Some(line) = line(input, CHUNK_LINE)? else { return Ok(FramingStep::More) };
                    *self = match size(&line)? {
                        0 => ChunkState::Trailers(0),
                        length => ChunkState::Data(length),
                    };
                }
                ChunkState::Data(0) => *self = ChunkState::AfterData,
                ChunkState::Data(left) => return Ok(piece(input, left)),
                ChunkState::AfterData => {
                    let Some(line) = line(input, 0)? else { return Ok(FramingStep::More) };
                    if !line.is_empty() {
                        return Err(Malformed("a chunk is longer than it says"));
                    }
                    *self = ChunkState::Size;
                }
                ChunkState::Trailers(seen) => {
                    let Some(line) = line(input, TRAILERS.saturating_sub(*seen))? else {
                        return Ok(FramingStep::More);
                    };
                    *seen += line.len() + 2;
                    if line.is_empty() {
                        *self = ChunkState::Over;
                    } else if is_field(&line) {
                        return Ok(FramingStep::Trailer(line));
                    } else {
                        return Err(BAD_TRAILER);
                    }
                }
                ChunkState::Over => return Ok(FramingStep::End),
            }
        }
    }
}

/// Takes at most this many bytes of the input.
fn piece(input: &mut BytesMut, left: &mut u64) -> FramingStep {
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    if count == 0 {
        return FramingStep::More;
    }
    *left -= count as u64;
    FramingStep::Piece(match count == input.len() {
        true => input.split().freeze(),
        false => input.split_to(count).freeze(),
    })
}

/// Takes a line without its end; `None` while it is incomplete.
fn line(input: &mut BytesMut, longest: usize) -> Result<Option<Bytes>, Malformed> {
    let too_long = Err(Malformed("a line of a chunk is too long"));
    match memchr::memchr(b'\n', input) {
        Some(end) if end > longest + 1 => too_long,
        None if input.len() > longest + 1 => too_long,
        None => Ok(None),
        Some(end) => {
            let Some(length) = end.checked_sub(1).filter(|last| input[*last] == b'\r') else {
                return Err(Malformed("a line of a chunk does not end in CR LF"));
            };
            let line = input.split_to(length).freeze();
            input.advance(2);
            Ok(Some(line))
        }
    }
}

/// The size of a chunk, with well-formed extensions only: differences in reading them enable
/// request smuggling (RFC 9112 sections 7.1.1 and 11.2).
fn size(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at(digits);
    if digits.is_empty() || !matches!(skip_blanks(rest), [] | [b';', ..]) {
        return Err(BAD_SIZE);
    }
    if !are_extensions(rest) {
        return Err(BAD_EXTENSION);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| BAD_SIZE)?;
    // More digits than fit mean a huge chunk.
    u64::from_str_radix(digits, 16).map_err(|_| HUGE_CHUNK)
}

/// `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`
fn are_extensions(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some(name) = skip_blanks(rest).strip_prefix(b";").map(skip_blanks) else {
            return false;
        };
        let Some(after) = skip_token(name) else { return false };
        rest = match skip_blanks(after).strip_prefix(b"=").map(skip_blanks) {
            None => after,
            Some(value) => {
                let Some(after) = skip_token(value).or_else(|| skip_quoted(value)) else {
                    return false;
                };
                after
            }
        };
    }
    true
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &text[blanks..]
}

/// The rest after a token (RFC 9110 section 5.6.2); `None` without one.
fn skip_token(text: &[u8]) -> Option<&[u8]> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let length = text.iter().take_while(|byte| is_letter(byte)).count();
    (length > 0).then(|| &text[length..])
}

/// The rest after a quoted string (RFC 9110 section 5.6.4).
fn skip_quoted(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', byte, after @ ..] | [byte, after @ ..] if is_visible(*byte) => after,
            _ => return None,
        };
    }
}

/// Whether a byte may stand in a field value: no control character but the tab.
fn is_visible(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether a line is a field: a name, a colon, and a value (RFC 9112 section 5).
fn is_field(line: &[u8]) -> bool {
    let value = skip_token(line).and_then(|rest| rest.strip_prefix(b":"));
    value.is_some_and(|value| value.iter().all(|byte| is_visible(*byte)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// All decoded content, fed in pieces of this size; and the unread input.
    fn read(text: &str, at_a_time: usize) -> Result<Option<(String, String)>, Malformed> {
        let mut framing = Framing::Chunked(ChunkState::Size);
        let mut pieces = text.as_bytes().chunks(at_a_time);
        let (mut input, mut content) = (BytesMut::new(), Vec::new());
        loop {
            match framing.next(&mut input)? {
                FramingStep::Piece(piece) => content.extend_from_slice(&piece),
                FramingStep::Trailer(line) => assert!(line.eq_ignore_ascii_case(b"a: b")),
                FramingStep::End => {
                    let mut rest = input.to_vec();
                    pieces.for_each(|piece| rest.extend_from_slice(piece));
                    let text = |bytes| String::from_utf8(bytes).unwrap();
                    return Ok(Some((text(content), text(rest))));
                }
                FramingStep::More => match pieces.next() {
                    Some(piece) => input.extend_from_slice(piece),
                    None => return Ok(None),
                },
            }
        }
    }

    #[test]
    fn chunks_are_put_together() {
        let text = "5\r\nhello\r\n1;a=b\r\n \r\n00a ; b ;c = \"d\\\";\t\"\r\n0123456789\r\n0\r\nA: b\r\n\r\nrest";
        for at_a_time in 1..text.len() {
            let (content, rest) = read(text, at_a_time).unwrap().unwrap();
            assert_eq!((&*content, &*rest), ("hello 0123456789", "rest"), "{at_a_time}");
        }
    }

    #[test]
    fn chunks_that_are_none_are_refused() {
        let long = format!("1;{}\r\n", "x".repeat(CHUNK_LINE));
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(TRAILERS));
        for text in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\na\r\n",
            "1\nab",
            "1\r\nab\r\n",
            "1\r\na\n\r\n",
            "0x1\r\n",
            "fffffffffffffffff\r\n",
            ";a\r\n",
            "1,\r\n",
            "1 \r\na\r\n",
            "1;\r\na\r\n",
            "1;a;\r\na\r\n",
            "1;a \r\na\r\n",
            "1;a=\r\na\r\n",
            "1;a=\"b\r\na\r\n",
            "1;a=\"b\"c\r\na\r\n",
            "1;a\rb\r\na\r\n",
            "1;a=\"\r\"\r\na\r\n",
            "1;a\0\r\na\r\n",
            "1;(\r\na\r\n",
            "0\r\nno colon\r\n\r\n",
            "0\r\n: b\r\n\r\n",
            "0\r\na : b\r\n\r\n",
            "0\r\na: b\r\n c\r\n\r\n",
            "0\r\na: \0\r\n\r\n",
            "0\r\na: b\rc\r\n\r\n",
            &long,
            &trailers,
        ] {
            for at_a_time in [1, 7, text.len()] {
                assert!(read(text, at_a_time).is_err(), "{text:?} {at_a_time}");
            }
        }
        for text in ["", "5", "5\r", "5\r\nhell", "5\r\nhello\r\n", "0\r\n", "0\r\na: b\r\n"] {
            assert_eq!(read(text, 1).unwrap(), None, "{text:?}");
        }
    }

    #[test]
    fn a_length_that_no_number_holds_is_told_apart() {
        for text in ["10000000000000005\r\n", "fffffffffffffffff;a\r\n"] {
            assert_eq!(read(text, text.len()), Err(HUGE_CHUNK), "{text:?}");
        }
        assert_eq!(read("ffffffffffffffff\r\n", 100), Ok(None));
    }

    #[test]
    fn a_length_leaves_the_rest() {
        let mut framing = Framing::Length(3);
        let mut input = BytesMut::from("ab");
        assert_eq!(framing.next(&mut input).unwrap(), FramingStep::Piece("ab".into()));
        assert_eq!(framing.next(&mut input).unwrap(), FramingStep::More);
        input.extend_from_slice(b"cd");
        assert_eq!(framing.next(&mut input).unwrap(), FramingStep::Piece("c".into()));
        assert_eq!(framing.next(&mut input).unwrap(), FramingStep::End);
        assert_eq!(&input[..], b"d");
    }
}
