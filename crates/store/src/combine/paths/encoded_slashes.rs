//! Escaped slashes in the path of a request: the one rule of all that compares paths.
//!
//! `/admin%2Fx` has one segment here and two for a server that decodes first. What compares a path
//! would judge one resource, and a server behind it serve another one, so both must agree, or the
//! request is refused.

use crate::{Error, Reference};
use std::borrow::Cow;

/// Whether a path has a slash that is escaped, or a backslash, which many servers take for a slash.
pub fn has_encoded_slash(path: &str) -> bool {
    let bytes = path.as_bytes();
    // A substring search costs more than a usual path is long.
    bytes.iter().enumerate().any(|(at, &byte)| match byte {
        b'\\' => true,
        b'%' => matches!(bytes.get(at + 1..at + 3), Some(b"2F" | b"2f")),
        _ => false,
    })
}

/// A path with each escaped slash, and each backslash, as a slash.
fn decode_slashes(path: &str) -> Cow<'_, str> {
    match has_encoded_slash(path) {
        false => Cow::Borrowed(path),
        true => Cow::Owned(path.replace("%2F", "/").replace("%2f", "/").replace('\\', "/")),
    }
}

/// A path as the most lenient server would read it: slashes decoded, runs of them merged, dot
/// segments removed.
pub(crate) fn lenient_path(path: &str) -> Cow<'_, str> {
    if !has_encoded_slash(path) && !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let decoded = decode_slashes(path);
    let mut kept: Vec<&str> = Vec::new();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    let start = if decoded.starts_with('/') { "/" } else { "" };
    let end = if decoded.ends_with('/') && !kept.is_empty() { "/" } else { "" };
    Cow::Owned(format!("{start}{}{end}", kept.join("/")))
}

/// The error of a path with an escaped slash.
pub fn encoded_slash(class: &str) -> Error {
    Error::malformed_reference(format!(
        "the path has an escaped slash or a backslash, which servers read differently; \
         `encodedSlashes: true` of the {class} takes it as a part of a name"
    ))
}

/// Whether a segment has `..` beside an escaped slash, by which a reader that decodes it would leave
/// the part of the path that is above it.
pub fn climbs(segment: &str) -> bool {
    segment.contains("..")
        && has_encoded_slash(segment)
        && decode_slashes(segment).split('/').any(|part| part.split(';').next() == Some(".."))
}

/// The first segment of a path as [`lenient_path`] reads it, where its own one has an escaped slash,
/// and what follows it there; the rest begins with that slash, so that it is known for what it is.
pub(crate) fn split_encoded(reference: &Reference) -> Option<(String, Reference)> {
    let path = reference.relative_path();
    let first = path.split('/').next().filter(|first| has_encoded_slash(first))?;
    let name = lenient_path(path);
    let name = name.trim_start_matches('/').split('/').next().unwrap_or_default().to_string();
    let rest = match path.strip_prefix(&name) {
        Some(rest) => rest.to_string(),
        None => format!("%2F{first}{}", &path[first.len()..]),
    };
    Some((name, reference.with_path(rest)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn escaped_slashes_are_found() {
        for path in ["a%2Fb", "a%2fb", "a\\b", "%2F"] {
            assert!(has_encoded_slash(path), "{path}");
        }
        for path in ["", "a/b", "a%252Fb", "50%", "%2", "a%20b", "a;b"] {
            assert!(!has_encoded_slash(path), "{path}");
        }
    }

    #[test]
    fn a_lenient_path_has_no_second_reading() {
        for (path, expected) in [
            ("admin%2Fx", "admin/x"),
            ("/a\\b%2F", "/a/b/"),
            ("//admin//x", "/admin/x"),
            ("/open/..%2Fadmin/x", "/admin/x"),
            ("x%2F..%2F..%2Fadmin", "admin"),
            ("%2F", "/"),
            ("/a/b", "/a/b"),
        ] {
            assert_eq!(lenient_path(path), expected, "{path}");
        }
    }

    #[test]
    fn the_name_of_a_route_is_found_behind_escaped_slashes() {
        let split = |path: &str| {
            let (name, rest) = split_encoded(&Reference::from_path(path))?;
            assert!(has_encoded_slash(rest.path()), "{path}");
            Some((name, rest.path().to_string()))
        };
        let pair = |name: &str, rest: &str| Some((name.to_string(), rest.to_string()));
        assert_eq!(split("/admin%2Fx/y"), pair("admin", "%2Fx/y"));
        assert_eq!(split("/admin\\x"), pair("admin", "\\x"));
        assert_eq!(split("/%2Fadmin/x"), pair("admin", "%2F%2Fadmin/x"));
        assert_eq!(split("/x%2F../admin"), pair("admin", "%2Fx%2F../admin"));
        assert_eq!(split("/admin/a%2Fb"), None);
    }

    #[test]
    fn climbing_segments_are_known() {
        for segment in ["..%2Fa", "a%2F..", "a\\..\\b", "a%2F..;x%2Fb"] {
            assert!(climbs(segment), "{segment}");
        }
        for segment in ["..", "a..b%2Fc", "a%2Fb", "..."] {
            assert!(!climbs(segment), "{segment}");
        }
    }
}
