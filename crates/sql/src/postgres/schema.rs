//! The schema: what the tables look like, tables made from classes, and migrations.

pub(crate) mod catalog;
pub(crate) mod define;
pub(crate) mod differences;
pub(crate) mod migrate;
pub(crate) mod read_catalog;
