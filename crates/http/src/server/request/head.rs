//! Checks of a request head that are common to HTTP/1.1 and HTTP/2 (RFC 9112).

use crate::protocol::fields;
use crate::server::options::Limits;
use crate::server::request::origin;
use crate::server::response::problem::Problem;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode, Uri, Version};

/// The message of 431.
pub(crate) const LONG_HEAD: &str = "the header fields are too many or too long";

/// Facts of a head, found in one pass over its fields.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// Conditional request (`If-…`).
    pub(crate) conditional: bool,
    /// Range request (`Range`).
    pub(crate) ranged: bool,
    /// WebSocket handshake (RFC 6455 section 4.1).
    pub(crate) upgrades: bool,
    /// `Content-Length`.
    pub(crate) length: Option<u64>,
    /// Chunked body.
    pub(crate) chunked: bool,
}

/// Checks what the parsers of both versions leave open: the `Host` field, and expectations.
pub(crate) fn check(
    method: &Method,
    uri: &Uri,
    version: Version,
    headers: &HeaderMap,
) -> Result<Head, Problem> {
    let mut head = Head::default();
    let (mut hosts, mut is_empty) = (0, false);
    for (name, value) in headers {
        if name == header::HOST {
            hosts += 1;
            is_empty = value.as_bytes().trim_ascii().is_empty();
            if !is_empty && !is_host(value.as_bytes()) {
                return Err(Problem::bad("the Host field is malformed").closing());
            }
        } else if name == header::CONTENT_LENGTH {
            // A malformed one was refused before.
            head.length = value.to_str().ok().and_then(|text| text.trim().parse().ok());
        } else if name == header::TRANSFER_ENCODING {
            head.chunked = true;
        } else if name == header::EXPECT {
            if !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"100-continue") {
                return Err(Problem::new(StatusCode::EXPECTATION_FAILED).closing());
            }
        } else if name == header::UPGRADE {
            head.upgrades = true;
        } else if name == header::IF_NONE_MATCH
            || name == header::IF_MODIFIED_SINCE
            || name == header::IF_MATCH
            || name == header::IF_UNMODIFIED_SINCE
        {
            head.conditional = true;
        } else if name == header::RANGE {
            head.ranged = true;
        }
    }
    head.upgrades = head.upgrades
        && version == Version::HTTP_11
        && fields::list(headers, header::UPGRADE, b"websocket")
        && fields::list(headers, header::CONNECTION, b"upgrade");
    if hosts > 1 {
        return Err(Problem::bad("there is more than one Host field").closing());
    }
    if hosts == 0 && version == Version::HTTP_11 {
        return Err(Problem::bad("there is no Host field").closing());
    }
    let Some(authority) = uri.authority() else {
        // An `http` URI has a host (RFC 9110 section 4.2.1); `*` is none.
        return match is_empty && uri.path() != "*" {
            true => Err(Problem::bad("the Host field is empty").closing()),
            false => Ok(head),
        };
    };
    let authority = authority.as_str().as_bytes();
    if *method != Method::CONNECT && !is_host(authority) {
        return Err(Problem::bad("the authority of the target is malformed").closing());
    }
    // In HTTP/1.1 the target overrides the field (RFC 9112 section 3.2.2).
    if version == Version::HTTP_2
        && let Some(host) = headers.get(header::HOST)
        && !origin::is_same_host(authority, host.as_bytes())
    {
        return Err(Problem::bad("the Host field and :authority name different hosts"));
    }
    Ok(head)
}

/// Enforces the header limits for an HTTP/2 head, which the HTTP/1.1 parser enforces itself. Sizes
/// are those of the equivalent lines.
pub(crate) fn check_section(headers: &HeaderMap, limits: &Limits) -> Result<(), Problem> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + ": ".len() + value.len() + "\r\n".len()
    };
    let is_too_much = headers.len() > limits.header_fields
        || headers.iter().map(line).sum::<usize>() > limits.header_section;
    match is_too_much {
        true => Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE).because(LONG_HEAD)),
        false => Ok(()),
    }
}

/// Whether this is `host [":" port]` (RFC 9110 section 7.2), without lists and credentials.
fn is_host(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    if let Some(rest) = text.strip_prefix(b"[") {
        let Some(end) = rest.iter().position(|&byte| byte == b']') else { return false };
        let (address, port) = (&rest[..end], &rest[end + 1..]);
        let is_address =
            std::str::from_utf8(address).is_ok_and(|a| a.parse::<std::net::Ipv6Addr>().is_ok());
        return is_address && (port.is_empty() || port.strip_prefix(b":").is_some_and(is_port));
    }
    match text.iter().position(|byte| !NAME[usize::from(*byte)]) {
        None => !text.is_empty(),
        Some(at) => at > 0 && text[at] == b':' && is_port(&text[at + 1..]),
    }
}

/// The bytes of a registered name (RFC 3986 section 3.2.2) except the comma: lists of hosts are
/// used to smuggle requests past a proxy.
static NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~%!$&'()*+;=";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether this is a port or empty, which means the default.
fn is_port(text: &[u8]) -> bool {
    text.is_empty() || fields::number(text).is_some_and(|port| u16::try_from(port).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for good in
            ["a.example", "a:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "h:65535", "a_b", "h:"]
        {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a, b",
            "a,b",
            "u@h",
            "a b",
            "[::1",
            "[x]",
            "[::1]x",
            "h:8o",
            "h:1:2",
            "h/x",
            "h:65536",
            "h:99999",
            "[::1]:70000",
            "h:+1",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }
}
