//! Cross-origin reads (CORS, Fetch standard section 3.2), and protection against
//! cross-site request forgery.

use crate::server::options::AccessPolicy;
use hyper::Method;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Lifetime of a preflight response in a browser's cache, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// Headers that a page may read beside the CORS-safelisted ones.
const SEEN: HeaderValue =
    HeaderValue::from_static("etag, link, location, retry-after, x-request-id");

/// The origin relation that the browser itself reports (Fetch Metadata, section 2.4).
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Schemes of `Authorization` that a browser adds by itself.
const AMBIENT: [&[u8]; 4] = [b"basic", b"digest", b"negotiate", b"ntlm"];

/// Whether an origin is in the list.
pub(crate) fn is_named(origins: &[String], origin: &[u8]) -> bool {
    origins.iter().any(|named| named.as_bytes().eq_ignore_ascii_case(origin))
}

/// Whether two hosts, perhaps with ports, are equal. Default ports count as absent: behind a proxy
/// that terminates TLS the scheme is unknown.
pub(crate) fn is_same_host(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (without_default_port(one), without_default_port(other));
    !one.is_empty() && one.eq_ignore_ascii_case(other)
}

fn without_default_port(host: &[u8]) -> &[u8] {
    let host = host.trim_ascii();
    let ports: [&[u8]; 3] = [b":80", b":443", b":"];
    ports.iter().find_map(|port| host.strip_suffix(*port)).unwrap_or(host)
}

/// Whether an origin is that of the server under this host. `null` is not. Schemes are not
/// compared: behind a proxy a server does not know its own.
pub(crate) fn is_own(origin: &[u8], host: Option<&[u8]>) -> bool {
    let Some(at) = memchr::memmem::find(origin, b"://") else { return false };
    host.is_some_and(|host| is_same_host(&origin[at + 3..], host))
}

/// Whether a write comes from a page of another, unlisted origin: the page would write with the
/// cookies of its visitor, or from inside the visitor's network.
///
/// The rules are those of `CrossOriginProtection` of Go 1.25. Safe methods pass, and so do requests
/// of clients other than browsers, which have neither field.
pub(crate) fn is_foreign_write(
    method: &Method,
    headers: &HeaderMap,
    host: Option<&[u8]>,
    access: &AccessPolicy,
) -> bool {
    if method.is_safe() {
        return false;
    }
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let is_own = match headers.get(SITE).map(HeaderValue::as_bytes) {
        Some(b"same-origin" | b"none") => true,
        Some(b"cross-site") => false,
        // Another host of the same site, or an unknown word.
        Some(_) => origin.is_some_and(|origin| is_own(origin, host)),
        None => origin.is_none_or(|origin| is_own(origin, host)),
    };
    !is_own && !may_write(&access.allowed_origins, origin, headers)
}

/// Whether a browser writes for a page of another origin. For handlers that let everybody write, such as
/// a server for this machine alone: a page could otherwise reach it through its visitor.
pub fn is_cross_origin_write(method: &Method, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    is_foreign_write(method, headers, host, &AccessPolicy::default())
}

/// Whether pages of an origin may write: when listed, or when `*` covers it and the request has no
/// ambient credentials.
fn may_write(origins: &[String], origin: Option<&[u8]>, headers: &HeaderMap) -> bool {
    if origin.is_some_and(|origin| is_named(origins, origin)) {
        return true;
    }
    origins.iter().any(|origin| origin == "*") && !has_ambient_credentials(headers)
}

/// Whether a request has credentials that a browser adds without the page knowing them. A token
/// that a page has to know is not ambient.
fn has_ambient_credentials(headers: &HeaderMap) -> bool {
    let is_ambient = |value: &HeaderValue| {
        let scheme = value.as_bytes().trim_ascii_start().split(|byte| *byte == b' ').next();
        scheme.is_none_or(|scheme| AMBIENT.iter().any(|one| one.eq_ignore_ascii_case(scheme)))
    };
    headers.contains_key(header::COOKIE)
        || headers.get_all(header::AUTHORIZATION).iter().any(is_ambient)
}

/// A cross-origin request.
pub(crate) struct CrossOriginRequest {
    /// The allowed origin: itself, or any; `None` when denied.
    allowed: Option<HeaderValue>,
    /// The origin is listed, and may send cookies.
    trusted: bool,
    /// A preflight, with the headers that the page wants to send.
    before: Option<Option<HeaderValue>>,
}

impl CrossOriginRequest {
    /// The cross-origin aspects of a request; `None` without allowed origins.
    pub(crate) fn by(
        method: &Method,
        headers: &HeaderMap,
        access: &AccessPolicy,
    ) -> Option<CrossOriginRequest> {
        if access.allowed_origins.is_empty() {
            return None;
        }
        let origin = headers.get(header::ORIGIN);
        let named = origin.filter(|origin| is_named(&access.allowed_origins, origin.as_bytes()));
        let any = access.allowed_origins.iter().any(|origin| origin == "*");
        let allowed = match (named, origin) {
            (Some(named), _) => Some(named.clone()),
            (None, Some(_)) if any => Some(HeaderValue::from_static("*")),
            _ => None,
        };
        let is_before = *method == Method::OPTIONS
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let wanted = || headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        Some(CrossOriginRequest {
            trusted: named.is_some() && access.allow_credentials,
            allowed,
            before: is_before.then(wanted),
        })
    }

