//! What the head of a request must look like before anything else happens (RFC 9112).

use crate::fields;
use crate::problem::Problem;
use hyper::header;
use hyper::{HeaderMap, Method, StatusCode, Uri, Version};

/// What one pass over the header fields found.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The request has conditions (`If-…`).
    pub(crate) conditional: bool,
    /// The request asks for a part (`Range`).
    pub(crate) ranged: bool,
    /// The request asks for a WebSocket (RFC 6455 section 4.1).
    pub(crate) upgrades: bool,
    /// How long the body says it is.
    pub(crate) length: Option<u64>,
    /// The body comes in chunks.
    pub(crate) chunked: bool,
}

/// Checks what both versions of the protocol leave to this: the `Host` field, and expectations.
pub(crate) fn check(
    method: &Method,
    uri: &Uri,
    version: Version,
    headers: &HeaderMap,
) -> Result<Head, Problem> {
    let mut head = Head::default();
    let mut hosts = 0;
    for (name, value) in headers {
        if name == header::HOST {
            hosts += 1;
            if !is_host(value.as_bytes()) {
                return Err(Problem::bad("the Host field is malformed").closing());
            }
        } else if name == header::CONTENT_LENGTH {
            // One that is malformed was refused before.
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
    if let Some(authority) = uri.authority()
        && *method != Method::CONNECT
        && !is_host(authority.as_str().as_bytes())
    {
        return Err(Problem::bad("the authority of the target is malformed").closing());
    }
    Ok(head)
}

/// Whether this is `host [":" port]` (RFC 9110 section 7.2). Lists and names of users are not.
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
        None => true,
        Some(at) => text[at] == b':' && is_port(&text[at + 1..]),
    }
}

/// The bytes of a registered name (RFC 3986 section 3.2.2), but for the comma: lists of hosts
/// are how requests are smuggled past a proxy.
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

fn is_port(text: &[u8]) -> bool {
    text.len() <= 5 && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for good in ["a.example", "a:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "", "a_b", "h:"] {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in ["a, b", "a,b", "u@h", "a b", "[::1", "[x]", "[::1]x", "h:8o", "h:1:2", "h/x"] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }
}
