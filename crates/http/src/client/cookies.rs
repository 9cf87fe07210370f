//! Cookies of a client (RFC 6265), in memory. A cookie goes to the host that has set it, and to no other: without
//! a list of public suffixes, no `Domain` is known to belong to one owner.

use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderValue};
use std::cell::RefCell;
use std::time::{Duration, SystemTime};

/// The longest name and value together, in bytes.
const LONGEST: usize = 4096;
/// The longest value of an attribute, in bytes.
const LONGEST_ATTRIBUTE: usize = 1024;
/// The most cookies of a host; beyond, the oldest one leaves.
const MOST_OF_HOST: usize = 50;
/// The most cookies of a client; beyond, the oldest one leaves.
const MOST: usize = 1000;

/// The cookies of a client, the oldest first.
#[derive(Default)]
pub(crate) struct CookieJar(RefCell<Vec<Cookie>>);

#[derive(Clone, Debug, PartialEq)]
struct Cookie {
    name: String,
    value: String,
    host: String,
    path: String,
    is_secure: bool,
    /// When it ends; none for the end of the program.
    expires: Option<SystemTime>,
}

impl CookieJar {
    /// The `Cookie` header of a request.
    pub(crate) fn header(&self, target: &Uri) -> Option<HeaderValue> {
        self.header_at(target, SystemTime::now())
    }

    fn header_at(&self, target: &Uri, now: SystemTime) -> Option<HeaderValue> {
        let mut cookies = self.0.borrow_mut();
        cookies.retain(|cookie| cookie.expires.is_none_or(|end| end > now));
        let mut sent: Vec<&Cookie> =
            cookies.iter().filter(|cookie| cookie.is_for(target)).collect();
        // Longer paths come first (section 5.4).
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<_> =
            sent.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        (!pairs.is_empty()).then(|| HeaderValue::try_from(pairs.join("; ")).ok()).flatten()
    }

    /// Keeps the cookies that a response sets.
    pub(crate) fn keep(&self, target: &Uri, headers: &HeaderMap) {
        self.keep_at(target, headers, SystemTime::now());
    }

    fn keep_at(&self, target: &Uri, headers: &HeaderMap, now: SystemTime) {
        for line in headers.get_all(header::SET_COOKIE) {
            let text = line.to_str().ok();
            if let Some(cookie) = text.and_then(|text| Cookie::parse(text, target, now)) {
                self.put(cookie, now);
            }
        }
    }

    fn put(&self, cookie: Cookie, now: SystemTime) {
        let mut cookies = self.0.borrow_mut();
        cookies.retain(|one| !one.replaces(&cookie) && one.expires.is_none_or(|end| end > now));
        if cookie.expires.is_some_and(|end| end <= now) {
            return;
        }
        let of_host = cookies.iter().filter(|one| one.host == cookie.host).count();
        if of_host >= MOST_OF_HOST {
            let oldest = cookies.iter().position(|one| one.host == cookie.host);
            oldest.map(|at| cookies.remove(at));
        } else if cookies.len() >= MOST {
            cookies.remove(0);
        }
        cookies.push(cookie);
    }
}

impl Cookie {
    fn parse(text: &str, target: &Uri, now: SystemTime) -> Option<Cookie> {
        let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.len() + value.len() > LONGEST {
            return None;
        }
        let host = target.host()?.to_ascii_lowercase();
        let is_encrypted = target.scheme_str() == Some("https");
        let mut cookie = Cookie {
            name: name.to_string(),
            value: value.to_string(),
            path: default_path(target.path()).to_string(),
            host,
            is_secure: false,
            expires: None,
        };
        let (mut has_age, mut has_path) = (false, false);
        for attribute in attributes.split(';') {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let value = value.trim();
            if value.len() > LONGEST_ATTRIBUTE {
                continue;
            }
            match key.trim().to_ascii_lowercase().as_str() {
                "secure" => cookie.is_secure = true,
                "path" if value.starts_with('/') => {
                    (cookie.path, has_path) = (value.to_string(), value == "/");
                }
                "domain" if !is_within(&cookie.host, value) => return None,
                "max-age" => {
                    let seconds: i64 = value.parse().ok()?;
                    let age = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
                    has_age = true;
                    cookie.expires = now.checked_add(age);
                }
                "expires" if !has_age => cookie.expires = date(value).or(cookie.expires),
                _ => {}
            }
        }
        let is_host = cookie.name.starts_with("__Host-");
        let needs_secure = is_host || cookie.name.starts_with("__Secure-");
        let is_refused = cookie.is_secure && !is_encrypted
            || needs_secure && !cookie.is_secure
            || is_host && !has_path;
        (!is_refused).then_some(cookie)
    }

    fn replaces(&self, other: &Cookie) -> bool {
        (&self.name, &self.host, &self.path) == (&other.name, &other.host, &other.path)
    }

    fn is_for(&self, target: &Uri) -> bool {
        let is_host = target.host().is_some_and(|host| host.eq_ignore_ascii_case(&self.host));
        let may_see = !self.is_secure || target.scheme_str() == Some("https");
        is_host && may_see && covers(&self.path, target.path())
    }
}

