//! The rules of HTTP that a server and a client share: fields, framing, targets, media types, ranges
//! and conditions (RFC 9110, RFC 9112). Nothing here reads a socket, calls a store or knows options.

pub(crate) mod conditions;
pub(crate) mod encoding;
pub(crate) mod entries;
pub(crate) mod fields;
pub(crate) mod form;
pub(crate) mod framing;
pub(crate) mod live;
pub(crate) mod media_type;
pub(crate) mod multipart;
pub(crate) mod negotiation;
pub(crate) mod range;
pub(crate) mod request_id;
pub(crate) mod target;
pub(crate) mod trace_context;
