//! Any store, served to clients of S3.

pub(crate) mod access;
pub(crate) mod bucket;
pub(crate) mod fault;
pub(crate) mod options;
pub(crate) mod payload;
pub(crate) mod post_form;
pub(crate) mod xml;
