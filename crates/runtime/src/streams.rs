//! Streams between a program and a store or a client: content that arrives, pipes, sockets, and progress lines.

pub(crate) mod arriving;
pub(crate) mod form_parts;
pub(crate) mod pipe;
pub(crate) mod progress;
pub(crate) mod socket;
