//! Text to tree and back: lexer, parser, formatter, diagnostics. Pure: no IO, no clock.
//!
//! [`parse`] never fails: it answers a tree and the diagnostics. [`format`] gives the canonical
//! text of a source that parses.

pub mod ast;
mod diagnostic;
mod span;

pub use diagnostic::{Diagnostic, Label, Level};
pub use span::{LineIndex, Span};
