//! Blocks: statements in braces, with parameters.

use super::{Mode, Parser};
use crate::ast::{Block, Parameter, Word};
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// `{ :a :b | statements }`; the next token is the brace.
    pub(super) fn block(&mut self) -> Block {
        let start = self.open();
        let block = self.within(Mode::STATEMENTS, |parser| {
            let parameters = parser.block_parameters();
            let statements = parser.statements(true);
            Block { parameters, statements, span: start }
        });
        self.close();
        Block { span: Span::new(start.start, self.at), ..block }
    }

    /// A block where one is expected, such as the body of a method.
    pub(super) fn expected_block(&mut self, of_what: &str) -> Block {
        if self.recovering {
            return Block::default();
        }
        if !self.at(TokenKind::OpenBrace) {
            self.error(
                Diagnostic::error(
                    self.next.span,
                    format!("the body of the {of_what} is missing"),
                    "expected `{` here",
                )
                .hint("write the statements in braces: `{ … }`"),
            );
            return Block::default();
        }
        if !self.enter() {
            return Block::default();
        }
        let block = self.beside(Self::block);
        self.leave();
        block
    }

    fn block_parameters(&mut self) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        while self.at(TokenKind::Colon) && !self.recovering {
            self.bump();
            // In `:a:b` the lexer takes `a:` for a keyword.
            if self.at(TokenKind::Keyword) {
                let name = self.take_until(self.next.span.end - 1, TokenKind::Name);
                parameters.push(Parameter { kind: None, name: self.word_at(name), default: None });
            } else if let Some(parameter) = self.parameter() {
                parameters.push(parameter);
            }
        }
        if parameters.is_empty() || self.recovering || self.eat(TokenKind::Bar) {
            return parameters;
        }
        if !self.at(TokenKind::CloseBrace) {
            self.error(
                Diagnostic::error(
                    self.next.span,
                    "`|` is missing after the parameters of the block",
                    "expected `|` before this",
                )
                .hint("write the block as `{ :a :b | … }`"),
            );
            self.recovering = false;
        }
        parameters
    }

    /// `<type>name`, with the type optional.
    pub(super) fn parameter(&mut self) -> Option<Parameter> {
        let kind = self.optional_type();
        if !self.at(TokenKind::Name) {
            self.error(
                Diagnostic::error(self.next.span, "a parameter name is missing", "expected a name")
                    .hint("write a name, or a type and a name such as `<int>count`"),
            );
            return None;
        }
        self.check_name();
        let name = self.bump();
        Some(Parameter { kind, name: self.word_at(name), default: None })
    }

    /// `<type>` when one stands here.
    pub(super) fn optional_type(&mut self) -> Option<Word> {
        let (kind, marks) = self.named_type()?;
        if let Some(mark) = marks.first() {
            let recovering = self.recovering;
            self.error(
                Diagnostic::error(mark.span, "a type here has one name", "not expected")
                    .hint("only the variables of a class take marks: `var <int required> age.`"),
            );
            self.recovering = recovering;
        }
        Some(kind)
    }

    /// `<type mark …>` when one stands here, of names alone.
    fn named_type(&mut self) -> Option<(Word, Vec<Word>)> {
        let start = self.next.span.start;
        if !self.at(TokenKind::Operator) || !self.rest(start).starts_with('<') {
            return None;
        }
        let mut spans: Vec<Span> = Vec::new();
        let mut at = start + 1;
        loop {
            let length = crate::lexer::name_length(self.rest(at)) as u32;
            if length == 0 {
                break;
            }
            spans.push(Span::new(at, at + length));
            let rest = self.rest(at + length);
            at += length + (rest.len() - rest.trim_start_matches(' ').len()) as u32;
        }
        if spans.is_empty() || !self.rest(at).starts_with('>') {
            self.error(
                Diagnostic::error(self.next.span, "this is not a type", "expected `<type>`")
                    .hint("write the type in angle brackets, such as `<int>`"),
            );
            return None;
        }
        self.take_until(start + 1, TokenKind::Operator);
        for span in &spans {
            self.take_until(span.end, TokenKind::Name);
        }
        self.take_until(at + 1, TokenKind::Operator);
        let mut words = spans.into_iter().map(|span| self.word_at(span));
        let kind = words.next()?;
        Some((kind, words.collect()))
    }
}
