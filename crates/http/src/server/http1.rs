//! HTTP/1.1 on one connection (RFC 9112): the head of a request as a typed value, its body, and the
//! bytes of the response.

pub(crate) mod connection;
pub(crate) mod intake;
mod output;
mod request_head;
mod response_head;
pub(crate) mod scratch;
