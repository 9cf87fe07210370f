//! Texts: plain ones in single quotes, and those in double quotes with expressions in braces.
//! Both know the escapes `\n \t \r \\ \" \' \{ \u{…}`.

use super::{Mode, Parser};
use crate::ast::{Comment, Expression, ExpressionKind, TextPart};
use crate::lexer::{begins_line, line_end, text_length};
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// `'…'`
    pub(super) fn plain_text(&mut self) -> Expression {
        let span = self.next.span;
        let written = self.text(span);
        let closed = text_length(written) == Some(written.len());
        if !closed {
            self.unclosed_text(span.start);
        }
        self.bump();
        let quote = written.chars().next().map_or(0, char::len_utf8);
        let last = if closed { written.chars().next_back().map_or(0, char::len_utf8) } else { 0 };
        let inner = Span::new(span.start + quote as u32, span.end - last as u32);
        let text = self.unescaped(inner, written.starts_with('\''));
        Expression { kind: ExpressionKind::Text(text), span }
    }

    /// `"…{…}…"`
    pub(super) fn interpolated_text(&mut self) -> Expression {
        let start = self.bump().start;
        let mut parts = Vec::new();
        loop {
            let (length, closed) = self.text_piece();
            let piece = Span::new(self.at, self.at + length);
            // What looked like a comment or a token in the text was none.
            self.pending.clear();
            self.next.span.start = self.at;
            if length > 0 || !closed {
                self.take_until(piece.end, TokenKind::Text);
                // Only now: the fault that is one too many ends the reading where it stands.
                let text = self.unescaped(piece, false);
                if !text.is_empty() {
                    parts.push(TextPart::Text(text));
                }
            }
            if !self.rest(piece.end).starts_with('{') || !closed {
                if closed {
                    self.seek(piece.end);
                    self.take_until(piece.end + 1, TokenKind::Text);
                } else {
                    self.unclosed_text(start);
                }
                break;
            }
            self.seek(piece.end);
            self.open();
            let expression = self.within(Mode::GROUP, Self::expression);
            self.close();
            parts.push(TextPart::Expression(expression));
            if self.recovering {
                break;
            }
        }
        Expression { kind: ExpressionKind::Interpolated(parts), span: Span::new(start, self.at) }
    }

    /// The length of the text up to a brace or the quote; without the latter, up to the end of
    /// the line, and `false`.
    fn text_piece(&self) -> (u32, bool) {
        let start = self.at as usize;
        let text = &self.source()[start..];
        let mut at = 0;
        while let Some(found) = text[at..].find(['"', '{', '\\']) {
            at += found;
            if !text[at..].starts_with('\\') {
                return (at as u32, true);
            }
            // The braces of `\u{…}` hold no expression.
            at += match text[at + 1..].chars().next() {
                Some('u') if text[at + 2..].starts_with('{') => 3,
                escaped => 1 + escaped.map_or(0, char::len_utf8),
            };
        }
        ((line_end(self.source(), start) - start) as u32, false)
    }

    fn unclosed_text(&mut self, start: u32) {
        let quote = self.rest(start).chars().next().unwrap_or('"');
        let span = Span::new(start, start + quote.len_utf8() as u32);
        let closing = if quote == '‘' { '’' } else { quote };
        let mut error = Diagnostic::error(span, "this text never ends", "it begins here")
            .hint(format!("write {closing} where it ends"));
        // A quote that was forgotten further up makes the next opening quote a closing one.
        let suspect =
            self.tokens.iter().rev().find(|token| {
                token.kind == TokenKind::Text && self.text(token.span).contains('\n')
            });
        if let Some(token) = suspect {
            error = error.also(token.span, "this text runs over a line end: is its quote missing?");
        }
        let fresh = self.diagnostics.is_empty() && !self.recovering;
        if !self.recovering {
            self.note(error);
        }
        self.incomplete |= fresh;
    }

    /// The last text so far that goes over the end of a line. A quote that is forgotten makes the
    /// next opening quote a closing one, and the fault shows only further down.
    pub(super) fn text_over_lines(&self) -> Option<Span> {
        const FAR: usize = 32;
        let mut last = self.tokens.iter().rev().take(FAR);
        last.find(|token| token.kind == TokenKind::Text && self.text(token.span).contains('\n'))
            .map(|token| token.span)
    }

    /// The text without its escapes. In plain texts a doubled quote stands for one.
    fn unescaped(&mut self, span: Span, plain: bool) -> String {
        let source = self.text(span);
        let mut text = String::with_capacity(source.len());
        let mut at = 0;
        while let Some(c) = source[at..].chars().next() {
            let rest = &source[at..];
            if c == '\\' {
                let (replacement, length) = escape(rest);
                match replacement {
                    Some(c) => text.push(c),
                    None => self.bad_escape(span.start + at as u32, length),
                }
                at += length;
            } else {
                text.push(c);
                at += if plain && rest.starts_with("''") { 2 } else { c.len_utf8() };
            }
        }
        text
    }

    fn bad_escape(&mut self, start: u32, length: usize) {
        let span = Span::new(start, start + length as u32);
        let title = format!("`{}` is no escape", self.text(span));
        self.note(
            Diagnostic::error(span, title, "here")
                .hint(r#"there are \n \t \r \\ \" \' \{ \u{…}; a backslash itself is `\\`"#),
        );
    }

    /// A text in double quotes that stands alone as a statement is a comment when another
    /// statement follows it. Takes it and answers `true` when it is one.
    pub(super) fn comment_text(&mut self) -> bool {
        let ends = self.comment_ends(self.next.span.start);
        let end = ends.into_iter().flatten().find(|end| self.statement_ends(*end));
        match end {
            Some(end) if self.statement_follows(end) => {
                self.take_comment(end);
                true
            }
            _ => false,
        }
    }

    /// Whether a statement can end at the place.
    fn statement_ends(&self, end: u32) -> bool {
        let after = self.peek(end);
        matches!(after.kind, TokenKind::Period | TokenKind::End)
            || after.kind.closes()
            || (after.newline && !self.continues(&after, false))
    }

    /// The same where only a comment can stand, between the members of a class.
    pub(super) fn member_comment(&mut self) {
        let start = self.next.span.start;
        let end = self.comment_ends(start).into_iter().flatten().next();
        if end.is_none() {
            self.unclosed_text(start);
        }
        let end = end.unwrap_or(line_end(self.source(), start as usize) as u32);
        self.take_comment(end);
    }

    /// Where a text used as a comment may end: as a text with braces, or at the next quote, for
    /// prose may have braces that do not match.
    fn comment_ends(&mut self, start: u32) -> [Option<u32>; 2] {
        let nested = self.quoted_length(start);
        let simple = self.rest(start + 1).find('"').map(|at| at + 2);
        [nested, simple].map(|length| length.map(|length| start + length as u32))
    }

    /// The length of a text in double quotes, found without reading the expressions in it. It
    /// may go over lines until one was found that never ends; and no part of the program is
    /// searched twice in vain, which keeps the work linear.
    pub(super) fn quoted_length(&mut self, start: u32) -> Option<usize> {
        let text = &self.source()[start as usize..];
        if start < self.no_quote_until {
            return None;
        }
        if self.no_quote_until == 0 {
            let length = simple_length(text, true);
            if length.is_some() {
                return length;
            }
        }
        let length = simple_length(text, false);
        if length.is_none() {
            self.no_quote_until = start + line_end(text, 0) as u32;
        }
        self.no_quote_until = self.no_quote_until.max(1);
        length
    }

    fn statement_follows(&self, end: u32) -> bool {
        let mut after = self.peek(end);
        while after.kind == TokenKind::Period {
            after = self.peek(after.span.end);
        }
        after.kind != TokenKind::End && !after.kind.closes()
    }

    fn take_comment(&mut self, end: u32) {
        let start = self.next.span.start;
        let own_line = begins_line(self.source(), start as usize);
        self.comments.append(&mut self.pending);
        self.comments.push(Comment { span: Span::new(start, end), own_line });
        self.seek(end);
    }
}

