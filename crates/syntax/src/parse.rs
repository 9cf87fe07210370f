//! The ways into the parser.

use crate::ast::Program;
use crate::faults::explained;
use crate::limits::MAX_SOURCE_BYTES;
use crate::parser::read;
use crate::{Diagnostic, Span, Token, TokenKind};
use std::path::Path;

/// The endings of programs in the order of preference: `.rnl`, and `.st` as of Objective-S.
pub const PROGRAM_ENDINGS: [&str; 2] = ["rnl", "st"];

/// Whether a file has the name of a program. A program may have any name; folders are searched for these.
pub fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|ending| PROGRAM_ENDINGS.iter().any(|one| ending == *one))
}

/// A tree and what is wrong with its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The tree, with `Error` nodes where the text could not be read.
    pub program: Program,
    /// What is wrong, in the order in which it was found; at most
    /// [`MAX_DIAGNOSTICS`](crate::limits::MAX_DIAGNOSTICS).
    pub diagnostics: Vec<Diagnostic>,
    /// The parts of the text that have faults; the tree of all else is sound.
    pub broken: Vec<Span>,
}

/// Reads a whole text. Never fails: all faults of the text are in the result, each with its place,
/// its cause and one suggestion. A text longer than [`MAX_SOURCE_BYTES`] gives an empty program
/// and one diagnostic.
pub fn parse(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE_BYTES {
        return Parsed {
            program: Program::default(),
            diagnostics: vec![too_large(source)],
            broken: Vec::new(),
        };
    }
    let mut reading = read(source);
    if !reading.diagnostics.is_empty() {
        reading = explained(source, reading);
    }
    Parsed { program: reading.program, diagnostics: reading.diagnostics, broken: reading.broken }
}

/// Whether a text could become right when more lines follow: a bracket or a text is open, or it
/// ends in an operator, a keyword or an assignment. For the prompt: `false` when it is complete,
/// and when it has a fault that more lines cannot mend.
pub fn is_incomplete(source: &str) -> bool {
    source.len() <= MAX_SOURCE_BYTES && read(source).incomplete
}

/// The tokens of a text, comments included, in order and without overlap: for colouring. What the
/// parser could not read is there too. Empty for a text longer than [`MAX_SOURCE_BYTES`].
pub fn tokens(source: &str) -> Vec<Token> {
    parse_with_tokens(source).1
}

/// What [`parse`] and [`tokens`] answer, with one reading.
pub fn parse_with_tokens(source: &str) -> (Parsed, Vec<Token>) {
    if source.len() > MAX_SOURCE_BYTES {
        return (parse(source), Vec::new());
    }
    let mut reading = read(source);
    let mut tokens = std::mem::take(&mut reading.tokens);
    let comments = reading.program.comments.iter();
    let comments = comments.map(|comment| Token { kind: TokenKind::Comment, span: comment.span });
    tokens.extend(comments);
    tokens.sort_by_key(|token| token.span.start);
    if !reading.diagnostics.is_empty() {
        reading = explained(source, reading);
    }
    let (program, diagnostics) = (reading.program, reading.diagnostics);
    (Parsed { program, diagnostics, broken: reading.broken }, tokens)
}

fn too_large(source: &str) -> Diagnostic {
    let mut end = MAX_SOURCE_BYTES;
    while !source.is_char_boundary(end) {
        end += 1;
    }
    let span = Span::new(end as u32, end as u32);
    let label = format!("the text goes on after {} MiB", MAX_SOURCE_BYTES >> 20);
    Diagnostic::error(span, "this program is too large", label)
        .hint("split it into several files and load them with `ref:file:name.st load`")
}
