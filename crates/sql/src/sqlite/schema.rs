//! The schema: what the tables look like, tables made from classes, and migrations.

pub(crate) mod catalog;
pub(crate) mod define;
pub(crate) mod differences;
pub(crate) mod full_text;
pub(crate) mod migrate;
