//! Bodies of responses between the connection and their reader: what changes bytes, and who gives way.

pub(crate) mod decoding;
pub(crate) mod unread;
