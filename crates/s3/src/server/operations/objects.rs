//! Operations on objects: put, read, copy and delete.

pub(crate) mod attributes;
pub(crate) mod conditions;
pub(crate) mod copy_object;
pub(crate) mod copy_source;
pub(crate) mod delete_object;
pub(crate) mod fields;
pub(crate) mod get_object;
pub(crate) mod post_object;
pub(crate) mod put_object;
pub(crate) mod ranges;
pub(crate) mod stored_fields;
