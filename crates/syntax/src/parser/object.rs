//! Literals with a class or a tag, and the pairs in their braces.

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
                let pairs = braced.then(|| parser.pairs());
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
        let mut pairs = Vec::new();
        self.open();
        self.within(Mode::ELEMENTS, |parser| {
            while !parser.at_list_end() {
                if let Some(pair) = parser.pair() {
                    pairs.push(pair);
                }
                if !parser.separator("pairs") {
                    break;
                }
            }
        });
        self.close();
        pairs
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