/// Whether a host belongs to a `Domain`.
fn is_within(host: &str, domain: &str) -> bool {
    let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
    let rest = host.strip_suffix(domain.as_str());
    domain.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Section 5.1.4.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(last) => &path[..last],
    }
}

/// Section 5.1.4: whether a path lies at or below that of a cookie.
fn covers(own: &str, path: &str) -> bool {
    let rest = path.strip_prefix(own);
    rest.is_some_and(|rest| rest.is_empty() || own.ends_with('/') || rest.starts_with('/'))
}

/// A date of HTTP, or one with dashes as old servers write it.
fn date(text: &str) -> Option<SystemTime> {
    let parse = |text: &str| httpdate::parse_http_date(text).ok();
    parse(text).or_else(|| parse(&text.replace('-', " ")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn jar(target: &str, lines: &[&str]) -> CookieJar {
        let jar = CookieJar::default();
        keep(&jar, target, lines);
        jar
    }

    fn keep(jar: &CookieJar, target: &str, lines: &[&str]) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::SET_COOKIE, HeaderValue::from_str(line).unwrap());
        }
        jar.keep(&target.parse().unwrap(), &headers);
    }

    fn sent(jar: &CookieJar, target: &str) -> String {
        let header = jar.header(&target.parse().unwrap());
        header.map_or_else(String::new, |header| header.to_str().unwrap().to_string())
    }

    #[test]
    fn cookies_go_to_the_host_and_the_path_that_set_them() {
        let jar = jar("https://a.example/x/y", &["a=1", "b=2; Path=/", "c=3; Path=/x/y/z"]);
        assert_eq!(sent(&jar, "https://A.example/x/y/z"), "c=3; a=1; b=2");
        assert_eq!(sent(&jar, "https://a.example/x/y"), "a=1; b=2");
        assert_eq!(sent(&jar, "https://a.example/xy"), "b=2");
        for other in ["https://b.example/x", "https://sub.a.example/x", "https://example/x"] {
            assert_eq!(sent(&jar, other), "", "{other}");
        }
    }

    #[test]
    fn a_domain_never_leads_to_another_host() {
        let jar = jar(
            "https://www.a.example/",
            &["a=1; Domain=a.example", "b=2; Domain=.www.a.example", "c=3; Domain=b.example"],
        );
        assert_eq!(sent(&jar, "https://www.a.example/"), "a=1; b=2");
        assert_eq!(sent(&jar, "https://a.example/"), "");
        keep(&jar, "https://xa.example/", &["d=4; Domain=a.example"]);
        assert_eq!(sent(&jar, "https://xa.example/"), "");
    }

    #[test]
    fn secure_cookies_are_encrypted() {
        let jar = jar("https://a/", &["a=1; Secure", "b=2"]);
        assert_eq!(sent(&jar, "http://a/"), "b=2");
        keep(&jar, "http://a/", &["c=3; Secure"]);
        assert_eq!(sent(&jar, "https://a/"), "a=1; b=2");
        let prefixed = ["__Secure-a=1", "__Host-b=1; Secure", "__Host-c=1; Secure; Path=/"];
        keep(&jar, "https://b/x/y", &prefixed);
        assert_eq!(sent(&jar, "https://b/x/y"), "__Host-c=1");
    }

    #[test]
    fn cookies_end() {
        let lines = [
            "a=1; Max-Age=0",
            "b=1; Expires=Wed, 21-Oct-2015 07:28:00 GMT",
            "c=1; Max-Age=60; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
            "d=1; Expires=Wed, 21 Oct 2093 07:28:00 GMT",
            "e=1; Expires=nonsense",
        ];
        let jar = jar("http://a/", &lines);
        assert_eq!(sent(&jar, "http://a/"), "c=1; d=1; e=1");
        let later = SystemTime::now() + Duration::from_secs(61);
        let header = jar.header_at(&"http://a/".parse().unwrap(), later).unwrap();
        assert_eq!(header, "d=1; e=1");
        keep(&jar, "http://a/", &["d=; Max-Age=-1"]);
        assert_eq!(sent(&jar, "http://a/"), "e=1");
        keep(&jar, "http://a/", &["e=2"]);
        assert_eq!(sent(&jar, "http://a/"), "e=2");
    }

    #[test]
    fn a_jar_is_bounded() {
        let long = format!("a={}", "x".repeat(LONGEST));
        let jar = jar("http://a/", &[&long, "=x", "x", ""]);
        assert_eq!(sent(&jar, "http://a/"), "");
        for number in 0..MOST_OF_HOST + 1 {
            keep(&jar, "http://a/", &[&format!("n{number}=1")]);
        }
        let all = sent(&jar, "http://a/");
        assert_eq!(all.split("; ").count(), MOST_OF_HOST);
        assert!(!all.contains("n0=") && all.contains("n50="));
        for number in 0..MOST {
            keep(&jar, &format!("http://h{number}/"), &["a=1"]);
        }
        assert_eq!(jar.0.borrow().len(), MOST);
        assert_eq!(sent(&jar, "http://h0/"), "a=1");
    }
}
