//! Values of the program as values and content of Rust, and back.
//!
//! What belongs here reads and pushes one kind of value. Conversions that take longer than a time
//! slice live in [`crate::slices`].

pub(crate) mod cells;
pub(crate) mod columns;
pub(crate) mod content;
pub(crate) mod errors;
pub(crate) mod handle;
pub(crate) mod instances;
pub(crate) mod kind;
pub(crate) mod native;
pub(crate) mod object;
pub(crate) mod plans;
pub(crate) mod push;
pub(crate) mod records;
