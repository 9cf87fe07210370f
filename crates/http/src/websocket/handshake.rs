//! The WebSocket handshake of a get that answers a port (RFC 6455 section 4.2).
//!
//! `session` runs the connection, `frames` and `assembly` read and write its messages.

use super::deflate::Deflate;
use super::frames::Frames;
use super::session;
use crate::protocol::live;
use crate::server::options::AccessPolicy;
use crate::server::request::forwarded;
use crate::server::request::origin;
use crate::server::response::body::ResponseBody;
use crate::server::response::problem::Problem;
use crate::server::response::request_cycle::{RequestCycle, ResponseFacts};
use crate::server::socket::Socket;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use runnel_store::Port;
use sha1::{Digest, Sha1};
use std::rc::Rc;

pub(crate) const VERSION: HeaderValue = HeaderValue::from_static("13");
pub(crate) const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// The length of a key: 16 bytes in Base64.
const KEY: usize = 24;
/// The GUID that a server appends to a key before hashing it (RFC 6455 section 1.3).
const PROOF: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

impl RequestCycle {
    /// Answers a port: upgrades the connection to a WebSocket, if the client asks for it.
    pub(crate) fn open_port(self, port: Rc<dyn Port>) -> Response<ResponseBody> {
        let accepted = match accept(&self) {
            Ok(accepted) => accepted,
            Err(HandshakeRefusal::NoWebSocket) => return self.upgrade_required(),
            Err(HandshakeRefusal::Problem(problem)) => return self.problem(problem),
        };
        if let Err(error) = self.exchange.overrides.status() {
            return self.error_response(error);
        }
        let (state, most) = (self.state.clone(), self.limits.message);
        let is_live = live::is_offered(&self.exchange.headers);
        let ours = state.clone();
        let wanted = self.limits.compress_messages;
        let deflate = wanted.then(|| Deflate::accept(&self.exchange.headers)).flatten();
        let (deflate, extension) = deflate.unzip();
        state.upgrade.replace(Some(Box::new(move |wire, early| {
            let socket = Socket::new(wire, ours.clone());
            let frames = Frames::new(socket, early, deflate, most);
            Box::pin(async move {
                let _code = session::run(frames, port, ours).await;
            })
        })));
        let body = ResponseBody::empty(&state);
        let mut response = self.respond(StatusCode::OK, None, ResponseFacts::default(), body);
        // Overrides the program's status: the protocol changes here.
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, WEBSOCKET);
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accepted);
        if is_live {
            headers
                .insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(live::PROTOCOL));
        }
        if let Some(extension) = extension {
            headers.insert(header::SEC_WEBSOCKET_EXTENSIONS, extension);
        }
        response
    }

    /// 426: only a WebSocket of this version is available.
    fn upgrade_required(self) -> Response<ResponseBody> {
        let problem = Problem::new(StatusCode::UPGRADE_REQUIRED);
        let problem = problem.because("this is a WebSocket: send an upgrade request, version 13");
        let mut response = self.problem(problem);
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, WEBSOCKET);
        headers.insert(header::SEC_WEBSOCKET_VERSION, VERSION);
        response
    }
}

/// Why a handshake is refused.
enum HandshakeRefusal {
    /// No handshake, or for another version.
    NoWebSocket,
    Problem(Problem),
}

/// Checks a handshake. Returns the value of `Sec-WebSocket-Accept`.
fn accept(cycle: &RequestCycle) -> Result<HeaderValue, HandshakeRefusal> {
    let headers = &cycle.exchange.headers;
    if !cycle.head.upgrades || cycle.exchange.method != Method::GET {
        return Err(HandshakeRefusal::NoWebSocket);
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        return Err(HandshakeRefusal::NoWebSocket);
    }
    let bad = |message| HandshakeRefusal::Problem(Problem::bad(message));
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let key = keys.next().map(HeaderValue::as_bytes).filter(|key| is_key(key));
    let (Some(key), None) = (key, keys.next()) else {
        return Err(bad("the field Sec-WebSocket-Key is not 16 bytes in Base64"));
    };
    if !is_same_origin(headers, &cycle.limits.access) {
        // A page of another site would use the cookies of its visitor.
        let problem = Problem::new(StatusCode::FORBIDDEN);
        return Err(HandshakeRefusal::Problem(
            problem.because("the page comes from another origin"),
        ));
    }
    HeaderValue::from_bytes(&proof(key)).map_err(|_| bad("the key cannot be answered"))
}

/// The value of `Sec-WebSocket-Accept`: a SHA-1 hash of 20 bytes in Base64.
pub(crate) fn proof(key: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let hash = Sha1::new().chain_update(key).chain_update(PROOF).finalize();
    let mut text: Vec<u8> = Vec::with_capacity(28);
    for three in hash.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.extend([18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift) as usize % 64]));
    }
    // The last group has two bytes.
    text.pop();
    text.push(b'=');
    text
}

fn is_key(key: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    key.len() == KEY && key.ends_with(b"==") && key[..KEY - 2].iter().all(letter)
}

/// Whether the handshake comes from a page of this server, of a listed origin, or from no page at
/// all (RFC 6455 section 10.2). `*` lists none: the connection carries cookies.
fn is_same_origin(headers: &HeaderMap, access: &AccessPolicy) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let forwarded = forwarded::host(&access.trusted_proxies, headers);
    let host = forwarded.or_else(|| headers.get(header::HOST).map(HeaderValue::as_bytes));
    origin::is_named(&access.allowed_origins, origin.as_bytes())
        || origin::is_own(origin.as_bytes(), host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_answered_as_in_the_rfc() {
        assert_eq!(proof(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn keys_are_sixteen_bytes() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        for bad in [&b""[..], b"dGhlIHNhbXBsZSBub25jZQ=", b"dGhlIHNhbXBsZSBub25jZQ===", b"x"] {
            assert!(!is_key(bad));
        }
    }

    #[test]
    fn a_page_of_another_site_is_told() {
        let asked = |origin: &'static str, host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            headers.insert(header::HOST, HeaderValue::from_static(host));
            let origins = vec!["https://c.example".to_string()];
            is_same_origin(
                &headers,
                &AccessPolicy { allowed_origins: origins, ..AccessPolicy::default() },
            )
        };
        assert!(asked("http://a.example:8080", "A.example:8080"));
        assert!(asked("https://a.example", "a.example"));
        assert!(asked("https://a.example", "a.example:443"));
        assert!(asked("https://c.example", "a.example"));
        for (origin, host) in [
            ("https://b.example", "a.example"),
            ("null", "a.example"),
            ("http://a.example", "a.example:8080"),
        ] {
            assert!(!asked(origin, host), "{origin} {host}");
        }
    }
}
