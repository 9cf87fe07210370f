//! For whom a server answers: the hosts that it is called by, and the pages of other origins that
//! may read its answers (the Fetch standard, section 3.2).

use crate::body::AnswerBody;
use crate::options::Limits;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response};

/// How long a browser remembers what it was allowed, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// What a page may see of an answer beside the few headers that every page may.
const SEEN: HeaderValue =
    HeaderValue::from_static("etag, link, location, retry-after, x-request-id");

/// Whether a host, perhaps with a port, is among those that are answered.
pub(crate) fn is_served(hosts: &[String], host: &[u8]) -> bool {
    if hosts.is_empty() {
        return true;
    }
    let name = without_port(host.trim_ascii());
    hosts.iter().any(|served| match served.strip_prefix("*.") {
        None => served.as_bytes().eq_ignore_ascii_case(name),
        Some(domain) => {
            let (domain, from) = (domain.as_bytes(), name.len().saturating_sub(domain.len()));
            from > 1 && name[from - 1] == b'.' && name[from..].eq_ignore_ascii_case(domain)
        }
    })
}

/// `[::1]:80` is `::1`, and `a.example:80` is `a.example`.
fn without_port(host: &[u8]) -> &[u8] {
    if let Some(rest) = host.strip_prefix(b"[") {
        return rest.split(|byte| *byte == b']').next().unwrap_or(rest);
    }
    host.split(|byte| *byte == b':').next().unwrap_or(host)
}

/// Whether an origin is named among those that are allowed.
pub(crate) fn is_named(origins: &[String], origin: &[u8]) -> bool {
    origins.iter().any(|named| named.as_bytes().eq_ignore_ascii_case(origin))
}

/// A request of a page that may come from another origin.
pub(crate) struct Asked {
    /// The origin, as it is answered: itself, or any; absent where it may not.
    allowed: Option<HeaderValue>,
    /// The origin was named, and may send its cookies.
    trusted: bool,
    /// The question before the request: which headers the page wants to send.
    before: Option<Option<HeaderValue>>,
}

impl Asked {
    /// What a request asks; `None` where no origins are allowed at all.
    pub(crate) fn by(method: &Method, headers: &HeaderMap, limits: &Limits) -> Option<Asked> {
        if limits.origins.is_empty() {
            return None;
        }
        let origin = headers.get(header::ORIGIN);
        let named = origin.filter(|origin| is_named(&limits.origins, origin.as_bytes()));
        let any = limits.origins.iter().any(|origin| origin == "*");
        let allowed = match (named, origin) {
            (Some(named), _) => Some(named.clone()),
            (None, Some(_)) if any => Some(HeaderValue::from_static("*")),
            _ => None,
        };
        let is_before = *method == Method::OPTIONS
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let wanted = || headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        Some(Asked {
            trusted: named.is_some() && limits.credentials,
            allowed,
            before: is_before.then(wanted),
        })
    }

    /// Says in the answer what the page may.
    pub(crate) fn answer(self, response: &mut Response<AnswerBody>) {
        let headers = response.headers_mut();
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

/// The answer depends on the origin: caches must know.
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

    #[test]
    fn hosts_are_compared_without_case_and_port() {
        let hosts: Vec<String> = ["a.example", "::1", "*.b.example"].map(String::from).into();
        for served in
            ["a.example", "A.Example:80", "[::1]:8080", "[::1]", "x.b.example", "x.y.B.example:1"]
        {
            assert!(is_served(&hosts, served.as_bytes()), "{served}");
        }
        for other in
            ["b.example", "xb.example", ".b.example", "evil.example", "a.example.evil", "", "[::2]"]
        {
            assert!(!is_served(&hosts, other.as_bytes()), "{other}");
        }
        assert!(is_served(&[], b"anything"));
    }

    fn asked(
        origins: &[&str],
        credentials: bool,
        fields: &[(&'static str, &'static str)],
    ) -> HeaderMap {
        let limits = Limits {
            origins: origins.iter().map(ToString::to_string).collect(),
            credentials,
            ..Limits::default()
        };
        let is_before = fields.iter().any(|(name, _)| name.starts_with("access-control"));
        let method = if is_before { Method::OPTIONS } else { Method::GET };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let meter = std::rc::Rc::new(crate::meter::Meter::new(std::time::Instant::now()));
        let mut response = Response::new(AnswerBody::empty(&meter));
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, PUT"));
        if let Some(asked) = Asked::by(&method, &headers, &limits) {
            asked.answer(&mut response);
        }
        response.headers().clone()
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
