//! Which words begin a definition, and the definition of a template.

use super::Parser;
use crate::ast::{ClassKeyword, Expression, ExpressionKind, StatementKind, Word};
use crate::lexer::Lexeme;
use crate::{Diagnostic, Span, TokenKind};

/// What a definition defines.
#[derive(Clone, Copy)]
pub(super) enum Definition {
    Class(ClassKeyword),
    Template,
}

impl Parser<'_> {
    /// Whether a definition begins with the token. The words are ordinary names elsewhere, so a
    /// name and a brace, a bar or a colon must follow, or a name with a capital.
    pub(super) fn definition_at(&self, word: &Lexeme) -> Option<Definition> {
        let definition = match self.text(word.span) {
            "class" => Definition::Class(ClassKeyword::Class),
            "extension" => Definition::Class(ClassKeyword::Extension),
            "scheme" => Definition::Class(ClassKeyword::Scheme),
            "filter" => Definition::Class(ClassKeyword::Filter),
            "system" => Definition::Class(ClassKeyword::System),
            "protocol" => Definition::Class(ClassKeyword::Protocol),
            "connector" => Definition::Class(ClassKeyword::Connector),
            "notification" => Definition::Class(ClassKeyword::Notification),
            "object" => Definition::Template,
            _ => return None,
        };
        if word.kind != TokenKind::Name {
            return None;
        }
        let name = self.peek(word.span.end);
        if !matches!(name.kind, TokenKind::Name | TokenKind::Keyword) {
            return None;
        }
        let capital = self.text(name.span).starts_with(|c: char| c.is_ascii_uppercase());
        // `class` and `Name:` on two lines are one definition: put on one line they would be.
        if name.newline && !(capital && name.kind == TokenKind::Keyword) {
            return None;
        }
        let after = self.peek(name.span.end);
        let follows = match (name.kind, after.kind) {
            // `class name: Base {` and `object name: #Class{ … }`
            (TokenKind::Keyword, TokenKind::Name) => {
                let brace = self.peek(after.span.end);
                brace.kind == TokenKind::OpenBrace && !brace.newline
            }
            (TokenKind::Keyword, TokenKind::Hash) => {
                matches!(definition, Definition::Template) && !after.newline
            }
            (_, TokenKind::OpenBrace | TokenKind::Colon) => true,
            (_, TokenKind::Bar) => self.rest(after.span.end).starts_with('{'),
            _ => false,
        };
        (follows || capital).then_some(definition)
    }

    pub(super) fn definition(&mut self, definition: Definition) -> StatementKind {
        match definition {
            Definition::Class(keyword) => {
                if !self.enter() {
                    return StatementKind::Error;
                }
                let class = self.class(keyword);
                self.leave();
                self.grow();
                StatementKind::Class(class)
            }
            Definition::Template => self.template(),
        }
    }

    /// The name that is defined; a colon that touches it is left.
    pub(super) fn defined_name(&mut self) -> Word {
        self.check_name();
        let colon = u32::from(self.at(TokenKind::Keyword));
        let name = self.take_until(self.next.span.end - colon, TokenKind::Name);
        self.word_at(name)
    }

    /// `object Name : #Class{ … }`
    fn template(&mut self) -> StatementKind {
        self.bump_as(TokenKind::Definition);
        let name = self.defined_name();
        let value = if self.eat(TokenKind::Colon) {
            self.operand()
        } else {
            Expression { kind: ExpressionKind::Error, span: Span::new(self.at, self.at) }
        };
        if !matches!(value.kind, ExpressionKind::Object { .. } | ExpressionKind::Array { .. }) {
            self.error(
                Diagnostic::error(
                    self.next.span,
                    "the template has no object",
                    "expected before this",
                )
                .also(name.span, "this template")
                .hint("write `object Name : #Class{ key: value }`"),
            );
        }
        StatementKind::Template { name, value }
    }
}
