//! Views and connections as data.
//!
//! - [`frame`] writes what the server sends to a view, [`outbox`] holds it until the client can take it.
//! - [`keyed`] finds the steps between two orders of a list.
//! - [`event`] parses what a client sends.
//! - [`ports`] has ports and the connector that joins two of them.
//!
//! Functions on strings and numbers only: no store, no clock, no input or output.

pub mod event;
pub mod frame;
pub mod keyed;
pub mod outbox;
pub mod ports;
