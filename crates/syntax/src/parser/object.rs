//! Literals with a class or a tag, and the pairs in their braces.

use super::literal::Commas;
use super::{Mode, Parser};
use crate::ast::{Expression, ExpressionKind, Pair};
use crate::characters::begins_name;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// `#name`, `#Class{ … }`, `#tag{ … }[ … ]`, `#Class[ … ]`, `#Class( … )`; the next token is
    /// the `#`.
    pub(super) fn symbol_or_object(&mut self) -> Expression {
        let hash = self.next.span;
        let length = crate::lexer::name_length(self.rest(hash.end)) as u32;
        let name = Span::new(hash.end, hash.end + length);
        let after = self.rest(name.end);
        let braced = after.trim_start_matches([' ', '\t']).starts_with('{');
        if !braced && !after.starts_with(['[', '(']) {
            let end = self.symbol_end(name.start);
            let span = self.take_until(end, TokenKind::Symbol);
            let text = self.text(Span::new(name.start, end)).to_owned();
            return Expression { kind: ExpressionKind::Symbol(text), span };
        }
        self.take_until(name.end, TokenKind::Symbol);
        let plain_array =
            after.starts_with('(') || (after.starts_with('[') && is_class(self.text(name)));
        self.nested(|parser| {
            let class = parser.word_at(name);
            let kind = if plain_array {
                ExpressionKind::Array { class: Some(class), elements: parser.elements() }
            } else {
                let pairs = braced.then(|| parser.list_of_pairs(true));
                let has_children =
                    parser.at(TokenKind::OpenBracket) && parser.touches() && !parser.recovering;
                let children = has_children.then(|| parser.elements());
                ExpressionKind::Object { class, pairs, children }
            };
            Expression { kind, span: Span::new(hash.start, parser.at) }
        })
    }

    /// `{ key: value, … }`
    pub(super) fn pairs(&mut self) -> Vec<Pair> {
        self.list_of_pairs(false)
    }

    /// Pairs in braces; with `periods` a period may stand for the comma, as programs of the original
    /// write `#Class{ key: value. }`.
    fn list_of_pairs(&mut self, periods: bool) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let mut commas = Commas::default();
        self.open();
        self.within(Mode::ELEMENTS, |parser| {
            while !parser.at_list_end() {
                if let Some(pair) = parser.pair() {
                    pairs.push(pair);
                }
                let ended = periods && parser.takes_period();
                if !ended && !parser.separator("pairs", &mut commas) {
                    break;
                }
            }
        });
        self.close();
        pairs
    }

    /// Takes the period that ends a pair: the closing brace or the next key follows it.
    fn takes_period(&mut self) -> bool {
        if self.recovering || !self.at(TokenKind::Period) {
            return false;
        }
        let after = self.peek(self.next.span.end);
        let is_key = match after.kind {
            // A keyword that a path touches begins a statement: the brace was forgotten.
            TokenKind::Keyword => !self.path_follows(after.span.end),
            TokenKind::Hash => {
                let name = self.rest(after.span.end);
                let length = crate::lexer::name_length(name);
                length > 0 && name[length..].starts_with(':')
            }
            _ => false,
        };
        let ends = is_key || after.kind == TokenKind::CloseBrace;
        ends && self.eat(TokenKind::Period)
    }

    fn pair(&mut self) -> Option<Pair> {
        let key = self.key()?;
        let value = self.expression();
        Some(Pair { key, value })
    }

    /// The key of a pair and the colon behind it.
    fn key(&mut self) -> Option<Expression> {
        let start = self.next.span.start;
        let symbol = |parser: &Self, from: u32, to: u32, end: u32| {
            let text = parser.text(Span::new(from, to)).to_owned();
            Expression { kind: ExpressionKind::Symbol(text), span: Span::new(start, end) }
        };
        let key = match self.kind() {
            TokenKind::Keyword => {
                let colon = self.next.span.end - 1;
                self.take_until(colon, TokenKind::Symbol);
                symbol(self, start, colon, colon)
            }
            TokenKind::Name => {
                let end = self.bump_as(TokenKind::Symbol).end;
                symbol(self, start, end, end)
            }
            TokenKind::Hash if self.rest(start + 1).starts_with(begins_name) => {
                let end = start + 1 + crate::lexer::name_length(self.rest(start + 1)) as u32;
                self.take_until(end, TokenKind::Symbol);
                symbol(self, start + 1, end, end)
            }
            TokenKind::Hash
            | TokenKind::Text
            | TokenKind::Quote
            | TokenKind::Number
            | TokenKind::Operator
            | TokenKind::Implicit
            | TokenKind::OpenParen => self.beside(Self::operand),
            _ => {
                self.error(
                    Diagnostic::error(self.next.span, "a key is missing", "expected `key: value`")
                        .hint("write a name with a colon before the value, as in `title: 'x'`"),
                );
                return None;
            }
        };
        if !self.recovering && !self.eat(TokenKind::Colon) {
            self.missing_colon(key.span);
        }
        (!self.recovering).then_some(key)
    }

    fn missing_colon(&mut self, key: Span) {
        let hint = match self.kind() {
            TokenKind::Assign => "in a literal the value stands after a colon: `key: value`",
            TokenKind::Comma | TokenKind::CloseBrace => {
                "write `key: value`, or use `[ … ]` for a list"
            }
            _ => "write a colon between the key and its value",
        };
        self.error(
            Diagnostic::error(self.next.span, "a colon is missing after the key", "expected `:`")
                .also(key, "the key")
                .hint(hint),
        );
    }
}

/// Whether a name is that of a class: a capital first, and no minus as in the tag of an element.
fn is_class(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains('-')
}
