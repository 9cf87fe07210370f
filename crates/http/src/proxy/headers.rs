//! The header fields of a relayed message: all but those of the hop (RFC 9110 section 7.6.1), and the
//! fields by which an upstream knows the client.

use crate::client::connection::response_head::{ParsedHead, ResponseHead};
use crate::client::failure::RoundTripFailure;
use crate::network::unix_socket::UNIX_PEER;
use crate::protocol::fields::{self, FieldLines};
use crate::server::request::exchange::HttpExchange;
use crate::server::request::relay::RelayedRequest;
use crate::server::response::events;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, Version};
use std::io::Write;
use std::net::IpAddr;

const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_PROTO: &str = "x-forwarded-proto";
const FORWARDED_HOST: &str = "x-forwarded-host";
const REQUEST_ID: &str = "x-request-id";

/// Room for the fields of most requests, in bytes.
const USUAL: usize = 1024;

/// Whether a field belongs to the connection and not to the message.
fn is_of_hop(name: &str) -> bool {
    let is = |text: &str| name.eq_ignore_ascii_case(text);
    match name.len() {
        2 => is("te"),
        7 => is("trailer") || is("upgrade"),
        10 => is("connection") || is("keep-alive"),
        17 if is("transfer-encoding") => true,
        _ => name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("proxy-")),
    }
}

/// Whether a field says for whom a proxy forwards.
fn is_forwarding(name: &HeaderName) -> bool {
    let text = name.as_str();
    text.starts_with("x-forwarded-") || text == "forwarded" || text == "x-real-ip"
}

/// Whether a name is another one for servers of programs (CGI, WSGI, Rack), where `_` and `-` are the
/// same: `Transfer_Encoding` would frame a body there, and `X_Forwarded_For` name a client.
fn is_ambiguous(name: &str) -> bool {
    name.as_bytes().contains(&b'_')
}

/// The fields that `Connection` names. `Host` and the framing are not among them, whatever it says; the
/// usual words name no field that is passed on.
fn named<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<&'a [u8]> {
    let left_out = ["keep-alive", "close", "host", "content-length"];
    let words = lines.flat_map(fields::words);
    let is_named =
        |word: &&[u8]| !left_out.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(word));
    words.filter(is_named).collect()
}

fn is_among(name: &str, named: &[&[u8]]) -> bool {
    named.iter().any(|one| one.eq_ignore_ascii_case(name.as_bytes()))
}

/// The protocol that a request asks for, where its connection can be upgraded. HTTP itself is none: a
/// tunnel of HTTP/2 would pass requests by the stores in front of the proxy.
pub(super) fn upgrade(exchange: &HttpExchange) -> Option<HeaderValue> {
    let headers = &exchange.headers;
    let asked = headers.get(header::UPGRADE)?;
    if exchange.version != Version::HTTP_11
        || !fields::list(headers, header::CONNECTION, b"upgrade")
    {
        return None;
    }
    let mut others = headers.get_all(header::UPGRADE).iter().skip(1);
    let name = asked.as_bytes().trim_ascii();
    let starts =
        |text: &[u8]| name.len() >= text.len() && name[..text.len()].eq_ignore_ascii_case(text);
    let is_one = others.next().is_none() && !name.contains(&b',');
    (is_one && !starts(b"h2") && !starts(b"http") && !starts(b"tls")).then(|| asked.clone())
}

/// The fields of the request to the upstream, without `Host` and the framing.
pub(super) fn request_lines(
    exchange: &HttpExchange,
    request: &RelayedRequest,
    upgrade: Option<&HeaderValue>,
) -> FieldLines {
    let given = &exchange.headers;
    let id = exchange.observed.as_ref().and_then(|observed| observed.id());
    let named = named(given.get_all(header::CONNECTION).iter().map(HeaderValue::as_bytes));
    let mut lines = FieldLines::with_capacity(USUAL);
    let (mut has_cookies, mut takes_trailers) = (false, false);
    for (name, value) in given {
        let text = name.as_str();
        if *name == header::TE {
            let mut words = fields::words(value.as_bytes());
            takes_trailers |= words.any(|word| word.eq_ignore_ascii_case(b"trailers"));
        }
        let is_set_here = *name == header::HOST
            || *name == header::CONTENT_LENGTH
            || [FORWARDED_FOR, FORWARDED_PROTO, FORWARDED_HOST].contains(&text)
            || (text == REQUEST_ID && id.is_some());
        let is_left_out = is_set_here
            || is_of_hop(text)
            || is_ambiguous(text)
            || (!request.is_trusted && is_forwarding(name))
            || (*name == header::EXPECT && !request.expects)
            || is_among(text, &named);
        if is_left_out {
            continue;
        }
        if *name != header::COOKIE {
            lines.push(text, value.as_bytes());
        } else if !std::mem::replace(&mut has_cookies, true) {
            // HTTP/2 may send the cookies in several fields (RFC 9113 section 8.2.3).
            let all = given.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
            lines.push(text, &all.collect::<Vec<_>>().join(&b"; "[..]));
        }
    }
    if let Some(protocol) = upgrade {
        lines.push("connection", b"upgrade");
        lines.push("upgrade", protocol.as_bytes());
    } else if takes_trailers {
        lines.push("connection", b"te");
        lines.push("te", b"trailers");
    }
    add_forwarding(exchange, request, &mut lines);
    if let Some(id) = id {
        lines.push(REQUEST_ID, id.as_bytes());
    }
    lines
}

