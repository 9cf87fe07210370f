//! Text to tree and back: lexer, parser, formatter, diagnostics. Pure: no IO, no clock.
//!
//! [`parse`] never fails: it answers a tree and the diagnostics. [`format`] gives the canonical
//! text of a source that parses.

pub mod ast;
mod characters;
mod declared;
mod diagnostic;
mod faults;
mod format;
mod lexer;
pub mod limits;
mod outline;
mod parse;
mod parser;
mod span;
mod token;
pub mod walk;

pub use ast::definitions::{Definition, definition_at, definitions};
pub use diagnostic::{Diagnostic, Edit, Label, Severity, corrected};
pub use faults::foreign_name_hint;
pub use format::format;
pub use outline::outline;
pub use parse::{
    PROGRAM_ENDINGS, Parsed, is_incomplete, is_program, parse, parse_with_tokens, tokens,
};
pub use span::{LineIndex, Span};
pub use token::{Token, TokenKind};
