//! Property paths: `/path/:parameter { get { … } put { … } }`.

use super::Parser;
use crate::ast::{Block, MemberKind, Parameter, PathVerb, PropertyPath, Segment, Word};
use crate::lexer::name_length;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// A property path; the next token begins with its slash.
    pub(super) fn property_path(&mut self) -> MemberKind {
        let start = self.next.span.start;
        let rest = self.rest(start);
        let length = rest.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(rest.len());
        let pattern = self.take_until(start + length as u32, TokenKind::Path);
        let segments = self.segments(pattern);
        let pattern = self.word_at(pattern);
        if !self.at(TokenKind::OpenBrace) {
            self.error(
                Diagnostic::error(self.next.span, "the property path has no body", "expected `{`")
                    .also(pattern.span, "this path")
                    .hint("write what it answers: `/path { get { … } }`"),
            );
            return MemberKind::Error;
        }
        self.open();
        let verbs = self.within(super::Mode::STATEMENTS, Self::verbs);
        self.close();
        MemberKind::PropertyPath(PropertyPath { segments, pattern, verbs })
    }

    fn segments(&mut self, pattern: Span) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut at = pattern.start + 1;
        let text = self.text(pattern);
        let text = text[1..].strip_suffix('/').unwrap_or(&text[1..]);
        if text.is_empty() || text == "." {
            return segments;
        }
        for piece in text.split('/') {
            let span = Span::new(at, at + piece.len() as u32);
            at = span.end + 1;
            match self.segment(span) {
                Ok(segment) => segments.push(segment),
                Err((title, hint)) => {
                    self.note(Diagnostic::error(span, title, "here").hint(hint));
                }
            }
        }
        if let Some(at) = segments.iter().position(|segment| matches!(segment, Segment::Rest(_)))
            && at + 1 < segments.len()
        {
            self.note(
                Diagnostic::error(
                    pattern,
                    "`*` stands for everything that follows",
                    "more follows",
                )
                .hint("let the path end with `*`, or name single segments with `:name`"),
            );
        }
        segments
    }

    fn segment(&self, span: Span) -> Result<Segment, (&'static str, &'static str)> {
        const NAMED: &str = "a parameter is written `:name` or `:<type>name`";
        let text = self.text(span);
        let word = |from: usize| self.word_at(Span::new(span.start + from as u32, span.end));
        let is_name = |text: &str| name_length(text) == text.len() && !text.is_empty();
        if text.is_empty() {
            return Err(("a segment of the path is empty", "remove one of the slashes"));
        }
        if let Some(rest) = text.strip_prefix('*') {
            return match rest.strip_prefix(':') {
                Some(name) if is_name(name) => Ok(Segment::Rest(Some(word(2)))),
                None if rest.is_empty() => Ok(Segment::Rest(None)),
                _ => Err(("this is no segment of a path", "write `*` or `*:name`")),
            };
        }
        let Some(parameter) = text.strip_prefix(':') else {
            return Ok(Segment::Literal(word(0)));
        };
        let (kind, name) = match parameter.strip_prefix('<').and_then(|p| p.split_once('>')) {
            Some((kind, name)) => (Some(kind), name),
            None => (None, parameter),
        };
        if !is_name(name) || kind.is_some_and(|kind| !is_name(kind)) {
            return Err(("this is no parameter of a path", NAMED));
        }
        let kind = kind.map(|kind| {
            let start = span.start + 2;
            self.word_at(Span::new(start, start + kind.len() as u32))
        });
        Ok(Segment::Parameter(Parameter { kind, name: word(text.len() - name.len()) }))
    }

    fn verbs(&mut self) -> Vec<(PathVerb, Word, Block)> {
        let mut verbs = Vec::new();
        loop {
            match self.kind() {
                TokenKind::Period => {
                    self.bump();
                }
                TokenKind::Quote => self.member_comment(),
                TokenKind::End => return verbs,
                kind if kind.closes() => return verbs,
                _ if self.begins_member(&self.next) => return verbs,
                _ => {
                    let Some(verb) = path_verb(self.word()) else {
                        self.unknown_verb();
                        return verbs;
                    };
                    let word = self.bump_as(TokenKind::Definition);
                    let word = self.word_at(word);
                    let body = self.expected_block("verb");
                    verbs.push((verb, word, body));
                    if self.recovering {
                        return verbs;
                    }
                }
            }
        }
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
