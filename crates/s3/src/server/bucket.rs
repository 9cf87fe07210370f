//! What a bucket is configured with: its record, and the documents of ACLs, policies, CORS, tags, object
//! lock, lifecycle and notifications as plain data. Parsing, validation and XML only; the operations
//! read and write them.

pub(crate) mod acl;
pub(crate) mod cors;
pub(crate) mod lifecycle;
pub(crate) mod notification;
pub(crate) mod object_event;
pub(crate) mod object_lock;
pub(crate) mod ownership;
pub(crate) mod policy;
pub(crate) mod public_access_block;
pub(crate) mod record;
pub(crate) mod retention;
pub(crate) mod tagging;
pub(crate) mod versioning;
