//! References as URLs, and redirects resolved against them (RFC 3986 section 5).

use crate::protocol::target::{escape_path, plain_path, remove_dot_segments};
use bytes::Bytes;
use hyper::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use runnel_store::{Error, Kind, Reference, Result};

/// Characters escaped in a query; an existing escape stays.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// Bytes of a URL beyond the parts of a reference: `://`, a slash, a question mark.
const SPARE: usize = 5;

/// The URL of a reference.
pub(crate) fn target(reference: &Reference) -> Result<Uri> {
    let scheme = match reference.scheme() {
        None | Some("http" | "ws") => "http",
        Some("https" | "wss") => "https",
        Some(_) => return invalid("only http: and https: can be reached here"),
    };
    let Some(rest) = reference.path().strip_prefix("//") else {
        return invalid(
            "a web reference begins with two slashes and a host, as in http://host/path",
        );
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    if authority.contains('@') {
        return invalid("a user in the address is not sent: give an Authorization header instead");
    }
    let query = reference.query();
    let length = scheme.len() + rest.len() + query.map_or(0, str::len) + SPARE;
    let mut url = String::with_capacity(length);
    url.extend([scheme, "://", authority]);
    match path.bytes().all(is_plain) {
        true => url.push_str(path),
        false => url.push_str(&escape_path(path)),
    }
    if let Some(query) = query {
        url.push('?');
        url.extend(utf8_percent_encode(query, QUERY));
    }
    match Uri::from_maybe_shared(Bytes::from(url)) {
        Ok(uri) if uri.host().is_some_and(|host| !host.is_empty()) => Ok(uri),
        _ => invalid("the host or the path of the reference cannot be part of a URL"),
    }
}

/// Whether a byte of a path needs no escaping. Most paths consist of such bytes.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~')
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::new(Kind::Invalid, message))
}

/// A URL as a reference.
pub(crate) fn reference(uri: &Uri) -> Option<Reference> {
    let path = plain_path(uri.path()).unwrap_or_else(|| uri.path().to_string());
    let reference = Reference::from_path(format!("//{}{path}", uri.authority()?))
        .with_scheme(uri.scheme_str()?);
    Some(match uri.query() {
        Some(query) => reference.with_query(query),
        None => reference,
    })
}

/// The target of a `Location`, resolved against the URL of the request.
pub(crate) fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let url = if has_scheme(location) {
        location.to_string()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if let Some(query) = location.strip_prefix('?') {
        format!("{scheme}://{authority}{}?{query}", base.path())
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (location, String::new()),
        };
        let path = remove_dot_segments(&format!("{folder}/{path}"));
        format!("{scheme}://{authority}{path}{query}")
    };
    let uri: Uri = utf8_percent_encode(&url, QUERY).to_string().parse().ok()?;
    let reachable = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
    reachable.then_some(uri)
}

fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Whether two URLs have the same origin: scheme, host and port.
pub(crate) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
    };
    let same_host = match (one.host(), other.host()) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => false,
    };
    one.scheme_str() == other.scheme_str() && same_host && port(one) == port(other)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<String> {
        target(&Reference::parse(text)).map(|uri| uri.to_string())
    }

    #[test]
    fn references_are_urls() {
        for (text, expected) in [
            ("//a.example/x", "http://a.example/x"),
            ("//a.example", "http://a.example/"),
            ("//a:80/b c/ü?q=a b&r=%20", "http://a:80/b%20c/%C3%BC?q=a%20b&r=%20"),
            ("//a/50%/a%20b/a%2Fb", "http://a/50%25/a%20b/a%2Fb"),
            ("//[::1]:8080/", "http://[::1]:8080/"),
        ] {
            assert_eq!(url(text).unwrap(), expected);
        }
        let secure = Reference::parse("//a/x").with_scheme("https");
        assert_eq!(target(&secure).unwrap().to_string(), "https://a/x");
        for text in ["a/x", "/x", "//", "///x", "//u:p@a/x", "//a b/x", ""] {
            assert_eq!(url(text).unwrap_err().kind, Kind::Invalid, "{text}");
        }
        let odd = Reference::parse("//a/x").with_scheme("ftp");
        assert_eq!(target(&odd).unwrap_err().kind, Kind::Invalid);
    }

    #[test]
    fn locations_are_resolved() {
        let base: Uri = "http://a.example:81/b/c?d".parse().unwrap();
        for (location, expected) in [
            ("https://x/y", "https://x/y"),
            ("//x/y", "http://x/y"),
            ("/y?z#f", "http://a.example:81/y?z"),
            ("y", "http://a.example:81/b/y"),
            ("../y?u=/../", "http://a.example:81/y?u=/../"),
            ("?q", "http://a.example:81/b/c?q"),
            ("/ü b", "http://a.example:81/%C3%BC%20b"),
        ] {
            assert_eq!(resolve(&base, location).unwrap().to_string(), expected);
        }
        assert_eq!(resolve(&base, "ftp://x/"), None);
        assert_eq!(resolve(&base, "javascript:alert(1)"), None);
    }

    #[test]
    fn origins() {
        let same =
            |one: &str, other: &str| same_origin(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("http://a/x", "http://A:80/y"));
        assert!(!same("http://a/x", "https://a/x"));
        assert!(!same("http://a/x", "http://a:81/x"));
        assert!(!same("http://a/x", "http://b/x"));
    }

    #[test]
    fn urls_are_references() {
        let uri: Uri = "http://a:81/b%20c?d".parse().unwrap();
        let reference = reference(&uri).unwrap();
        assert_eq!(reference.to_string(), "http://a:81/b c?d");
        assert_eq!((reference.path(), reference.query()), ("//a:81/b c", Some("d")));
    }
}
