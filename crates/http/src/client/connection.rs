//! One connection to a server: how it is opened and pooled, and one round trip of HTTP/1.1 on it; many
//! at once over HTTP/2.

pub(crate) mod dial;
pub(crate) mod forward_proxy;
pub(crate) mod http2;
pub(crate) mod line;
pub(crate) mod pool;
pub(crate) mod request_head;
pub(crate) mod response_head;
pub(crate) mod round_trip;
pub(crate) mod sending;
pub(crate) mod websocket;
