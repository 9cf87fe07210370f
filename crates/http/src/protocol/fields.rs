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
    let digits = text.iter().map(|byte| byte.is_ascii_digit().then(|| u64::from(byte - b'0')));
    let add = |number: u64, digit: Option<u64>| number.checked_mul(10)?.checked_add(digit?);
    if text.is_empty() { None } else { digits.into_iter().try_fold(0, add) }
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

/// Fields as HTTP/1.1 writes them: lines, with names in lower case.
///
/// A proxy passes most fields on as they are. In a `HeaderMap`, each would be hashed and have a value of
/// its own.
#[derive(Debug, Default)]
pub(crate) struct FieldLines {
    text: Vec<u8>,
    has_date: bool,
}

impl FieldLines {
    /// With room for this many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        FieldLines { text: Vec::with_capacity(bytes), has_date: false }
    }

    /// Appends a field with a valid name and value.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        let start = self.text.len();
        write(name, value, &mut self.text);
        self.name_written(start, name.len());
    }

    /// Appends a field as it was received: `line` is its name, a colon, a blank and its value.
    pub(crate) fn push_line(&mut self, line: &[u8], name: usize) {
        let start = self.text.len();
        self.text.reserve(line.len() + 2);
        self.text.extend_from_slice(line);
        self.text.extend_from_slice(b"\r\n");
        self.name_written(start, name);
    }

    fn name_written(&mut self, start: usize, length: usize) {
        let name = &mut self.text[start..start + length];
        name.make_ascii_lowercase();
        self.has_date |= name == b"date";
    }

    /// Sets a field, whose name is in lower case, in place of all others of this name.
    pub(crate) fn set(&mut self, name: &str, value: &[u8]) {
        let all = std::mem::take(self);
        for (known, value) in all.iter().filter(|(known, _)| *known != name.as_bytes()) {
            self.push(&String::from_utf8_lossy(known), value);
        }
        self.push(name, value);
    }

    /// The lines.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// Whether there is a field `Date`.
    pub(crate) fn has_date(&self) -> bool {
        self.has_date
    }

    /// The names and values.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let lines = self.text.split_inclusive(|byte| *byte == b'\n');
        lines.filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    /// The fields as a map.
    pub(crate) fn to_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.iter() {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            {
                headers.append(name, value);
            }
        }
        headers
    }
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
    fn lines_are_a_map() {
        let mut lines = FieldLines::with_capacity(9);
        for (name, value) in [("A", "b: c"), ("Date", "d"), ("b", ""), ("a", "2")] {
            lines.push(name, value.as_bytes());
        }
        assert_eq!(lines.as_bytes(), b"a: b: c\r\ndate: d\r\nb: \r\na: 2\r\n");
        assert!(lines.has_date());
        let headers = lines.to_headers();
        assert_eq!(
            (headers.len(), headers["date"].as_bytes(), headers["b"].as_bytes()),
            (4, &b"d"[..], &b""[..])
        );
        assert_eq!(headers.get_all("a").iter().collect::<Vec<_>>(), ["b: c", "2"]);
        lines.set("a", b"3");
        assert_eq!(lines.as_bytes(), b"date: d\r\nb: \r\na: 3\r\n");
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
