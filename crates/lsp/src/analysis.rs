//! One text, read once: tree, tokens, names with their places, what is known of values, an outline.
//!
//! The types are guesses for people who type: they follow the only assignment of a variable and the catalogue, and
//! may be wrong where a program surprises. What a program certainly gets wrong is the checker's.

mod builder;
mod classes;
pub(crate) mod context;
mod expressions;
mod handlers;
pub(crate) mod index;
mod inference;
pub(crate) mod outline;

use crate::knowledge::Knowledge;
use crate::text::LineMap;
use index::NameIndex;
use outline::OutlineItem;
use runnel_syntax::ast::Program;
use runnel_syntax::{Diagnostic, Token, TokenKind};
use std::ops::Deref;
use std::sync::Arc;

/// A text with its tree: what the diagnostics need, and the first half of an [`Analysis`].
#[derive(Debug)]
pub(crate) struct ParsedText {
    pub(crate) program: Program,
    pub(crate) tokens: Vec<Token>,
    /// Faults of the text; the rest of the diagnostics takes longer.
    pub(crate) faults: Vec<Diagnostic>,
    pub(crate) lines: LineMap,
}

impl ParsedText {
    pub(crate) fn of(source: &str) -> ParsedText {
        let (parsed, tokens) = runnel_syntax::parse_with_tokens(source);
        let lines = LineMap::new(source);
        ParsedText { program: parsed.program, tokens, faults: parsed.diagnostics, lines }
    }
}

/// What reading a text gave, with its names.
#[derive(Debug)]
pub(crate) struct Analysis {
    reading: Arc<ParsedText>,
    pub(crate) index: NameIndex,
    pub(crate) outline: Vec<OutlineItem>,
}

impl Deref for Analysis {
    type Target = ParsedText;

    fn deref(&self) -> &ParsedText {
        &self.reading
    }
}

impl Analysis {
    pub(crate) fn of(reading: Arc<ParsedText>, source: &str, knowledge: &Knowledge) -> Analysis {
        let index = builder::index(&reading.program, source, knowledge);
        let outline = outline::outline(&reading.program);
        Analysis { reading, index, outline }
    }

    /// The token that holds a byte, or ends there: the one that begins there where two touch.
    pub(crate) fn token_at(&self, offset: u32) -> Option<Token> {
        let after = self.tokens.partition_point(|token| token.span.start <= offset);
        let token = *self.tokens.get(after.checked_sub(1)?)?;
        let before = || self.tokens.get(after.checked_sub(2)?).copied();
        let is_word = |token: &Token| {
            matches!(
                token.kind,
                TokenKind::Name
                    | TokenKind::Keyword
                    | TokenKind::Symbol
                    | TokenKind::Definition
                    | TokenKind::Scheme
                    | TokenKind::Implicit
            )
        };
        if token.span.start == offset && !is_word(&token) {
            let touching = before().filter(|before| before.span.end == offset && is_word(before));
            return touching.or(Some(token));
        }
        (token.span.end >= offset).then_some(token)
    }
}
