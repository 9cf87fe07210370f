//! Views and connections as data.
//!
//! - [`ports`] has ports and the connector that joins two of them.
//!
//! Functions on strings and numbers only: no store, no clock, no input or output.

pub mod ports;
