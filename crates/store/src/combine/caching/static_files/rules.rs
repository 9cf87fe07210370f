//! Which names are hidden, which patterns fit, which types are text.

use crate::{Body, Content};
use std::borrow::Cow;

/// Whether a part of a path begins with a dot. `.well-known` is meant to be seen (RFC 8615).
pub(super) fn is_hidden(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).enumerate();
    parts.any(|(at, part)| part.starts_with('.') && !(at == 0 && part == ".well-known"))
}

/// Whether a path matches a pattern: `*` matches any characters, `?` one.
pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.trim_start_matches('/').as_bytes(), path.as_bytes());
    let (mut at, mut on) = (0, 0);
    // The position of the last star, and the length of its match.
    let mut star: Option<(usize, usize)> = None;
    while on < path.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, on));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == path[on] => {
                at += 1;
                on += 1;
            }
            _ => {
                let Some((back, taken)) = star else { return false };
                star = Some((back, taken + 1));
                (at, on) = (back + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Whether files of this type may have precompressed variants.
pub(super) fn is_packable(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", name)) => {
            name.ends_with("json")
                || name.ends_with("xml")
                || matches!(name, "javascript" | "wasm" | "x-javascript")
        }
        Some(("image", name)) => matches!(name, "svg+xml" | "bmp" | "x-icon"),
        Some(("font", name)) => matches!(name, "ttf" | "otf"),
        _ => false,
    }
}

/// Text files say that they are UTF-8, unless it can be seen that they are not.
pub(super) fn with_charset(content: Content) -> Content {
    let Some(media_type) = &content.media_type else { return content };
    if !media_type.starts_with("text/") || media_type.contains("charset") {
        return content;
    }
    if let Body::Bytes(bytes) = &content.body
        && std::str::from_utf8(bytes).is_err()
    {
        return content;
    }
    let media_type = match &**media_type {
        "text/html" => Cow::Borrowed("text/html; charset=utf-8"),
        "text/plain" => Cow::Borrowed("text/plain; charset=utf-8"),
        "text/css" => Cow::Borrowed("text/css; charset=utf-8"),
        "text/javascript" => Cow::Borrowed("text/javascript; charset=utf-8"),
        other => Cow::Owned(format!("{other}; charset=utf-8")),
    };
    Content { media_type: Some(media_type), ..content }
}

/// A name escaped for a reference (RFC 3986): every reserved character is escaped.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            byte => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                escaped.push('%');
                escaped.push(char::from(DIGITS[usize::from(byte >> 4)]));
                escaped.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names() {
        for path in
            ["/.env", "/a/.git/config", "/..", "/.well-known/.x", "/a/.well-known/x", "/..;/x"]
        {
            assert!(is_hidden(path), "{path}");
        }
        for path in ["/", "", "/a.b", "/a/b.", "/.well-known/acme-challenge/x"] {
            assert!(!is_hidden(path), "{path}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, path) in [
            ("assets/*", "assets/a/b.js"),
            ("/assets/*", "assets/x"),
            ("*.????????.js", "app.1a2b3c4d.js"),
            ("*", ""),
            ("a*b*c", "axxbyybzzc"),
            ("a", "a"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in
            [("assets/*", "other/a"), ("a", "ab"), ("a*b*c", "axxbyyb"), ("?", ""), ("", "a")]
        {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
        // Many stars cost no more than the length times the length.
        assert!(!fits(&"*a".repeat(50), &"a".repeat(49)));
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a b:c?d#e%\u{e4}~.x"), "a%20b%3Ac%3Fd%23e%25%C3%A4~.x");
    }

    #[test]
    fn text_says_its_encoding() {
        let of = |bytes: &'static [u8], kind: &'static str| {
            with_charset(Content::bytes(bytes).with_media_type(kind)).media_type.unwrap_or_default()
        };
        assert_eq!(of(b"x", "text/css"), "text/css; charset=utf-8");
        assert_eq!(of(b"x", "text/markdown"), "text/markdown; charset=utf-8");
        assert_eq!(of(b"\xff", "text/css"), "text/css");
        assert_eq!(of(b"x", "image/png"), "image/png");
    }
}
