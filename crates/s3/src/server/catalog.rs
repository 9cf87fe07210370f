//! What the server keeps in the store below it: buckets, objects with their attributes, versions and
//! multipart uploads. `layout` says where. Nothing here knows requests.

pub(crate) mod attributes;
pub(crate) mod buckets;
pub(crate) mod contents;
pub(crate) mod errors;
pub(crate) mod key_locks;
pub(crate) mod key_walk;
pub(crate) mod layout;
mod leftovers;
pub(crate) mod object_commit;
pub(crate) mod object_lookup;
pub(crate) mod state;
pub(crate) mod uploads;
pub(crate) mod version_id;
pub(crate) mod version_name;
