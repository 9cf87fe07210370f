//! Bodies of requests: the framing of chunks, hashes and checksums.

pub(crate) mod plan;
