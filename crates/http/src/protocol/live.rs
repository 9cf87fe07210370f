//! How a client asks for the session of a live page: at the page's own address, as a WebSocket or as
//! server-sent events.

use hyper::header::{self, HeaderMap, HeaderName};

/// The WebSocket subprotocol (RFC 6455 section 1.9).
pub(crate) const PROTOCOL: &str = "live.runnel";

/// The header with the first message where events take the place of a WebSocket. The message holds the view's
/// token, so it is not part of the URL, which proxies and logs keep.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("runnel-live");

/// Whether a client offers the protocol.
pub(crate) fn is_offered(headers: &HeaderMap) -> bool {
    headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().any(|line| {
        line.to_str().is_ok_and(|line| line.split(',').any(|one| one.trim() == PROTOCOL))
    })
}

/// Media types that an event of a live page may have: the client's own, and those of forms.
pub(crate) fn is_event_type(given: &str) -> bool {
    const TYPES: [&str; 3] = [
        "application/vnd.runnel.event+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ];
    let given = given.split(';').next().unwrap_or_default().trim();
    TYPES.iter().any(|one| one.eq_ignore_ascii_case(given))
}
