//! References: `scheme:path`, `ref:scheme:path`.

use super::{Mode, Parser};
use crate::ast::{Expression, ExpressionKind, Path, PathPart};
use crate::characters::ends_path;
use crate::lexer::name_length;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// Whether the path of a reference begins at the place, right behind a colon.
    pub(super) fn path_follows(&self, at: u32) -> bool {
        self.rest(at).starts_with(|c| !ends_path(c) && c != '(' && c != '#')
    }

    /// A reference; the next token is its scheme with the colon.
    pub(super) fn reference(&mut self) -> Expression {
        let word = self.next.span;
        if self.is_keyword_without_receiver(word.end) {
            return self.missing_receiver();
        }
        self.bump_as(TokenKind::Scheme);
        let name = Span::new(word.start, word.end - 1);
        if self.text(name) != "ref" {
            let scheme = Some(self.word_at(name));
            let path = self.nested_path(Path { scheme, parts: Vec::new(), span: word });
            return Expression { span: path.span, kind: ExpressionKind::Reference(path) };
        }
        let mut scheme = None;
        let length = name_length(self.rest(word.end)) as u32;
        let after = self.rest(word.end + length);
        if length > 0 && after.starts_with(':') && !after.starts_with(":=") {
            let name = Span::new(word.end, word.end + length);
            self.seek(word.end);
            self.take_until(name.end + 1, TokenKind::Scheme);
            scheme = Some(self.word_at(name));
        }
        let path = self.nested_path(Path { scheme, parts: Vec::new(), span: word });
        if path.scheme.is_none() && path.parts.is_empty() {
            self.error(
                Diagnostic::error(word, "`ref:` refers to nothing", "expected a name after this")
                    .hint("write what to refer to, as in `ref:file:notes.txt` or `ref:count`"),
            );
        }
        Expression { span: path.span, kind: ExpressionKind::ReferenceTo(path) }
    }

    fn nested_path(&mut self, mut path: Path) -> Path {
        self.beside(|parser| path.parts = parser.path_parts());
        path.span.end = self.at;
        path
    }

    /// The path that begins where the last token ends.
    fn path_parts(&mut self) -> Vec<PathPart> {
        let mut parts = Vec::new();
        if !self.path_follows(self.at) {
            return parts;
        }
        let start = self.at;
        loop {
            let length = path_text_length(self.rest(self.at), self.at == start) as u32;
            if length > 0 {
                let span = self.take_path(self.at + length);
                self.check_path(span);
                parts.push(PathPart::Text(self.text(span).to_owned()));
            }
            if self.recovering || !self.rest(self.at).starts_with('{') || !self.enter() {
                return parts;
            }
            self.open();
            let several = self.open_segments();
            let expression = self.within(Mode::GROUP, Self::expression);
            self.close();
            self.leave();
            self.grow();
            parts.push(match several {
                true => PathPart::Segments(expression),
                false => PathPart::Expression(expression),
            });
        }
    }

    /// Takes the star of `{*…}`, right behind the brace.
    fn open_segments(&mut self) -> bool {
        let several = self.rest(self.at).starts_with('*');
        if several {
            self.take_until(self.at + 1, TokenKind::Operator);
        }
        several
    }

    /// Reports an assignment that became part of a path because no space stands before it.
    fn check_path(&mut self, span: Span) {
        let mark = [":=", "←"].into_iter().find_map(|mark| {
            let at = span.start + self.text(span).find(mark)? as u32;
            Some(Span::new(at, at + mark.len() as u32))
        });
        if let Some(mark) = mark {
            let title = format!("`{}` is read as a part of the path", self.text(mark));
            self.note(
                Diagnostic::error(mark, title, "expected a space before this")
                    .hint("a path ends at white space: write a space before the assignment"),
            );
        }
    }

    /// Takes a piece of a path, from the end of the last token to the place. What looked like a
    /// comment behind it, as in `http://host`, was none.
    fn take_path(&mut self, end: u32) -> Span {
        self.pending.clear();
        self.next.span.start = self.at;
        self.take_until(end, TokenKind::Path)
    }

    /// Whether a word with a colon in the place of an operand can only be a message that has no
    /// receiver: a value stands behind it, but does not touch it as a path would.
    fn is_keyword_without_receiver(&self, end: u32) -> bool {
        if self.path_follows(end) || self.rest(end).starts_with('[') {
            return false;
        }
        let after = self.peek(end);
        let value = matches!(
            after.kind,
            TokenKind::Number
                | TokenKind::Text
                | TokenKind::Quote
                | TokenKind::Hash
                | TokenKind::Implicit
                | TokenKind::OpenParen
                | TokenKind::OpenBracket
                | TokenKind::OpenBrace
        );
        value && !after.newline
    }

    fn missing_receiver(&mut self) -> Expression {
        let word = self.word();
        let title = format!("the message `{word}` has no receiver");
        let mut error = Diagnostic::error(self.next.span, title, "expected a value before this")
            .hint(format!("write what the message goes to, as in `x {word} …`"));
        let before = self.tokens.last().filter(|token| token.kind == TokenKind::Keyword);
        if let Some(before) = before.filter(|token| token.span.end == self.at) {
            let before = before.span;
            let title = format!("`{}` has no argument", self.text(before));
            error = Diagnostic::error(before, title, "expected a value after this")
                .hint("write the argument between the two words");
        }
        self.error(error);
        self.failed()
    }
}

/// How long the text of a path is: to white space, to a bracket or a mark that ends it, to a `{`,
/// or to a period that nothing of the path follows. A period in the first place is part of it.
fn path_text_length(text: &str, first: bool) -> usize {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let after = || text[at + 1..].chars().next();
        if ends_path(c)
            || c == '{'
            || (c == '.' && !(first && at == 0) && after().is_none_or(ends_path))
        {
            break;
        }
        end = at + c.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::path_text_length;

    #[test]
    fn a_path_ends_at_a_final_period() {
        let length = |text| path_text_length(text, true);
        assert_eq!(length("/tmp/msg.txt."), 12);
        assert_eq!(length("/tmp/msg.txt. x"), 12);
        assert_eq!(length("a.)"), 1);
        assert_eq!(length("."), 1);
        assert_eq!(length(".."), 1);
        assert_eq!(length("../x "), 4);
        assert_eq!(length("a/{b}"), 2);
        assert_eq!(path_text_length(".", false), 0);
        assert_eq!(length("//host/a?b=c&d=e%20f rest"), 20);
    }
}
