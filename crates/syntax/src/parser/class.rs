//! Classes and the other definitions with members: their variables, with values, and the rules of
//! both.

pub(super) mod declared;

use super::Parser;
use crate::ast::{Class, ClassKeyword, Expression, ExpressionKind, Member, MemberKind, Rule, Word};
use crate::lexer::at_line_start;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// A definition; the next token is the keyword.
    pub(super) fn class(&mut self, keyword: ClassKeyword) -> Class {
        let start = self.bump_as(TokenKind::Definition).start;
        let name = self.defined_name();
        let superclass = self.superclass();
        let outer = std::mem::replace(&mut self.in_class, true);
        let members = self.class_body(keyword, &name);
        self.in_class = outer;
        Class { keyword, name, superclass, members, span: Span::new(start, self.at) }
    }

    fn superclass(&mut self) -> Option<Word> {
        if !self.eat(TokenKind::Colon) {
            return None;
        }
        if !self.at(TokenKind::Name) {
            self.error(
                Diagnostic::error(self.next.span, "the superclass is missing", "expected a name")
                    .hint("write `class Name : Superclass { … }`, or leave the colon out"),
            );
            return None;
        }
        let name = self.bump();
        Some(self.word_at(name))
    }

    fn class_body(&mut self, keyword: ClassKeyword, name: &Word) -> Vec<Member> {
        if self.recovering {
            return Vec::new();
        }
        if self.at_filter_body() {
            return vec![self.beside(Self::filter_body)];
        }
        if !self.at(TokenKind::OpenBrace) {
            self.error(
                Diagnostic::error(
                    self.next.span,
                    "the definition has no body",
                    "expected `{` here",
                )
                .also(name.span, "this definition")
                .hint(format!("write the members in braces: `{} {{ … }}`", name.text)),
            );
            return Vec::new();
        }
        self.open();
        let without_bodies = matches!(
            keyword,
            ClassKeyword::Protocol | ClassKeyword::Connector | ClassKeyword::Notification
        );
        let members = self.within(super::Mode::STATEMENTS, |parser| parser.members(without_bodies));
        self.close();
        members
    }

    fn members(&mut self, without_bodies: bool) -> Vec<Member> {
        let mut members = Vec::new();
        loop {
            let start = self.next.span.start;
            match self.kind() {
                TokenKind::End | TokenKind::CloseBrace => return members,
                TokenKind::Period => {
                    self.bump();
                    continue;
                }
                TokenKind::Quote => {
                    self.member_comment();
                    continue;
                }
                kind if kind.closes() => {
                    if !self.stray_closer() {
                        return members;
                    }
                }
                TokenKind::Name
                    if at_line_start(self.source(), start as usize)
                        && self.definition_at(&self.next).is_some() =>
                {
                    return members;
                }
                _ => members.push(self.beside(|parser| parser.member(without_bodies))),
            }
            if self.recovering {
                self.skip_member(start);
            }
        }
    }

    fn member(&mut self, without_bodies: bool) -> Member {
        let start = self.next.span.start;
        let kind = match self.rest(start).chars().next() {
            Some('-' | '+') => self.method(without_bodies),
            Some('/') => self.property_path(),
            _ if self.at_filter_body() => return self.filter_body(),
            _ if self.word() == "var" && self.is_declaration() => {
                self.bump_as(TokenKind::Definition);
                let mut declaration = self.variables();
                declaration.default = self.default_value(&declaration.names);
                self.end_of_declaration();
                MemberKind::Variables(declaration)
            }
            _ if self.at_rule() => {
                let kind = self.rule();
                self.end_of_declaration();
                kind
            }
            _ if self.at_clause() => match self.path_clause() {
                Some(clause) => MemberKind::Clause(clause),
                None => MemberKind::Error,
            },
            _ if self.at_request_parameter() => {
                let parameter = self.request_parameter();
                self.end_of_declaration();
                parameter.map_or(MemberKind::Error, MemberKind::Parameter)
            }
            _ => {
                self.error(
                    Diagnostic::error(self.next.span, "this is no member of a class", "here")
                        .hint("members are `var name.`, `-method { … }`, `/path { get { … } }`"),
                );
                MemberKind::Error
            }
        };
        Member { kind, span: Span::new(start, self.at.max(start)) }
    }

    fn end_of_declaration(&mut self) {
        let ends = self.next.newline
            || matches!(self.kind(), TokenKind::Period | TokenKind::End | TokenKind::CloseBrace);
        if self.recovering || ends {
            return;
        }
        self.error(
            Diagnostic::error(self.next.span, "the declaration does not end here", "unexpected")
                .hint("write `.` after the declaration, and `,` between several names"),
        );
    }

    fn at_filter_body(&self) -> bool {
        self.at(TokenKind::Bar) && self.rest(self.next.span.end).starts_with('{')
    }

    /// `|{ … }`
    fn filter_body(&mut self) -> Member {
        let start = self.bump().start;
        let kind = MemberKind::FilterBody(self.expected_block("filter"));
        Member { kind, span: Span::new(start, self.at) }
    }

    /// Skips to the next line that begins a member, or to the end of the class.
    fn skip_member(&mut self, start: u32) {
        if self.at <= start && !self.kind().closes() {
            self.bump();
        }
        loop {
            self.skip();
            let begins = match self.rest(self.next.span.start).chars().next() {
                Some('-' | '+' | '/' | '|') => self.next.newline,
                _ if self.at(TokenKind::Name) => {
                    self.word() == "var"
                        || self.at_rule()
                        || self.at_clause()
                        || self.definition_at(&self.next).is_some()
                }
                _ => false,
            };
            if begins || self.at(TokenKind::End) || self.kind().closes() {
                break;
            }
            self.bump();
        }
        self.recovering = self.at(TokenKind::End);
    }

    /// `← value` behind the name of a variable.
    pub(super) fn default_value(&mut self, names: &[Word]) -> Option<(Word, Expression)> {
        if !self.at(TokenKind::Assign) || matches!(self.word(), "+=" | "|=" | "=|=") {
            return None;
        }
        let mark = self.bump();
        let mark = self.word_at(mark);
        if names.len() > 1 {
            self.note(
                Diagnostic::error(mark.span, "several variables have no common value", "here")
                    .hint("declare each with its value: `var a ← 0. var b ← 0.`"),
            );
        }
        Some((mark, self.beside(Self::expression)))
    }

    /// Whether `refuse { … }` or `check: #field { … }` begins here.
    pub(super) fn at_rule(&self) -> bool {
        match self.word() {
            "refuse" => self.peek(self.next.span.end).kind == TokenKind::OpenBrace,
            "check:" => self.peek(self.next.span.end).kind == TokenKind::Hash,
            _ => false,
        }
    }

    pub(super) fn rule(&mut self) -> MemberKind {
        let word = self.bump_as(TokenKind::Definition);
        let refuses = !self.text(word).ends_with(':');
        let mut field = None;
        if !refuses {
            field = self.symbol();
        }
        let condition = self.expected_block("rule");
        if self.recovering {
            return MemberKind::Error;
        }
        if self.word() != "message:" {
            self.error(
                Diagnostic::error(self.next.span, "the rule has no message", "expected `message:`")
                    .hint("say what is wrong: `refuse { until < from } message: 'ends too early'`"),
            );
            return MemberKind::Error;
        }
        self.bump();
        let message = self.operand();
        if refuses && self.word() == "at:" {
            self.bump();
            field = self.symbol();
        }
        if self.recovering || matches!(message.kind, ExpressionKind::Error) {
            return MemberKind::Error;
        }
        MemberKind::Rule(Box::new(Rule { refuses, field, condition, message }))
    }

    /// `#field`
    fn symbol(&mut self) -> Option<Word> {
        let name = self.peek(self.next.span.end);
        if !self.at(TokenKind::Hash) || name.kind != TokenKind::Name || name.spaced {
            self.error(
                Diagnostic::error(self.next.span, "the variable is missing", "expected `#name`")
                    .hint("name the variable that the message is about: `#until`"),
            );
            return None;
        }
        self.bump();
        let name = self.bump_as(TokenKind::Symbol);
        Some(self.word_at(name))
    }
}
