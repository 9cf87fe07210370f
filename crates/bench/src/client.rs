//! The HTTP/1.1 client of the generator: readiness events, no allocation for a request.

pub(crate) mod connection;
pub(crate) mod response;
pub(crate) mod tls;
