//! Multipart uploads: an object that arrives in parts, in any order and over days.

pub(crate) mod complete;
pub(crate) mod completed_parts;
pub(crate) mod create;
pub(crate) mod list_parts;
pub(crate) mod list_uploads;
pub(crate) mod upload_part;
