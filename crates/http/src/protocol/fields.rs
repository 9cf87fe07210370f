//! Header fields of HTTP/1.1, read and written, for server and client (RFC 9110 section 5, RFC 9112
//! section 5).

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// A head, copied once: all values are slices of that one buffer.
pub(crate) struct Copied<'a> {
    original: &'a [u8],
    copy: Bytes,
}

impl<'a> Copied<'a> {
    /// Both have the same bytes.
    pub(crate) fn new(original: &'a [u8], copy: Bytes) -> Self {
        debug_assert_eq!(original, copy);
        Copied { original, copy }
    }

    /// The slice of the copy for a slice of the original; empty for bytes outside of it.
    pub(crate) fn part(&self, text: &[u8]) -> Bytes {
        let start = text.as_ptr().addr().wrapping_sub(self.original.as_ptr().addr());
        match start.checked_add(text.len()) {
            Some(end) if !text.is_empty() && end <= self.copy.len() => self.copy.slice(start..end),
            _ => Bytes::new(),
        }
    }
}

/// The comma-separated words of a value.
pub(crate) fn words(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether a list field contains a word, ignoring case.
pub(crate) fn list(headers: &HeaderMap, name: HeaderName, word: &[u8]) -> bool {
    let mut lines = headers.get_all(name).iter();
    lines.any(|line| words(line.as_bytes()).any(|one| one.eq_ignore_ascii_case(word)))
}

/// A decimal number of digits only; `None` for anything else, or when too large.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The field of a line without its end; `None` for a line that is none.
pub(crate) fn parse(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = memchr::memchr(b':', line)?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((name, value))
}

/// Appends a field.
pub(crate) fn write(name: &str, value: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(name.as_bytes());
    into.extend_from_slice(b": ");
    into.extend_from_slice(value);
    into.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_in_the_copy() {
        let original = b"a: bc\r\n";
        let copied = Copied::new(original, Bytes::copy_from_slice(original));
        assert_eq!(copied.part(&original[3..5]), "bc");
        assert_eq!(copied.part(&original[3..5]).as_ptr(), copied.copy[3..].as_ptr());
        assert_eq!(copied.part(&original[3..3]), "");
        assert_eq!(copied.part(b"elsewhere"), "");
    }

    #[test]
    fn a_line_is_a_field() {
        let (name, value) = parse(b"X-A:  b: c ").unwrap();
        assert_eq!((name.as_str(), value.as_bytes()), ("x-a", &b"b: c"[..]));
        assert!(parse(b"no colon").is_none() && parse(b": b").is_none());
    }

    #[test]
    fn numbers_are_digits() {
        assert_eq!((number(b"0"), number(b"0042")), (Some(0), Some(42)));
        for text in [&b""[..], b"+1", b"-1", b" 1", b"1 ", b"0x1", b"\xff", b"18446744073709551616"]
        {
            assert_eq!(number(text), None, "{text:?}");
        }
    }
}
