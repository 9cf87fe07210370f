//! How a client asks for the session of a live page: as a WebSocket at the page's own address.

use hyper::header::{self, HeaderMap};

/// The WebSocket subprotocol (RFC 6455 section 1.9).
pub(crate) const PROTOCOL: &str = "live.runnel";

/// Whether a client offers the protocol.
pub(crate) fn is_offered(headers: &HeaderMap) -> bool {
    headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().any(|line| {
        line.to_str().is_ok_and(|line| line.split(',').any(|one| one.trim() == PROTOCOL))
    })
}
