//! Views and connections as data.
//!
//! - [`event`] parses what the client of a live page sends.
//! - [`ports`] has ports and the connector that joins two of them.
//!
//! Functions on strings and numbers only: no store, no clock, no input or output.

pub mod event;
pub mod ports;
