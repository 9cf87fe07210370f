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

/// What reading a text gave.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) program: Program,
    pub(crate) tokens: Vec<Token>,
    /// Faults of the text; the rest of the diagnostics takes longer.
    pub(crate) faults: Vec<Diagnostic>,
    pub(crate) index: NameIndex,
    pub(crate) outline: Vec<OutlineItem>,
    pub(crate) lines: LineMap,
}

impl Analysis {
    pub(crate) fn of(source: &str, knowledge: &Knowledge) -> Analysis {
        let (parsed, tokens) = runnel_syntax::parse_with_tokens(source);
        let index = builder::index(&parsed.program, source, knowledge);
        let outline = outline::outline(&parsed.program);
        let lines = LineMap::new(source);
        Analysis {
            program: parsed.program,
            tokens,
            faults: parsed.diagnostics,
            index,
            outline,
            lines,
        }
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
