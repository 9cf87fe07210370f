//! Methods.

use super::Parser;
use crate::ast::{MemberKind, Method, Word};
use crate::{Diagnostic, TokenKind};

impl Parser<'_> {
    /// `-<type>name { … }`, `+name { … }`; the next token begins with the sign.
    pub(super) fn method(&mut self, without_body: bool) -> MemberKind {
        let start = self.next.span.start;
        let class_side = self.rest(start).starts_with('+');
        // Only the sign: in `-> other` the name is `>`.
        self.take_until(start + 1, TokenKind::Definition);
        let result = self.optional_type().or_else(|| self.parenthesized_type());
        let Some(selector) = self.selector("method") else { return MemberKind::Error };
        let body = if self.at(TokenKind::OpenBrace) {
            Some(self.expected_block("method"))
        } else if without_body {
            self.end_of_head();
            None
        } else {
            self.expected_block("method");
            None
        };
        MemberKind::Method(Method { class_side, result, selector, body })
    }

    /// `(void)` behind the sign, the notation of Objective-C for `<void>`.
    fn parenthesized_type(&mut self) -> Option<Word> {
        if !self.at(TokenKind::OpenParen) {
            return None;
        }
        let start = self.next.span.start;
        let length = crate::lexer::name_length(self.rest(start + 1)) as u32;
        let end = start + 1 + length;
        if length == 0 || !self.rest(end).starts_with(')') {
            return None;
        }
        self.take_until(start + 1, TokenKind::OpenParen);
        let name = self.take_until(end, TokenKind::Name);
        self.take_until(end + 1, TokenKind::CloseParen);
        Some(self.word_at(name))
    }

    fn end_of_head(&mut self) {
        let ends = self.next.newline
            || matches!(self.kind(), TokenKind::Period | TokenKind::End | TokenKind::CloseBrace);
        if !ends {
            self.error(
                Diagnostic::error(self.next.span, "the method does not end here", "unexpected")
                    .hint("write `.` after the name, or the statements in braces"),
            );
        }
    }
}
