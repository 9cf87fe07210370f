//! Request targets as references of a store, and back.

use hyper::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use runnel_store::{Reference, Text, is_escape};

/// Why a target is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidTarget {
    /// Longer than the limit: 414.
    TooLong,
    /// Malformed, with a sentence for the client: 400.
    Malformed(&'static str),
}

use InvalidTarget::{Malformed, TooLong};

/// The reference of a request target: its path percent-decoded and without dot segments, its query
/// unchanged.
///
/// - Escapes are decoded once. `%2F` stays, since a decoded slash would be a separator: `/a%2Fb`
///   has one segment. An escaped `%` that would start an escape stays as well, so that `/a%252Fb`
///   differs from it ([`runnel_store::encode_segment`]).
/// - `.` and `..` segments (escaped ones too) are removed and never lead above the root (RFC 3986
///   section 5.2.4).
/// - A malformed escape, an escaped NUL and escapes that are not UTF-8 are 400.
pub(crate) fn reference(uri: &Uri, limit: usize) -> Result<Reference, InvalidTarget> {
    let path = uri.path();
    let query = uri.query();
    if path.len() + query.map_or(0, str::len) > limit {
        return Err(TooLong);
    }
    let reference = if path.starts_with('/') {
        Reference::from_path(clean(path)?)
    } else if path.is_empty() {
        Reference::from_path(Text::from_static("/"))
    } else {
        return Err(Malformed("the target of a request begins with a slash"));
    };
    Ok(match query {
        Some(query) => reference.with_query(query),
        None => reference,
    })
}

/// A path, decoded and without dot segments.
fn clean(path: &str) -> Result<Text, InvalidTarget> {
    if path.contains('%') {
        let plain = unescape(path)?;
        return Ok(if has_dots(&plain) {
            remove_dot_segments(&plain).into()
        } else {
            plain.into()
        });
    }
    Ok(if has_dots(path) { remove_dot_segments(path).into() } else { path.into() })
}

/// A decoded path; `None` when an escape is malformed.
pub(crate) fn plain_path(path: &str) -> Option<String> {
    unescape(path).ok()
}

/// Whether a segment starts with a dot. Calling a substring search costs more than a typical path
/// is long.
fn has_dots(path: &str) -> bool {
    path.as_bytes().windows(2).any(|two| two == b"/.")
}

/// Decodes a path, except for the escapes that [`runnel_store::encode_segment`] makes.
fn unescape(path: &str) -> Result<String, InvalidTarget> {
    let bytes = path.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'%' {
            plain.push(byte);
            at += 1;
            continue;
        }
        let digit = |place: usize| bytes.get(place).and_then(|&b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
            return Err(Malformed("`%` in the path is not followed by two hexadecimal digits"));
        };
        match (high * 16 + low) as u8 {
            0 => return Err(Malformed("the path contains a NUL")),
            // A decoded path has no NUL: it marks an escaped slash until that is escaped again.
            b'/' => plain.push(0),
            byte => plain.push(byte),
        }
        at += 3;
    }
    if plain.iter().any(|byte| matches!(byte, 0 | b'%')) {
        plain = escaped_again(&plain);
    }
    String::from_utf8(plain).map_err(|_| Malformed("the path is not UTF-8"))
}

/// Re-escapes what a segment of a reference needs; a NUL marks a slash.
fn escaped_again(plain: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(plain.len() + 8);
    for (at, &byte) in plain.iter().enumerate() {
        match byte {
            0 => escaped.extend_from_slice(b"%2F"),
            b'%' if is_escape(&plain[at..]) => escaped.extend_from_slice(b"%25"),
            byte => escaped.push(byte),
        }
    }
    escaped
}

/// Removes `.` and `..` segments (RFC 3986 section 5.2.4).
pub(crate) fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Characters escaped in a path: all that RFC 3986 does not allow there.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Characters escaped in one path segment.
const NAME: &AsciiSet = &PATH.add(b'/').add(b'%');

/// A path for a header or a request line. An existing escape stays, so that a URL can be pasted
/// into a program (and `%2F` stays one segment). Letters and digits are never escaped, so `%41` is
/// taken literally, like any other `%`.
pub(crate) fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        escaped.extend(utf8_percent_encode(&rest[..at], PATH));
        escaped.push_str(if is_escape(&rest.as_bytes()[at..]) { "%" } else { "%25" });
        rest = &rest[at + 1..];
    }
    escaped.extend(utf8_percent_encode(rest, PATH));
    escaped
}

/// A name of a listing for a link.
pub(crate) fn escape_name(name: &str) -> String {
    utf8_percent_encode(&runnel_store::decode_segment(name), NAME).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn path(target: &str) -> Option<String> {
        let uri: Uri = target.parse().unwrap();
        reference(&uri, 8192).ok().map(|reference| reference.path().to_string())
    }

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(path("/a%20b").unwrap(), "/a b");
        assert_eq!(path("/na%C3%AFve").unwrap(), "/naïve");
        assert_eq!(path("/%2541").unwrap(), "/%41");
        assert_eq!(path("/a%2fb").unwrap(), "/a%2Fb");
        assert_eq!(path("/a%252Fb").unwrap(), "/a%252Fb");
        assert_eq!(path("/%25%32%30").unwrap(), "/%2520");
        assert_eq!(path("/50%25").unwrap(), "/50%");
    }

    #[test]
    fn malformed_paths_are_refused() {
        for target in ["/%", "/%4", "/%zz", "/a%00", "/%ff", "/%C3%28"] {
            assert_eq!(path(target), None, "{target}");
        }
    }

    #[test]
    fn dot_segments_never_lead_out() {
        for (target, expected) in [
            ("/a/../b", "/b"),
            ("/a/./b", "/a/b"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/%2e%2e/%2E%2e/etc", "/etc"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/..", "/"),
            ("/...", "/..."),
            ("/.hidden", "/.hidden"),
            ("/a/..b", "/a/..b"),
            ("//a", "//a"),
        ] {
            assert_eq!(path(target).unwrap(), expected, "{target}");
        }
    }

    #[test]
    fn the_query_stays_as_it_came() {
        let uri: Uri = "/a?b=%20&c".parse().unwrap();
        let reference = reference(&uri, 100).unwrap();
        assert_eq!((reference.path(), reference.query()), ("/a", Some("b=%20&c")));
    }

    #[test]
    fn a_long_target_is_414() {
        let uri: Uri = "/aaaa?bbbb".parse().unwrap();
        assert_eq!(reference(&uri, 8), Err(TooLong));
    }

    #[test]
    fn escaping_is_the_inverse() {
        for plain in [
            "/a b", "/naïve", "/50%", "/a%2Fb", "/a%41", "/a%252Fb", "/a%2520", "/q?#x", "/[{}]",
            "/ü%", "/%ü",
        ] {
            let escaped = escape_path(plain);
            assert_eq!(path(&escaped).unwrap(), plain, "{escaped}");
        }
        assert_eq!(escape_path("/S%C3%A3o%20Paulo%7e"), "/S%C3%A3o%20Paulo%7e");
        assert_eq!(escape_name("a/b%"), "a%2Fb%25");
        assert_eq!(escape_name("a%2Fb%2520%41"), "a%2Fb%2520%2541");
    }
}
