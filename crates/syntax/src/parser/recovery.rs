//! Brackets that do not match, and finding back into step after a fault.

use super::Parser;
use super::property_path::path_verb;
use crate::characters::{ends_path, is_forbidden};
use crate::lexer::{Lexeme, line_end};
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// Takes an opening bracket.
    pub(super) fn open(&mut self) -> Span {
        let kind = self.kind();
        let span = self.bump();
        if let Some(closer) = kind.closer() {
            self.open.push((closer, span));
        }
        span
    }

    /// Takes the bracket that closes the innermost open one, or reports that it is missing.
    pub(super) fn close(&mut self) {
        let Some((closer, opened)) = self.open.last().copied() else { return };
        if self.recovering && !self.at(closer) {
            self.skip();
        }
        self.open.pop();
        if self.at(closer) {
            self.bump();
            self.recovering = false;
            return;
        }
        if !self.recovering {
            self.unclosed(closer, opened);
            // Where something new certainly begins, reading is in step.
            self.recovering = !self.begins_anew(&self.next);
        }
        self.missed.push(closer);
    }

    fn unclosed(&mut self, closer: TokenKind, opened: Span) {
        let (name, mark) = match closer {
            TokenKind::CloseBrace => ("brace", "}"),
            TokenKind::CloseBracket => ("bracket", "]"),
            _ => ("parenthesis", ")"),
        };
        let mut diagnostic =
            Diagnostic::error(opened, format!("this {name} is never closed"), "opened here")
                .hint(format!("add `{mark}` where the part ends"));
        if !self.at(TokenKind::End) {
            diagnostic = diagnostic.also(self.next.span, format!("expected `{mark}` before this"));
        }
        self.error(diagnostic);
    }

    /// A closing bracket that closes nothing: `true` when one was taken.
    pub(super) fn stray_closer(&mut self) -> bool {
        let kind = self.kind();
        if !kind.closes() || self.open.iter().any(|(closer, _)| *closer == kind) {
            return false;
        }
        if let Some(at) = self.missed.iter().position(|missed| *missed == kind) {
            self.missed.remove(at);
        } else {
            let mark = self.word();
            self.error(
                Diagnostic::error(self.next.span, format!("this `{mark}` closes nothing"), "here")
                    .hint(format!("remove it, or write the bracket that `{mark}` should close")),
            );
        }
        self.bump();
        true
    }

    /// Skips what follows a fault, up to the end of the statement, the element or the bracket in
    /// which it is. Brackets that are opened on the way are skipped with what is in them.
    pub(super) fn skip(&mut self) {
        let mut opened: Vec<TokenKind> = Vec::new();
        let mut braces = 0;
        loop {
            let kind = self.kind();
            let in_braces = braces > 0;
            match kind {
                TokenKind::End => return,
                TokenKind::Period if !in_braces => return,
                TokenKind::Comma if opened.is_empty() && self.mode.comma_separates => return,
                _ if kind.closes() => match opened.iter().rposition(|closer| *closer == kind) {
                    Some(at) => {
                        let closed = opened.drain(at..);
                        braces -= closed.filter(|closer| *closer == TokenKind::CloseBrace).count();
                    }
                    None => return,
                },
                _ if !in_braces && self.begins_statement(opened.is_empty()) => return,
                _ => {
                    opened.extend(kind.closer());
                    braces += usize::from(kind == TokenKind::OpenBrace);
                }
            }
            self.skip_token(kind);
        }
    }

    fn skip_token(&mut self, kind: TokenKind) {
        match kind {
            TokenKind::Keyword if self.path_follows(self.next.span.end) => {
                let start = self.next.span.end;
                let rest = self.rest(start);
                let length = rest.find(|c| ends_path(c) || c == '{').unwrap_or(rest.len());
                self.take_until(start + length as u32, TokenKind::Unknown);
            }
            TokenKind::Quote => {
                let start = self.next.span.start;
                let length = self.quoted_length(start).unwrap_or(1);
                self.take_until(start + length as u32, TokenKind::Text);
            }
            _ => {
                self.bump();
            }
        }
    }

    /// Whether a statement probably begins with the next token after an error.
    fn begins_statement(&self, outermost: bool) -> bool {
        let ends_here = outermost && self.mode.newline_ends && !self.continues(&self.next, true);
        self.next.newline && (ends_here || self.begins_anew(&self.next))
    }

    /// Whether a token at the start of a line certainly begins something new, even if a bracket
    /// is open: `name :=`, a method, a definition.
    pub(super) fn begins_anew(&self, next: &Lexeme) -> bool {
        if !next.newline {
            return false;
        }
        match next.kind {
            TokenKind::Signature => true,
            TokenKind::Name => {
                let after = self.peek(next.span.end);
                let assigned = after.kind == TokenKind::Assign
                    && !after.newline
                    && !matches!(self.text(after.span), "+=" | "|=" | "=|=");
                assigned || self.definition_at(next).is_some() || self.begins_verb(next)
            }
            _ => self.begins_member(next),
        }
    }

    /// Whether a line such as `-name {`, `+at: x put: y {` or `/path {` begins here, inside a
    /// class. It can be nothing else: inside an expression no name is followed by a brace.
    pub(super) fn begins_member(&self, next: &Lexeme) -> bool {
        if !self.in_class || !next.newline || next.kind != TokenKind::Operator {
            return false;
        }
        let start = next.span.start as usize;
        let line = &self.source()[start..line_end(self.source(), start)];
        match line.split_at_checked(1).unwrap_or_default() {
            ("-" | "+", rest) => is_method_head(rest),
            ("/", rest) => self.begins_path(rest, next.span.start + 1),
            _ => false,
        }
    }

    /// Whether the rest of a line, behind its slash, is a path, a brace and in it a verb.
    fn begins_path(&self, line: &str, start: u32) -> bool {
        let Some(brace) = line.find('{') else { return false };
        let path = &line[..brace];
        let verb = self.peek(start + brace as u32 + 1);
        path.ends_with(' ')
            && !path.trim_end().contains(char::is_whitespace)
            && path_verb(self.text(verb.span)).is_some()
    }

    /// Whether a line such as `put {` begins here, inside a class.
    pub(super) fn begins_verb(&self, next: &Lexeme) -> bool {
        self.in_class
            && path_verb(self.text(next.span)).is_some()
            && self.peek(next.span.end).kind == TokenKind::OpenBrace
    }

    /// Reports characters that belong into no program, once for the whole text.
    pub(super) fn check_characters(&mut self) {
        let source = self.source();
        let mut found = source.char_indices().filter(|(_, c)| is_forbidden(*c));
        if let Some((at, c)) = found.next() {
            let more = found.count();
            let span = Span::new(at as u32, (at + c.len_utf8()) as u32);
            let label = format!("U+{:04X}", c as u32);
            let label = if more > 0 { format!("{label}, and {more} more") } else { label };
            self.note(
                Diagnostic::error(span, "an invisible control character", label)
                    .hint("remove it; in a text write it as an escape such as `\\u{1b}`"),
            );
        }
    }
}

/// Whether a line, behind its `-` or `+`, is the head of a method with an open brace.
fn is_method_head(line: &str) -> bool {
    let Some((head, _)) = line.split_once('{') else { return false };
    let mut head = head.trim_end();
    if head.starts_with(char::is_whitespace) || head.is_empty() {
        return false;
    }
    if let Some((_, after)) = head.strip_prefix('<').and_then(|typed| typed.split_once('>')) {
        head = after;
    }
    let name = |text: &str| {
        let text = text.strip_prefix('<').and_then(|t| t.split_once('>')).map_or(text, |t| t.1);
        let length = crate::lexer::name_length(text);
        length > 0 && length == text.len()
    };
    if !head.contains(':') {
        return name(head);
    }
    // Keyword parts: the pieces between colons are `name`, `parameter name` …, `parameter`.
    let pieces: Vec<&str> = head.split(':').collect();
    let last = pieces.len() - 1;
    pieces.iter().enumerate().all(|(at, piece)| {
        let words: Vec<&str> = piece.split_whitespace().collect();
        let expected = if at == 0 || at == last { 1 } else { 2 };
        words.len() == expected && words.iter().all(|word| name(word))
    })
}
