//! Listings of keys and of versions.

pub(crate) mod list_objects;
pub(crate) mod list_versions;
pub(crate) mod paging;
