//! Streams between a program and a store or a client: pipes, sockets, and progress lines.

pub(crate) mod pipe;
pub(crate) mod progress;
pub(crate) mod socket;
