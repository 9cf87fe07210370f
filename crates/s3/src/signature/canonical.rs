//! The canonical form of a request, which is what a signature signs.

use crate::signature::digest::sha256_hex;
use crate::signature::time::SigningTime;
use crate::signature::{ALGORITHM, presigned};
use http::{HeaderMap, Method};
use std::borrow::Cow;

/// The parts of a request that are signed.
#[derive(Clone, Copy)]
pub(crate) struct CanonicalRequest<'a> {
    pub(crate) method: &'a Method,
    /// The path as it was sent.
    pub(crate) path: &'a str,
    /// The query as it was sent; a signature in it is left out.
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    /// The names of the signed headers, in order: `host;x-amz-date`.
    pub(crate) signed: &'a str,
    /// The hash of the payload, or what stands for it.
    pub(crate) payload: &'a str,
}

/// How the path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathForm {
    /// As it was sent, which is what most clients sign.
    Sent,
    /// With all escaped but unreserved characters and slashes, as S3 documents it.
    Escaped,
}

impl CanonicalRequest<'_> {
    /// The canonical text. It is bytes: header fields may hold others than ASCII.
    pub(crate) fn text(&self, form: PathForm) -> Vec<u8> {
        let room = 256 + self.path.len() + 2 * self.query.len() + 2 * self.signed.len();
        let mut text = Vec::with_capacity(room);
        text.extend_from_slice(self.method.as_str().as_bytes());
        text.push(b'\n');
        match (form, self.path) {
            (_, "") => text.push(b'/'),
            (PathForm::Sent, path) => text.extend_from_slice(path.as_bytes()),
            (PathForm::Escaped, path) => text.extend_from_slice(escaped_path(path).as_bytes()),
        }
        text.push(b'\n');
        write_query(self.query, &mut text);
        text.push(b'\n');
        for name in self.signed.split(';') {
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
            self.write_values(name, &mut text);
            text.push(b'\n');
        }
        text.push(b'\n');
        text.extend_from_slice(self.signed.as_bytes());
        text.push(b'\n');
        text.extend_from_slice(self.payload.as_bytes());
        text
    }

    /// Whether escaping would change the path.
    pub(crate) fn has_unescaped_path(&self) -> bool {
        matches!(escaped_path(self.path), Cow::Owned(_))
    }

    /// The values of a header, trimmed and joined.
    fn write_values(&self, name: &str, text: &mut Vec<u8>) {
        let mut values = self.headers.get_all(name).iter().peekable();
        if values.peek().is_none() && name == "content-length" {
            // Clients sign the length of an empty body and then do not send it.
            text.push(b'0');
        }
        while let Some(value) = values.next() {
            write_trimmed(value.as_bytes(), text);
            if values.peek().is_some() {
                text.push(b',');
            }
        }
    }
}

/// What the key signs: the time, the scope and the hash of a canonical text.
pub(crate) fn string_to_sign(time: &SigningTime, scope: &str, canonical: &[u8]) -> String {
    [ALGORITHM, time.text(), scope, &sha256_hex(canonical)].join("\n")
}

/// Writes a value without spaces around it and with single spaces within.
fn write_trimmed(value: &[u8], text: &mut Vec<u8>) {
    let value = value.trim_ascii();
    let mut was_space = false;
    for byte in value {
        let is_space = *byte == b' ';
        if !(is_space && was_space) {
            text.push(*byte);
        }
        was_space = is_space;
    }
}

/// Writes the pairs of a query, escaped and in order.
fn write_query(query: &str, text: &mut Vec<u8>) {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut pairs: Vec<_> = pairs
        .map(|(name, value)| (escaped_query(name), escaped_query(value)))
        .filter(|(name, _)| name != presigned::SIGNATURE)
        .collect();
    pairs.sort_unstable();
    for (index, (name, value)) in pairs.iter().enumerate() {
        if index > 0 {
            text.push(b'&');
        }
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
    }
}

/// A part of a query in its canonical form. `+` is a space, as in forms.
fn escaped_query(part: &str) -> Cow<'_, str> {
    escaped(part, false, true)
}