/// Says who the client is. What a trusted proxy has said stays: its own address is appended.
fn add_forwarding(exchange: &HttpExchange, request: &RelayedRequest, lines: &mut FieldLines) {
    let given = &exchange.headers;
    let said = |name: &str| request.is_trusted && given.contains_key(name);
    let copy = |name: &str, lines: &mut FieldLines| {
        for value in given.get_all(name) {
            lines.push(name, value.as_bytes());
        }
    };
    let chain = forwarded_for(request, given);
    if !chain.is_empty() {
        lines.push(FORWARDED_FOR, &chain);
    }
    if said(FORWARDED_PROTO) {
        copy(FORWARDED_PROTO, lines);
    } else {
        let scheme: &[u8] = if exchange.is_secure { b"https" } else { b"http" };
        lines.push(FORWARDED_PROTO, scheme);
    }
    if said(FORWARDED_HOST) {
        copy(FORWARDED_HOST, lines);
    } else if let Some(host) = given.get(header::HOST) {
        lines.push(FORWARDED_HOST, host.as_bytes());
    }
}

/// The addresses before this server: those that a trusted proxy has named, and the peer.
fn forwarded_for(request: &RelayedRequest, given: &HeaderMap) -> Vec<u8> {
    let mut chain = Vec::with_capacity(16);
    if request.is_trusted {
        for line in given.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok()) {
            chain.extend_from_slice(line.as_bytes());
            chain.extend_from_slice(b", ");
        }
    }
    if request.nearest == UNIX_PEER {
        chain.truncate(chain.len().saturating_sub(2));
    } else {
        write_address(request.nearest.ip().to_canonical(), &mut chain);
    }
    chain
}

/// Appends an address. The usual kind takes a tenth of the time that its `Display` takes.
fn write_address(address: IpAddr, into: &mut Vec<u8>) {
    let IpAddr::V4(address) = address else {
        // Writing to memory never fails.
        let _ = write!(into, "{address}");
        return;
    };
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            into.push(b'.');
        }
        into.extend_from_slice(itoa::Buffer::new().format(octet).as_bytes());
    }
}

/// The head of a response, without the fields of the hop.
pub(super) struct RelayedHead {
    pub(super) status: StatusCode,
    /// The fields, without the length.
    pub(super) lines: FieldLines,
    pub(super) length: Option<u64>,
    pub(super) is_event_stream: bool,
    /// Whether the content has no transfer coding but chunks.
    pub(super) has_plain_framing: bool,
    /// The protocol that follows a head with 101.
    pub(super) protocol: Vec<u8>,
}

impl ResponseHead for RelayedHead {
    fn of(head: &ParsedHead<'_>) -> Result<Self, RoundTripFailure> {
        let named = named(head.values("connection"));
        let mut lines = FieldLines::with_capacity(head.bytes.len());
        let (mut length, mut media_type) = (None, None);
        let (mut codings, mut is_chunked) = (0, false);
        for field in head.fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            match field.name.len() {
                12 if is("content-type") => media_type = media_type.or(Some(field.value)),
                14 if is("content-length") => {
                    length = length.or(Some(field.value));
                    continue;
                }
                17 if is("transfer-encoding") => {
                    for coding in fields::words(field.value) {
                        codings += 1;
                        is_chunked = coding.eq_ignore_ascii_case(b"chunked");
                    }
                }
                _ => {}
            }
            match head.line(field) {
                _ if is_of_hop(field.name) || is_among(field.name, &named) => {}
                Some(line) => lines.push_line(line, field.name.len()),
                None => lines.push(field.name, field.value),
            }
        }
        let protocol = match head.status {
            StatusCode::SWITCHING_PROTOCOLS => head.values("upgrade").next(),
            _ => None,
        };
        Ok(RelayedHead {
            status: head.status,
            lines,
            length: length.and_then(|text| fields::number(text.trim_ascii())),
            is_event_stream: media_type.is_some_and(events::are),
            has_plain_framing: codings == 0 || (codings == 1 && is_chunked),
            protocol: protocol.unwrap_or_default().to_vec(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::connection::response_head;

    fn name(text: &str) -> HeaderName {
        HeaderName::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_fields_of_a_hop_are_known() {
        for text in [
            "Connection",
            "Keep-Alive",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "Proxy-Authorization",
        ] {
            assert!(is_of_hop(text), "{text}");
        }
        for text in ["Cookie", "Authorization", "Content-Length", "Via", "User-Agent", "Pragma"] {
            assert!(!is_of_hop(text), "{text}");
        }
    }

    #[test]
    fn forwarding_fields_are_known() {
        for text in ["X-Forwarded-For", "x-forwarded-port", "Forwarded", "X-Real-IP"] {
            assert!(is_forwarding(&name(text)), "{text}");
        }
        for text in ["X-Request-Id", "X-Real-IPs", "Forwarded-By", "From"] {
            assert!(!is_forwarding(&name(text)), "{text}");
        }
    }

    #[test]
    fn what_connection_names_is_removed() {
        let text =
            b"HTTP/1.1 200 OK\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nX-Other: 2\r\n\
            Upgrade: h2c\r\nContent-Length: 3\r\n\r\n";
        let (head, length) = response_head::parse(text, RelayedHead::of).unwrap().unwrap();
        assert_eq!((length, head.length), (text.len(), Some(3)));
        assert_eq!(head.lines.as_bytes(), b"x-other: 2\r\n");
    }

    #[test]
    fn addresses_are_written_as_they_are_displayed() {
        for text in ["127.0.0.1", "255.10.0.99", "::1", "2001:db8::a"] {
            let mut written = Vec::new();
            write_address(text.parse().unwrap(), &mut written);
            assert_eq!(written, text.as_bytes());
        }
    }
}
