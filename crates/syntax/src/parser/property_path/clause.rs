//! What holds for several handlers: clauses such as `guard { … }`, and parameters such as
//! `header <uuid> X-Key.`

use crate::ast::{
    ClauseKind, DeclaredType, ExpressionKind, ParameterPlace, PathClause, RequestParameter, Word,
};
use crate::parser::Parser;
use crate::{Diagnostic, TokenKind};

/// The mark of a guard whose handlers say each for itself who may.
const CLOSED: &str = "closed";

fn clause_kind(word: &str) -> Option<ClauseKind> {
    match word {
        "guard" => Some(ClauseKind::Guard),
        "with" => Some(ClauseKind::With),
        "find" => Some(ClauseKind::Find),
        "before" => Some(ClauseKind::Before),
        "after" => Some(ClauseKind::After),
        "rescue" => Some(ClauseKind::Rescue),
        _ => None,
    }
}

fn parameter_place(word: &str) -> Option<ParameterPlace> {
    match word {
        "query" => Some(ParameterPlace::Query),
        "header" => Some(ParameterPlace::Header),
        "cookie" => Some(ParameterPlace::Cookie),
        _ => None,
    }
}

impl Parser<'_> {
    /// Whether `guard { … }`, `find name { … }` or `rescue → <Failure> { … }` begins here.
    pub(in crate::parser) fn at_clause(&self) -> bool {
        let Some(kind) = clause_kind(self.word()) else { return false };
        let after = self.peek(self.next.span.end);
        if after.kind == TokenKind::Arrow {
            return kind == ClauseKind::Rescue;
        }
        if after.kind == TokenKind::OpenBrace {
            return true;
        }
        if after.kind != TokenKind::Name || after.newline {
            return false;
        }
        let next = self.peek(after.span.end);
        let closed = next.kind == TokenKind::Name && next.span.text(self.source()) == CLOSED;
        next.kind == TokenKind::OpenBrace
            || (closed && self.peek(next.span.end).kind == TokenKind::OpenBrace)
    }

    pub(in crate::parser) fn path_clause(&mut self) -> Option<PathClause> {
        let kind = clause_kind(self.word())?;
        let word = self.bump_as(TokenKind::Definition);
        let word = self.word_at(word);
        let mut name = self.clause_word();
        let mut closed = self.clause_word();
        if kind == ClauseKind::Guard && name.as_ref().is_some_and(|name| name.text == CLOSED) {
            closed = name.take();
        }
        if let Some(mark) = closed.as_ref().filter(|_| kind != ClauseKind::Guard) {
            let title = "only a guard is `closed`";
            self.note(
                Diagnostic::error(mark.span, title, "remove this word")
                    .hint("`guard user closed { … }` wants a rule of each handler"),
            );
        }
        let gives = matches!(kind, ClauseKind::With | ClauseKind::Find);
        let may_give = gives || kind == ClauseKind::Guard;
        if gives && name.is_none() {
            let title = format!("`{}` gives handlers a value and has no name for it", word.text);
            self.note(
                Diagnostic::error(word.span, title, "without a name")
                    .hint(format!("name the value: `{} user {{ … }}`", word.text)),
            );
        }
        if let Some(name) = name.as_ref().filter(|_| !may_give) {
            let title = format!("`{}` gives no value", word.text);
            self.note(
                Diagnostic::error(name.span, title, "remove this name")
                    .hint("`with name { … }` gives handlers a value"),
            );
        }
        let answer = match self.at(TokenKind::Arrow) {
            true => self.clause_answer(),
            false => None,
        };
        let body = self.expected_block("clause");
        Some(PathClause { kind, word, name, closed, answer, body })
    }

    fn clause_word(&mut self) -> Option<Word> {
        self.at(TokenKind::Name).then(|| {
            let word = self.bump();
            self.word_at(word)
        })
    }

    /// `→ <Failure>`
    fn clause_answer(&mut self) -> Option<DeclaredType> {
        self.bump();
        let kind = self.handler_type();
        if kind.is_none() && !self.recovering {
            self.error(
                Diagnostic::error(self.next.span, "the type is missing", "expected here")
                    .hint("name what it answers: `rescue → <Failure> { :error | … }`"),
            );
        }
        kind
    }

    /// Whether `header <type> name` begins here.
    pub(in crate::parser) fn at_request_parameter(&self) -> bool {
        parameter_place(self.word()).is_some()
            && self.is_type_at(self.peek(self.next.span.end).span.start)
    }

    pub(in crate::parser) fn request_parameter(&mut self) -> Option<RequestParameter> {
        let place = parameter_place(self.word())?;
        self.bump_as(TokenKind::Definition);
        let (kind, marks) = self.marked_type()?;
        if let Some(mark) = marks.first() {
            self.note(
                Diagnostic::error(mark.span, "a parameter has no marks", "not known")
                    .hint("a parameter is required unless its type has a `?` or it has a value"),
            );
        }
        if !self.at(TokenKind::Name) {
            self.error(
                Diagnostic::error(self.next.span, "the parameter has no name", "expected here")
                    .hint("write its name in requests: `header <uuid> X-Request-Id.`"),
            );
            return None;
        }
        let name = self.bump();
        let name = self.word_at(name);
        let default = self.parameter_default();
        Some(RequestParameter { place, name, kind: Some(kind), default })
    }

    /// `← 20`, `← 'newest'`
    fn parameter_default(&mut self) -> Option<Word> {
        if !self.at(TokenKind::Assign) {
            return None;
        }
        self.bump();
        let minus = self.word() == "-";
        let start = self.next.span.start;
        if minus {
            self.bump();
        }
        match self.kind() {
            TokenKind::Number | TokenKind::Name => {
                let literal = self.bump();
                Some(self.word_at(crate::Span::new(start, literal.end)))
            }
            TokenKind::Text if !minus && self.word().starts_with('\'') => {
                let literal = self.plain_text();
                let ExpressionKind::Text(text) = literal.kind else { return None };
                Some(Word { text, span: literal.span })
            }
            _ => {
                self.error(
                    Diagnostic::error(self.next.span, "the value is no literal", "expected here")
                        .hint("write a number, a text, true or false; a handler computes others: `limit ifNil: { … }`"),
                );
                None
            }
        }
    }
}
