//! Bodies of requests: the framing of chunks, hashes and checksums.

pub(crate) mod checksum;
pub(crate) mod plan;
