//! The path and query that an upstream gets: as the client sent them, where that is possible.

use crate::protocol::target::escape_path;
use hyper::Uri;
use hyper::http::uri::PathAndQuery;
use runnel_store::{Error, Kind, Reference, Result};

/// The path and query of a request that has reached the proxy under this reference. `whole` is its
/// reference before: what a route took off at the front is taken off the path as it was sent.
///
/// # Errors
/// [`Kind::Invalid`]: an escaped slash or a backslash beside `..`, by which an upstream that unescapes
/// them would leave the part of the path that the stores in front of the proxy have seen.
pub(super) fn path_and_query(
    uri: &Uri,
    whole: &Reference,
    reference: &Reference,
) -> Result<PathAndQuery> {
    let has_two_dots = reference.path().as_bytes().windows(2).any(|two| two == b"..");
    if has_two_dots && reference.segments().any(climbs) {
        return Err(Error::malformed_reference("the path contains `..` beside an escaped slash"));
    }
    let is_same = whole.path() == reference.path();
    let raw = uri.path();
    if is_same && whole.query() == reference.query() && !has_dots(raw) && raw.starts_with('/') {
        return match uri.path_and_query() {
            Some(whole) => Ok(whole.clone()),
            None => Ok(PathAndQuery::from_static("/")),
        };
    }
    let path = match raw_rest(raw, whole, reference) {
        Some(rest) => format!("/{rest}"),
        None => format!("/{}", escape_path(reference.relative_path())),
    };
    let text = match reference.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let malformed = |_| Error::new(Kind::Invalid, "the path or the query cannot be passed on");
    PathAndQuery::try_from(text).map_err(malformed)
}

/// The end of the path as it was sent that belongs to the reference; `None` where they cannot be compared.
fn raw_rest<'a>(raw: &'a str, whole: &Reference, reference: &Reference) -> Option<&'a str> {
    if has_dots(raw) {
        return None;
    }
    let taken = whole.relative_path().strip_suffix(reference.relative_path())?;
    let count = taken.matches('/').count();
    if !taken.is_empty() && !taken.ends_with('/') && !reference.relative_path().is_empty() {
        return None;
    }
    let mut rest = raw.trim_start_matches('/');
    for _ in 0..count {
        rest = rest.split_once('/')?.1;
    }
    match taken.is_empty() || taken.ends_with('/') {
        true => Some(rest),
        // `/api` itself, of which nothing is left.
        false => rest.find('/').is_none().then_some(""),
    }
}

/// Whether a path may have dot segments, which the reference does not have.
fn has_dots(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    // Three substring searches cost ten times as much for a usual path.
    bytes.windows(2).any(|two| two == b"/." || two == b"%2")
        && (raw.contains("/.") || raw.contains("%2e") || raw.contains("%2E"))
}

/// Whether a segment of a reference has `..` beside a slash that is escaped, or a backslash.
fn climbs(segment: &str) -> bool {
    if !segment.contains("..") {
        return false;
    }
    let plain = segment.replace("%2F", "/").replace("%2f", "/").replace('\\', "/");
    plain.contains('/') && plain.split('/').any(|part| part == "..")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::protocol::target;

    /// The path that an upstream gets behind a route that takes some segments off.
    fn passed(text: &str, taken: usize) -> Result<String> {
        let uri: Uri = text.parse().unwrap();
        let whole = target::reference(&uri, 8192).unwrap();
        let mut reference = whole.clone();
        for _ in 0..taken {
            reference = reference.split_first().unwrap().1;
        }
        path_and_query(&uri, &whole, &reference).map(|passed| passed.to_string())
    }

    #[test]
    fn a_path_is_passed_on_as_it_was_sent() {
        for text in ["/", "/a%20b/%41?q=%zz&r", "//a//b", "/a%2Fb", "/?x", "/caf%C3%A9/"] {
            assert_eq!(passed(text, 0).unwrap(), text);
        }
        for (text, expected) in [
            ("/api/users?q", "/users?q"),
            ("/api/", "/"),
            ("/api", "/"),
            ("/api/a%2Fb/%41", "/a%2Fb/%41"),
            ("//api/x", "/x"),
        ] {
            assert_eq!(passed(text, 1).unwrap(), expected, "{text}");
        }
        assert_eq!(passed("/a/b/c%20d", 2).unwrap(), "/c%20d");
    }

    #[test]
    fn dot_segments_are_gone() {
        assert_eq!(passed("/a/../b", 0).unwrap(), "/b");
        assert_eq!(passed("/x/../api/%2e%2e/api/c", 1).unwrap(), "/c");
        assert_eq!(passed("/.well-known/x%20y", 0).unwrap(), "/.well-known/x%20y");
        for text in ["/a/..%2fadmin", "/..%5cadmin", "/a/b%2F..%2F..%2Fadmin"] {
            assert_eq!(passed(text, 0).unwrap_err().kind, Kind::Invalid, "{text}");
        }
        assert_eq!(passed("/a..b%2Fc", 0).unwrap(), "/a..b%2Fc");
    }
}