/// The length of a text in double quotes, over lines too.
pub(crate) fn quoted_length(text: &str) -> Option<usize> {
    simple_length(text, true)
}

/// The length of a text in double quotes, found without reading the expressions in it. Unless it
/// may go over lines, it ends on its line or not at all.
fn simple_length(text: &str, over_lines: bool) -> Option<usize> {
    let mut open = vec!['"'];
    let mut rest = text.char_indices().skip(1);
    while let Some((at, c)) = rest.next() {
        match (open.last(), c) {
            (_, '\n') if !over_lines => return None,
            (Some('"'), '\\') => {
                rest.next();
            }
            (Some('"'), '"') => {
                open.pop();
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            (_, '{') => open.push('{'),
            (Some('{'), '"') => open.push('"'),
            (Some('{'), '}') => {
                open.pop();
            }
            (Some('{'), '\'') => {
                let length = text_length(&text[at..])?;
                while rest.next().is_some_and(|(next, _)| next + 1 < at + length) {}
            }
            _ => {}
        }
    }
    None
}

/// What an escape stands for, `None` when there is no such escape, and its length.
fn escape(text: &str) -> (Option<char>, usize) {
    let Some(c) = text[1..].chars().next() else { return (None, 1) };
    let length = 1 + c.len_utf8();
    let replacement = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '\\' | '"' | '\'' | '{' => c,
        'u' => return unicode_escape(text),
        _ => return (None, length),
    };
    (Some(replacement), length)
}

/// `\u{1f600}`: one to six hexadecimal digits.
fn unicode_escape(text: &str) -> (Option<char>, usize) {
    let Some(rest) = text[2..].strip_prefix('{') else { return (None, 2) };
    let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    if !(1..=6).contains(&digits) || !rest[digits..].starts_with('}') {
        return (None, 3 + digits.min(6));
    }
    let value = u32::from_str_radix(&rest[..digits], 16).ok();
    (value.and_then(char::from_u32), 4 + digits)
}

#[cfg(test)]
mod tests {
    use super::{escape, simple_length};

    #[test]
    fn escapes_stand_for_one_character() {
        assert_eq!(escape(r"\n"), (Some('\n'), 2));
        assert_eq!(escape(r"\u{1f600} x"), (Some('😀'), 9));
        assert_eq!(escape(r"\u{d800}"), (None, 8));
        assert_eq!(escape(r"\u{}"), (None, 3));
        assert_eq!(escape(r"\q"), (None, 2));
        assert_eq!(escape(r"\ä"), (None, 3));
        assert_eq!(escape(r"\"), (None, 1));
    }

    #[test]
    fn a_text_may_hold_texts_in_its_braces() {
        assert_eq!(simple_length(r#""a" x"#, true), Some(3));
        assert_eq!(simple_length(r#""a {x at: "k"} b" c"#, true), Some(17));
        assert_eq!(simple_length(r#""a {x at: '"'} b" c"#, true), Some(17));
        assert_eq!(simple_length(r#""a \" b" c"#, true), Some(8));
        assert_eq!(simple_length(r#""a {b"#, true), None);
    }
}
