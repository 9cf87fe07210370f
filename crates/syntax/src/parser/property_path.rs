//! Property paths: `/path/:parameter { get { … } put { … } /below { … } }`.

mod address;
mod clause;
mod handler;

use super::Parser;
use crate::ast::{MemberKind, PathMember, PathMemberKind, PathVerb, PropertyPath};
use crate::lexer::begins_line;
use crate::{Diagnostic, Span, TokenKind};
use address::read_address;

impl Parser<'_> {
    /// A property path; the next token begins with its slash.
    pub(super) fn property_path(&mut self) -> MemberKind {
        match self.path_with_members() {
            Some(path) => MemberKind::PropertyPath(path),
            None => MemberKind::Error,
        }
    }

    fn path_with_members(&mut self) -> Option<PropertyPath> {
        let start = self.next.span.start;
        let address = read_address(self.source(), start);
        self.take_until(address.whole.end, TokenKind::Path);
        address.faults.into_iter().for_each(|fault| self.note(fault));
        let pattern = self.word_at(address.pattern);
        if !self.at(TokenKind::OpenBrace) {
            self.error(
                Diagnostic::error(self.next.span, "the property path has no body", "expected `{`")
                    .also(pattern.span, "this path")
                    .hint("write what it answers: `/path { get { … } }`"),
            );
            return None;
        }
        self.open();
        let members = self.within(super::Mode::STATEMENTS, |parser| parser.path_members(start));
        self.close();
        let address_word = self.word_at(address.whole);
        Some(PropertyPath {
            segments: address.segments,
            pattern,
            address: address_word,
            parameters: address.parameters,
            members,
        })
    }

    /// The members in the braces of the path that begins at a place.
    fn path_members(&mut self, outer: u32) -> Vec<PathMember> {
        let mut members = Vec::new();
        loop {
            match self.kind() {
                TokenKind::Period => {
                    self.bump();
                    continue;
                }
                TokenKind::Quote => {
                    self.member_comment();
                    continue;
                }
                TokenKind::End => return members,
                kind if kind.closes() => return members,
                _ => {}
            }
            let start = self.next.span.start;
            let Some(kind) = self.path_member(outer) else { return members };
            members.push(PathMember { kind, span: Span::new(start, self.at.max(start)) });
            if self.recovering {
                return members;
            }
        }
    }

    fn path_member(&mut self, outer: u32) -> Option<PathMemberKind> {
        if self.at_path_below(outer) {
            if !self.enter() {
                return None;
            }
            let path = self.path_with_members();
            self.leave();
            return path.map(PathMemberKind::Path);
        }
        if self.begins_member(&self.next) {
            return None;
        }
        if self.at_clause() {
            return self.path_clause().map(PathMemberKind::Clause);
        }
        if self.at_request_parameter() {
            return self.request_parameter().map(PathMemberKind::Parameter);
        }
        let Some(verb) = path_verb(self.word()) else {
            self.unknown_verb();
            return None;
        };
        Some(PathMemberKind::Handler(Box::new(self.path_handler(verb))))
    }

    /// Whether a path begins here that lies below the outer one: on a line of its own it stands
    /// further to the right, as otherwise the brace of the outer one is missing.
    fn at_path_below(&self, outer: u32) -> bool {
        let start = self.next.span.start;
        let source = self.source();
        if !self.rest(start).starts_with('/') {
            return false;
        }
        let column = |at: u32| {
            let before = &source[..at as usize];
            before.len() - before.rfind('\n').map_or(0, |end| end + 1)
        };
        let alone = begins_line(source, start as usize) && begins_line(source, outer as usize);
        !alone || column(start) > column(outer)
    }

    fn unknown_verb(&mut self) {
        let title = format!("`{}` is no verb of a property path", self.word());
        self.error(
            Diagnostic::error(self.next.span, title, "expected a verb here")
                .hint("the verbs are get, put, post, merge, delete and list: `get { … }`"),
        );
    }
}

/// The verb that is written so.
pub(super) fn path_verb(word: &str) -> Option<PathVerb> {
    match word {
        "get" | "|=" => Some(PathVerb::Get),
        "put" | "=|" => Some(PathVerb::Put),
        "post" | "+=" => Some(PathVerb::Post),
        "merge" => Some(PathVerb::Merge),
        "delete" => Some(PathVerb::Delete),
        "list" => Some(PathVerb::List),
        _ => None,
    }
}
