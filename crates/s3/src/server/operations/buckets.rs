//! Operations on buckets themselves.

pub(crate) mod create_bucket;
pub(crate) mod delete_bucket;
pub(crate) mod list_buckets;
