//! Bodies of requests: how they are framed, and checks of what arrives.

pub(crate) mod asked;
pub(crate) mod body;
pub(crate) mod checksum;
pub(crate) mod chunked;
mod crc;
pub(crate) mod form_file;
mod hashes;
pub(crate) mod plan;
