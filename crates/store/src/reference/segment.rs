//! Text as one path segment, and back.
//!
//! Paths are stored unescaped. Two characters need an escape in a segment: a slash would begin the
//! next segment, and a `%` could begin an escape ([`is_escape`]). They become `%2F` and `%25`.

use std::borrow::Cow;

/// Encodes text as a segment; [`decode_segment`] restores it.
pub fn encode_segment(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let special = |at: usize| match bytes[at] {
        b'/' => true,
        b'%' => is_escape(&bytes[at..]),
        _ => false,
    };
    let Some(first) = (0..bytes.len()).find(|&at| special(at)) else { return Cow::Borrowed(text) };
    let mut segment = String::with_capacity(text.len() + 8);
    let mut from = 0;
    for at in first..bytes.len() {
        if special(at) {
            segment.push_str(&text[from..at]);
            segment.push_str(if bytes[at] == b'/' { "%2F" } else { "%25" });
            from = at + 1;
        }
    }
    segment.push_str(&text[from..]);
    Cow::Owned(segment)
}

/// Decodes a segment: `%2F`, `%3F` and `%25` are a slash, a question mark and a percent sign; all
/// other characters are literal.
pub fn decode_segment(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let meant = match rest.as_bytes().get(at + 1..at + 3) {
            Some(b"2F" | b"2f") => "/",
            Some(b"3F" | b"3f") => "?",
            Some(b"25") => "%",
            _ => {
                text.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        };
        text.push_str(meant);
        rest = &rest[at + 3..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Whether bytes begin with what an address takes as an escape: a `%` and two hexadecimal digits.
/// No address escapes letters and digits, so `%41` is a text.
pub fn is_escape(bytes: &[u8]) -> bool {
    let digit = |at: usize| bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (Some(b'%'), Some(high), Some(low)) = (bytes.first(), digit(1), digit(2)) else {
        return false;
    };
    !((high * 16 + low) as u8).is_ascii_alphanumeric()
}
