//! The operations of S3. Each takes a request and answers it; `route` says which is wanted.

pub(crate) mod buckets;
pub(crate) mod configuration;
pub(crate) mod expiry;
pub(crate) mod inspection;
pub(crate) mod listing;
pub(crate) mod multipart;
pub(crate) mod objects;
pub(crate) mod receive;
