//! Combinators that keep content near: the cache, delayed writes and files for a web server.

pub(crate) mod cache;
pub(crate) mod static_files;
pub(crate) mod write_back;
