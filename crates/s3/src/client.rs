//! Buckets of another server as a store.

pub(crate) mod attributes;
pub(crate) mod body;
pub(crate) mod condition;
pub(crate) mod credentials;
pub(crate) mod endpoint;
pub(crate) mod fault;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod object_path;
pub(crate) mod options;
pub(crate) mod profile;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod upload;
pub(crate) mod xml;
