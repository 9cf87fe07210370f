//! HTTP/1.1 on one connection (RFC 9112): the head of a request as a typed value, its body, and the
//! bytes of the response.

pub(crate) mod body_channel;
pub(crate) mod connection;
mod output;
mod request_head;
mod response_head;
pub(crate) mod shared_buffers;
pub(crate) mod upload_buffers;
