//! Any store, served to clients of S3.

pub(crate) mod access;
pub(crate) mod bucket;
pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod fault;
pub(crate) mod operations;
pub(crate) mod options;
pub(crate) mod payload;
pub(crate) mod permit;
pub(crate) mod post_form;
pub(crate) mod reply;
pub(crate) mod route;
pub(crate) mod service;
pub(crate) mod target;
pub(crate) mod xml;
