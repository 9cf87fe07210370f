//! The signature line `#-<result>name:<type>parameter`, and the heads of methods, which look the
//! same.

use super::Parser;
use crate::ast::{Parameter, Selector, Signature, Word};
use crate::lexer::line_end;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// The signature; the next token is its `#-`.
    pub(super) fn signature(&mut self) -> Option<Signature> {
        let start = self.bump();
        let result = self.optional_type();
        let selector = self.selector("signature");
        if selector.is_some() && !self.recovering && !self.next.newline && !self.at(TokenKind::End)
        {
            self.error(
                Diagnostic::error(self.next.span, "the signature does not end here", "unexpected")
                    .hint("a signature stands alone on its line: `#-<result>name:<type>parameter`"),
            );
        }
        if self.recovering {
            self.skip_line(start.start);
            self.recovering = false;
        }
        let span = Span::new(start.start, self.at);
        selector.map(|selector| Signature { result, selector, span })
    }

    /// A `#-…` line that is not in the head.
    pub(super) fn misplaced_signature(&mut self) {
        let start = self.next.span.start;
        self.error(
            Diagnostic::error(
                self.next.span,
                "a signature stands in the head of a program",
                "here",
            )
            .hint("move the line to the top, above the first statement; keep only one"),
        );
        self.skip_line(start);
        self.recovering = false;
    }

    /// `=8080`, `='two words'`: the value of a parameter that is not given.
    fn default(&mut self) -> Option<Word> {
        let from = self.next.span.start as usize;
        if self.next.newline || !self.source()[from..].starts_with('=') {
            return None;
        }
        let rest = &self.source()[from..line_end(self.source(), from)];
        let value = rest[1..].trim_start();
        let length = match value.strip_prefix('\'') {
            Some(text) => text.find('\'').map_or(value.len(), |end| end + 2),
            None => value.find(char::is_whitespace).unwrap_or(value.len()),
        };
        let start = from + rest.len() - value.len();
        let span = Span::new(start as u32, (start + length) as u32);
        self.take_until(span.end, TokenKind::Unknown);
        Some(self.word_at(span))
    }

    fn skip_line(&mut self, start: u32) {
        let end = line_end(self.source(), start as usize) as u32;
        if end > self.next.span.start {
            self.take_until(end, TokenKind::Unknown);
        }
    }

    /// `name`, `+ other`, `at: index put: value`.
    pub(super) fn selector(&mut self, of_what: &str) -> Option<Selector> {
        if self.recovering {
            return None;
        }
        match self.kind() {
            TokenKind::Name => {
                self.check_name();
                let name = self.bump();
                Some(Selector::Unary(self.word_at(name)))
            }
            TokenKind::Keyword => {
                let mut parts: Vec<(Word, Parameter)> = Vec::new();
                while self.at(TokenKind::Keyword) && (parts.is_empty() || !self.next.newline) {
                    let word = self.bump();
                    let word = self.word_at(Span::new(word.start, word.end - 1));
                    let mut parameter = self.parameter()?;
                    if of_what == "signature" {
                        parameter.default = self.default();
                    }
                    parts.push((word, parameter));
                }
                Some(Selector::Keyword(parts))
            }
            TokenKind::Operator | TokenKind::Comma => {
                let word = self.bump();
                let word = self.word_at(word);
                Some(Selector::Binary(word, self.parameter()?))
            }
            _ => {
                self.error(
                    Diagnostic::error(
                        self.next.span,
                        format!("the {of_what} has no name"),
                        "expected a name here",
                    )
                    .hint("write a name such as `count`, or keywords such as `at: index`"),
                );
                None
            }
        }
    }
}