    /// Adds the CORS headers to the response.
    pub(crate) fn answer(self, headers: &mut HeaderMap) {
        add_vary(headers);
        let Some(allowed) = self.allowed else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if self.trusted {
            let yes = HeaderValue::from_static("true");
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, yes);
        }
        let Some(wanted) = self.before else {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SEEN);
            return;
        };
        if let Some(methods) = headers.get(header::ALLOW).cloned() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        if let Some(wanted) = wanted {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    }
}

/// The response varies by origin: tells caches.
fn add_vary(headers: &mut HeaderMap) {
    let old = headers.get(header::VARY).and_then(|vary| vary.to_str().ok());
    let new = old.map_or_else(|| "origin".to_string(), |old| format!("{old}, origin"));
    if let Ok(new) = HeaderValue::try_from(new) {
        headers.insert(header::VARY, new);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(
        origins: &[&str],
        credentials: bool,
        fields: &[(&'static str, &'static str)],
    ) -> HeaderMap {
        let access = AccessPolicy {
            allowed_origins: origins.iter().map(ToString::to_string).collect(),
            allow_credentials: credentials,
            ..AccessPolicy::default()
        };
        let is_before = fields.iter().any(|(name, _)| name.starts_with("access-control"));
        let method = if is_before { Method::OPTIONS } else { Method::GET };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let mut answered = HeaderMap::new();
        answered.insert(header::ALLOW, HeaderValue::from_static("GET, PUT"));
        if let Some(asked) = CrossOriginRequest::by(&method, &headers, &access) {
            asked.answer(&mut answered);
        }
        answered
    }

    #[test]
    fn a_named_origin_is_trusted_and_any_origin_never_is() {
        let origin = [("origin", "https://a.example")];
        let headers = asked(&["https://a.example", "*"], true, &origin);
        assert_eq!(headers["access-control-allow-origin"], "https://a.example");
        assert_eq!(headers["access-control-allow-credentials"], "true");
        let headers = asked(&["*"], true, &origin);
        assert_eq!(headers["access-control-allow-origin"], "*");
        assert!(!headers.contains_key("access-control-allow-credentials"));
        let headers = asked(&["https://b.example"], true, &origin);
        assert!(!headers.contains_key("access-control-allow-origin"));
        assert_eq!(headers["vary"], "origin");
        assert!(!asked(&[], true, &origin).contains_key("vary"));
    }

    #[test]
    fn default_ports_count_as_absent() {
        for (one, other) in [
            ("a.example", "A.example"),
            ("a.example:443", "a.example:80"),
            ("a.example:", "a.example"),
            ("[::1]:80", "[::1]"),
            ("a.example:8080", " a.example:8080"),
        ] {
            assert!(is_same_host(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
        for (one, other) in
            [("a.example", "b.example"), ("a.example:8080", "a.example"), ("", ""), (":80", "")]
        {
            assert!(!is_same_host(one.as_bytes(), other.as_bytes()), "{one} {other}");
        }
    }

    fn is_refused(origins: &[&str], fields: &[(&'static str, &'static str)]) -> bool {
        let origins = origins.iter().map(ToString::to_string).collect();
        let access = AccessPolicy { allowed_origins: origins, ..AccessPolicy::default() };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let refused =
            |method| is_foreign_write(&method, &headers, Some(b"a.example:8080"), &access);
        for safe in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            assert!(!refused(safe), "{fields:?}");
        }
        let unsafe_ones = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let refusals = unsafe_ones.into_iter().filter(|method| refused(method.clone())).count();
        assert!(matches!(refusals, 0 | 4), "{fields:?}");
        refusals == 4
    }

    #[test]
    fn pages_of_other_origins_may_not_write() {
        for fields in [
            &[][..],
            &[("origin", "https://a.example:8080")],
            &[("origin", "http://A.Example:8080")],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "same-origin"), ("origin", "null")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "same-site"), ("origin", "http://a.example:8080")],
        ] {
            assert!(!is_refused(&[], fields), "{fields:?}");
        }
        for fields in [
            &[("origin", "https://evil.example")][..],
            &[("origin", "http://a.example")],
            &[("origin", "http://a.example:8080.evil.example")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "cross-site"), ("origin", "http://a.example:8080")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "https://b.a.example")],
            &[("sec-fetch-site", "unknown")],
        ] {
            assert!(is_refused(&[], fields), "{fields:?}");
            assert!(is_refused(&["https://named.example"], fields), "{fields:?}");
            assert!(!is_refused(&["*"], fields), "{fields:?}");
        }
    }

    #[test]
    fn a_named_origin_may_write_and_any_origin_without_credentials() {
        let named = [("origin", "https://b.example"), ("sec-fetch-site", "cross-site")];
        assert!(!is_refused(&["https://b.example"], &named));
        for (name, value, is_ambient) in [
            ("cookie", "s=1", true),
            ("authorization", "Basic YTpi", true),
            ("authorization", "negotiate x", true),
            ("authorization", "Bearer x", false),
            ("authorization", "Token x", false),
        ] {
            let fields = [named[0], (name, value)];
            assert_eq!(is_refused(&["*"], &fields), is_ambient, "{name} {value}");
            assert!(!is_refused(&["*", "https://b.example"], &fields), "{name} {value}");
        }
    }

    #[test]
    fn the_question_before_is_answered() {
        let fields = [
            ("origin", "https://a.example"),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "content-type, x-a"),
        ];
        let headers = asked(&["https://a.example"], false, &fields);
        assert_eq!(headers["access-control-allow-methods"], "GET, PUT");
        assert_eq!(headers["access-control-allow-headers"], "content-type, x-a");
        assert_eq!(headers["access-control-max-age"], "600");
        assert!(!headers.contains_key("access-control-expose-headers"));
    }
}
