//! The response: the verb that makes it, its body and compression, parts, problems and listings.

pub(crate) mod body;
pub(crate) mod compression;
pub(crate) mod events;
pub(crate) mod file_body;
pub(crate) mod handler_cycle;
pub(crate) mod listing;
pub(crate) mod own_files;
pub(crate) mod page_template;
pub(crate) mod panics;
pub(crate) mod partial;
pub(crate) mod problem;
pub(crate) mod problem_form;
pub(crate) mod reply;
pub(crate) mod request_cycle;
pub(crate) mod write;
