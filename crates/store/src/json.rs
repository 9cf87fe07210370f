//! JSON text, RFC 8259, to values and back, without rounding anything.
//!
//! Reading and writing are written out here rather than taken from a library for two reasons:
//! integers of any size stay exact without passing through a text of their own, and the writing
//! half is on the path of every row that leaves a table.

mod parse;
mod tape;
mod write;

pub use parse::{MAX_DEPTH, MAX_DIGITS, parse};
pub use tape::{Document, Node, Tape, TapeSize};
pub use write::{text, write, write_bytes, write_float, write_int, write_text, write_utf8};
