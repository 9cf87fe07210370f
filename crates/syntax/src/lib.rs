//! Text to tree and back: lexer, parser, formatter, diagnostics. Pure: no IO, no clock.
//!
//! [`parse`] never fails: it answers a tree and the diagnostics. [`format`] gives the canonical
//! text of a source that parses.

pub mod ast;
mod characters;
mod declared;
mod diagnostic;
mod format;
mod lexer;
pub mod limits;
mod outline;
mod parse;
mod parser;
mod span;
mod token;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use format::format;
pub use outline::outline;
pub use parse::{Parsed, is_incomplete, parse, tokens};
pub use span::{LineIndex, Span};
pub use token::{Token, TokenKind};
