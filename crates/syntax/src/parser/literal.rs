//! Operands: names, numbers, symbols, brackets, and what is reported where none stands.

use super::{Mode, Parser};
use crate::ast::{Expression, ExpressionKind};
use crate::characters::{begins_name, continues_name};
use crate::{Diagnostic, Span, TokenKind};

/// The commas of one list.
#[derive(Default)]
pub(super) struct Commas {
    /// One was missing, and it was reported: the others are the same mistake.
    are_missing: bool,
}

impl Parser<'_> {
    /// An operand. Where none stands, nothing is taken.
    pub(super) fn operand(&mut self) -> Expression {
        match self.kind() {
            TokenKind::Name => {
                self.check_name();
                let span = self.bump();
                Expression { kind: ExpressionKind::Name(self.text(span).to_owned()), span }
            }
            TokenKind::Implicit => {
                let span = self.bump();
                Expression { kind: ExpressionKind::Implicit(self.text(span)[1..].to_owned()), span }
            }
            TokenKind::Keyword => self.reference(),
            TokenKind::Number => self.number(),
            TokenKind::Operator if self.at_negative_number() => self.number(),
            TokenKind::Operator if self.pattern_end().is_some() => self.pattern(),
            TokenKind::Text => self.plain_text(),
            TokenKind::Quote => self.nested(Self::interpolated_text),
            TokenKind::Hash => self.hash(),
            TokenKind::OpenParen => self.nested(Self::parenthesized),
            TokenKind::OpenBracket => self.nested(|parser| parser.array(false)),
            TokenKind::OpenBrace => self.nested(|parser| {
                let block = parser.block();
                Expression { span: block.span, kind: ExpressionKind::Block(block) }
            }),
            _ => self.missing_operand(),
        }
    }

    /// A bracketed operand: one level deeper, and one node higher than what is in it.
    pub(super) fn nested(&mut self, part: impl FnOnce(&mut Self) -> Expression) -> Expression {
        if !self.enter() {
            return self.failed();
        }
        let expression = part(self);
        self.leave();
        self.grow();
        expression
    }

    /// What stands for an expression that could not be read.
    pub(super) fn failed(&self) -> Expression {
        Expression { kind: ExpressionKind::Error, span: Span::new(self.at, self.at) }
    }

    /// A minus sign that touches the digits behind it.
    fn at_negative_number(&self) -> bool {
        self.word() == "-"
            && self.rest(self.next.span.end).starts_with(|c: char| c.is_ascii_digit())
    }

    fn parenthesized(&mut self) -> Expression {
        let start = self.open();
        let inner = self.within(Mode::GROUP, Self::expression);
        self.close();
        let span = Span::new(start.start, self.at);
        Expression { kind: ExpressionKind::Parenthesized(Box::new(inner)), span }
    }

    /// The elements in brackets; `literals` without commas are the array literal of Smalltalk.
    fn array(&mut self, literals: bool) -> Expression {
        let start = self.next.span.start;
        let elements = self.list(literals);
        let span = Span::new(start, self.at);
        Expression { kind: ExpressionKind::Array { class: None, elements }, span }
    }

    /// `#` and what follows it.
    fn hash(&mut self) -> Expression {
        let start = self.next.span.start;
        match self.rest(self.next.span.end).chars().next() {
            Some(bracket @ ('(' | '[')) => {
                self.bump();
                let mut array = self.nested(|parser| parser.array(bracket == '('));
                array.span.start = start;
                array
            }
            Some('{') => {
                self.bump();
                self.nested(|parser| {
                    let pairs = parser.pairs();
                    let span = Span::new(start, parser.at);
                    Expression { kind: ExpressionKind::Dictionary(pairs), span }
                })
            }
            Some('\'' | '‘' | '’') => {
                self.bump();
                let text = self.plain_text();
                let ExpressionKind::Text(name) = text.kind else { return text };
                let span = Span::new(start, text.span.end);
                Expression { kind: ExpressionKind::Symbol(name), span }
            }
            Some(c) if begins_name(c) => self.symbol_or_object(),
            _ => {
                self.error(
                    Diagnostic::error(self.next.span, "`#` begins nothing here", "here").hint(
                        "write a symbol `#name`, an object `#Name{ … }`, or `//` for a comment",
                    ),
                );
                self.failed()
            }
        }
    }

    /// The end of a symbol whose name begins at the place: `name`, `at:put:`.
    pub(super) fn symbol_end(&self, start: u32) -> u32 {
        let mut end = start;
        loop {
            end += crate::lexer::name_length(self.rest(end)) as u32;
            let rest = self.rest(end);
            if !rest.starts_with(':') || rest.starts_with(":=") || rest.starts_with("::") {
                return end;
            }
            end += 1;
            if !self.rest(end).starts_with(begins_name) {
                return end;
            }
        }
    }

    /// Elements in brackets, separated by commas.
    pub(super) fn elements(&mut self) -> Vec<Expression> {
        self.list(false)
    }

    fn list(&mut self, literals: bool) -> Vec<Expression> {
        let mut elements = Vec::new();
        let mut commas = Commas::default();
        self.open();
        self.within(Mode::ELEMENTS, |parser| {
            while !parser.at_list_end() {
                elements.push(parser.expression());
                let adjacent = literals && parser.is_beside_literal(elements.last());
                if !adjacent && !parser.separator("elements", &mut commas) {
                    break;
                }
            }
        });
        self.close();
        elements
    }

    /// Whether a number or a text follows another one: `#( 1 'two' 3 )`.
    fn is_beside_literal(&self, before: Option<&Expression>) -> bool {
        let is_literal = before.is_some_and(|element| {
            matches!(
                element.kind,
                ExpressionKind::Integer(_) | ExpressionKind::Float(_) | ExpressionKind::Text(_)
            )
        });
        let follows = matches!(self.kind(), TokenKind::Number | TokenKind::Text);
        is_literal && follows && !self.recovering
    }

    pub(super) fn at_list_end(&self) -> bool {
        self.at(TokenKind::End) || self.kind().closes() || self.begins_anew(&self.next)
    }

    /// The comma after an element; `false` when no further element can follow.
    pub(super) fn separator(&mut self, of_what: &str, commas: &mut Commas) -> bool {
        if self.recovering {
            self.skip();
            // Reading is in step again at a comma; otherwise the list ends with the fault.
            self.recovering = !self.at(TokenKind::Comma);
        }
        if self.eat(TokenKind::Comma) {
            return true;
        }
        if self.recovering || self.at_list_end() || self.at(TokenKind::Period) {
            return false;
        }
        if commas.are_missing {
            self.recovering = true;
        } else {
            let title = format!("a comma is missing between the {of_what}");
            self.error(
                Diagnostic::error(self.next.span, title, "expected `,` before this")
                    .hint(format!("write a comma between all {of_what}")),
            );
        }
        commas.are_missing = true;
        let begins = matches!(
            self.kind(),
            TokenKind::Number
                | TokenKind::Text
                | TokenKind::Quote
                | TokenKind::Hash
                | TokenKind::Implicit
                | TokenKind::Keyword
                | TokenKind::OpenParen
                | TokenKind::OpenBracket
                | TokenKind::OpenBrace
        );
        self.recovering = !begins;
        begins || self.separator(of_what, commas)
    }

    /// Reports a name with letters beyond ASCII, except those that are one such letter.
    pub(super) fn check_name(&mut self) {
        let name = self.word();
        if name.is_ascii() || name.chars().count() == 1 {
            return;
        }
        self.note(
            Diagnostic::error(self.next.span, "a name is made of the letters a to z", "this name")
                .hint(
                    "use letters, digits, `_` and `-`; a letter such as `π` is a name on its own",
                ),
        );
    }

    /// Reports that an operand is missing.
    pub(super) fn missing_operand(&mut self) -> Expression {
        let span = self.next.span;
        let found = self.word();
        let before = self.tokens.last().map(|token| token.span);
        let error = match self.kind() {
            TokenKind::Caret => Diagnostic::error(span, "`^` stands inside an expression", "here")
                .hint("`^` begins a statement: `^ value`"),
            TokenKind::Operator if self.rest(span.end).starts_with(continues_name) => {
                let title = format!("`{found}` has nothing on its left");
                let hint = match found {
                    "-" => "a name is negated by a message: `x negated`",
                    "/" => "a property path stands in a class: `scheme Name { /path { … } }`",
                    _ => "write a value before it",
                };
                Diagnostic::error(span, title, "expected a value before this").hint(hint)
            }
            TokenKind::Unknown => self.unknown_character(),
            _ => {
                let title = match before {
                    Some(before) if !self.text(before).is_empty() => {
                        format!("something is missing after `{}`", self.text(before))
                    }
                    _ => "an expression is missing".to_owned(),
                };
                let (place, label) = match before {
                    Some(before) if self.next.newline => (before, "nothing follows on this line"),
                    _ => (span, "expected an expression here"),
                };
                Diagnostic::error(place, title, label)
                    .hint("write a value: a name, a number, a text, or a part in parentheses")
            }
        };
        self.error(error);
        self.failed()
    }

    /// What to say of a character that begins no token.
    pub(super) fn unknown_character(&self) -> Diagnostic {
        let c = self.word();
        let hint = match c {
            "“" | "”" | "„" => "write straight quotes: `\"`",
            "–" | "—" | "−" => "write a minus sign: `-`",
            "\\" => "an escape stands inside a text only",
            "`" => "a text stands in `'…'` or `\"…\"`",
            "$" => "a parameter of a block is written `$0` or `$name`",
            _ => "remove it, or put it into a text",
        };
        Diagnostic::error(self.next.span, format!("`{c}` means nothing here"), "here").hint(hint)
    }
}
