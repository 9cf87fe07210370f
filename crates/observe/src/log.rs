//! The access log: one line for each request, redacted, written by a thread of its own.

pub(crate) mod access_log;
pub(crate) mod clock;
pub(crate) mod program_log;
pub(crate) mod redaction;
pub(crate) mod writer;
