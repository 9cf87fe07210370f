//! The path and query that an upstream gets: what the stores in front of the proxy have compared, in
//! the spelling of the client where that is the same.

use crate::protocol::target::escape_path;
use hyper::Uri;
use hyper::http::uri::PathAndQuery;
use runnel_store::{Error, Kind, Reference, Result, climbs, encoded_slash, has_encoded_slash};

/// The path and query of a request that has reached the proxy under this reference. `whole` is its
/// reference before: what a route took off at the front is taken off the path as it was sent.
///
/// # Errors
/// [`Kind::Invalid`]: a path that some upstream reads as another one than the stores in front of the
/// proxy did. An escaped slash or a backslash ends a segment for servers that decode first; `;` ends a
/// name for those with parameters in segments, so that `..;` is `..` there. Unless `encoded_slashes`
/// says that the upstream takes them literally; no upstream gets `..` beside one of them.
pub(super) fn path_and_query(
    uri: &Uri,
    whole: &Reference,
    reference: &Reference,
    encoded_slashes: bool,
) -> Result<PathAndQuery> {
    let path = reference.path();
    let has_semicolon = path.as_bytes().contains(&b';');
    let has_slash = has_encoded_slash(path);
    if (has_slash || has_semicolon) && path.contains("..") {
        let is_two_dots = |segment: &str| climbs(segment) || segment.starts_with("..;");
        if reference.segments().any(is_two_dots) {
            let message = "the path contains `..` beside an escaped slash or a semicolon";
            return Err(Error::malformed_reference(message));
        }
    }
    if has_slash && !encoded_slashes {
        return Err(encoded_slash("Proxy"));
    }
    if has_semicolon && !encoded_slashes {
        return Err(Error::malformed_reference(
            "the path has a `;`, which servers read differently; `encodedSlashes: true` of the \
             Proxy passes it on",
        ));
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
        path_and_query(&uri, &whole, &reference, true).map(|passed| passed.to_string())
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
        for text in ["/..;/admin", "/a/..;x=1/admin", "/..%3B/admin", "/..;%2Fadmin"] {
            assert_eq!(passed(text, 0).unwrap_err().kind, Kind::Invalid, "{text}");
        }
        assert_eq!(passed("/a..b%2Fc", 0).unwrap(), "/a..b%2Fc");
    }

    #[test]
    fn a_path_with_two_readings_is_refused() {
        let passed = |text: &str| {
            let uri: Uri = text.parse().unwrap();
            let whole = target::reference(&uri, 8192).unwrap();
            path_and_query(&uri, &whole, &whole, false).map(|passed| passed.to_string())
        };
        for text in ["/a%2Fb", "/a%2fb", "/a%5Cb", "/a\\b", "/a;b", "/a%3Bb", "/%2F"] {
            assert_eq!(passed(text).unwrap_err().kind, Kind::Invalid, "{text}");
        }
        for text in ["/a%252Fb", "/a%20b/%41?q=%2F;\\", "/50%25", "/a:b,c"] {
            assert_eq!(passed(text).unwrap(), text);
        }
    }
}