fn escaped_path(path: &str) -> Cow<'_, str> {
    escaped(path, true, false)
}

/// Escapes all but unreserved characters, and no escape twice. Text that is canonical is answered
/// as it is.
fn escaped(text: &str, keep_slash: bool, plus_is_space: bool) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_canonical = match byte {
            b'%' => match escape_at(bytes, at) {
                Some(byte) => {
                    let is_upper =
                        !bytes[at + 1..at + 3].iter().any(|digit| digit.is_ascii_lowercase());
                    at += 2;
                    is_upper && !is_unreserved(byte)
                }
                None => false,
            },
            b'/' => keep_slash,
            byte => is_unreserved(*byte),
        };
        if !is_canonical {
            return Cow::Owned(escape_anew(bytes, keep_slash, plus_is_space));
        }
        at += 1;
    }
    Cow::Borrowed(text)
}

fn escape_anew(bytes: &[u8], keep_slash: bool, plus_is_space: bool) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    let mut at = 0;
    while let Some(sent) = bytes.get(at).copied() {
        let (byte, was_escaped) = match (sent, escape_at(bytes, at)) {
            (b'%', Some(byte)) => {
                at += 2;
                (byte, true)
            }
            (b'+', _) if plus_is_space => (b' ', true),
            (byte, _) => (byte, false),
        };
        if is_unreserved(byte) || (byte == b'/' && keep_slash && !was_escaped) {
            text.push(char::from(byte));
        } else {
            push_escape(byte, &mut text);
        }
        at += 1;
    }
    text
}

/// The byte of an escape that begins here.
fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digits = bytes.get(at + 1..at + 3)?;
    let digit = |digit: u8| char::from(digit).to_digit(16);
    (bytes.get(at) == Some(&b'%')).then_some(())?;
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

fn push_escape(byte: u8, text: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn canonical(path: &str, query: &str, form: PathForm) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h:80"));
        headers.append("x-amz-meta-a", HeaderValue::from_static("  one   two "));
        headers.append("x-amz-meta-a", HeaderValue::from_static("three"));
        let request = CanonicalRequest {
            method: &Method::GET,
            path,
            query,
            headers: &headers,
            signed: "host;x-amz-meta-a;x-missing",
            payload: "UNSIGNED-PAYLOAD",
        };
        String::from_utf8(request.text(form)).unwrap()
    }

    #[test]
    fn headers_are_trimmed_and_joined() {
        assert_eq!(
            canonical("/", "", PathForm::Sent),
            "GET\n/\n\nhost:h:80\nx-amz-meta-a:one two,three\nx-missing:\n\n\
             host;x-amz-meta-a;x-missing\nUNSIGNED-PAYLOAD"
        );
    }

    #[test]
    fn queries_are_escaped_and_ordered() {
        for (query, expected) in [
            ("b=2&a=1", "a=1&b=2"),
            ("acl", "acl="),
            ("&&a=1&", "a=1"),
            ("prefix=a/b+c&delimiter=%2f", "delimiter=%2F&prefix=a%2Fb%20c"),
            ("a=2&a=1&A=3", "A=3&a=1&a=2"),
            ("X-Amz-Signature=abc&X-Amz-Date=1", "X-Amz-Date=1"),
            ("a=%7E%zz%", "a=~%25zz%25"),
            ("a=x=y", "a=x%3Dy"),
        ] {
            let text = canonical("/", query, PathForm::Sent);
            assert_eq!(text.lines().nth(2), Some(expected), "{query}");
        }
    }

    #[test]
    fn paths_are_signed_as_sent_or_escaped() {
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a(b)/c*", "/a%28b%29/c%2A"),
            ("/%e3%7e", "/%E3~"),
            ("/a+b", "/a%2Bb"),
            ("/ü", "/%C3%BC"),
        ] {
            let escaped = canonical(path, "", PathForm::Escaped);
            assert_eq!(escaped.lines().nth(1), Some(expected), "{path}");
            let sent = canonical(path, "", PathForm::Sent);
            assert_eq!(sent.lines().nth(1), Some(path));
        }
    }
}
