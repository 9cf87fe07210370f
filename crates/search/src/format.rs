//! Numbers and JSON written into byte buffers.

pub(crate) mod digits;
pub(crate) mod json;
pub(crate) mod number;
