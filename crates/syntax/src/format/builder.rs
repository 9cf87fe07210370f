//! What all parts of the formatter share: the text, its comments in order, and the document.

use super::document::{Doc, Documents};
use crate::ast::{Comment, Parameter, Program, Word};
use crate::{LineIndex, Span};

/// Builds the document of one program, from its first token to its last: comments are put where
/// the tokens around them go.
pub(super) struct Builder<'s> {
    pub(super) source: &'s str,
    lines: LineIndex,
    comments: &'s [Comment],
    pub(super) docs: Documents,
}

impl<'s> Builder<'s> {
    pub(super) fn new(source: &'s str, program: &'s Program) -> Self {
        Builder {
            source,
            lines: LineIndex::new(source),
            comments: &program.comments,
            docs: Documents::default(),
        }
    }

    pub(super) fn render(self, doc: Doc) -> String {
        self.docs.render(doc)
    }

    // Text.

    pub(super) fn text(&mut self, text: impl Into<String>) -> Doc {
        self.docs.text(text)
    }

    pub(super) fn concat(&mut self, parts: Vec<Doc>) -> Doc {
        self.docs.concat(parts)
    }

    /// Text as the author wrote it. Comments inside it stay there.
    pub(super) fn verbatim(&mut self, span: Span) -> Doc {
        let before = self.gap(span.start);
        let inside = self.comments.partition_point(|comment| comment.span.start < span.end);
        self.comments = &self.comments[inside..];
        let text = self.text(span.text(self.source));
        self.after_gap(before, text)
    }

    pub(super) fn word(&mut self, word: &Word) -> Doc {
        let before = self.gap(word.span.start);
        let text = self.text(word.text.clone());
        self.after_gap(before, text)
    }

    fn after_gap(&mut self, mut before: Vec<Doc>, text: Doc) -> Doc {
        if before.is_empty() {
            return text;
        }
        before.push(text);
        self.concat(before)
    }

    /// `<type>name`
    pub(super) fn parameter(parameter: &Parameter) -> String {
        match &parameter.kind {
            Some(kind) => format!("<{}>{}", kind.text, parameter.name.text),
            None => parameter.name.text.clone(),
        }
    }

    // Places.

    /// Whether there is a line end between the places.
    pub(super) fn line_end_between(&self, start: u32, end: u32) -> bool {
        Span::new(start, end).text(self.source).contains('\n')
    }

    /// Whether the first thing in a bracket stands on another line than the bracket.
    pub(super) fn begins_on_new_line(&self, start: u32) -> bool {
        let before = self.source.get(..start as usize).unwrap_or("");
        before[before.trim_end().len()..].contains('\n')
    }

    /// Whether there is an empty line between two things.
    pub(super) fn empty_line_between(&self, before: u32, after: u32) -> bool {
        self.lines.line(after) > self.lines.line(before) + 1
    }

    // Comments.

    fn comment_text(&self, comment: &Comment) -> &'s str {
        comment.span.text(self.source)
    }

    /// The next comment, when it stands before the place.
    pub(super) fn comment_before(&self, until: u32) -> Option<&'s Comment> {
        self.comments.first().filter(|comment| comment.span.start < until)
    }

    /// The same, and advances to the next.
    pub(super) fn take_comment(&mut self, until: u32) -> Option<&'s Comment> {
        let comment = self.comment_before(until)?;
        self.comments = &self.comments[1..];
        Some(comment)
    }

    /// Comments before the place, which is in the middle of something: they go to the end of the
    /// line on which they come to stand.
    pub(super) fn gap(&mut self, until: u32) -> Vec<Doc> {
        let mut parts = Vec::new();
        while let Some(comment) = self.take_comment(until) {
            let text = self.comment_text(comment);
            parts.push(self.docs.suffix(text));
        }
        parts
    }

    /// Comments right behind an opening bracket, on its line.
    pub(super) fn opening(&mut self, opened: u32, until: u32) -> Vec<Doc> {
        match self.comment_before(until) {
            Some(comment) if self.is_blank(opened, comment.span.start) => {
                self.trailing(opened, until)
            }
            _ => Vec::new(),
        }
    }

    fn is_blank(&self, start: u32, end: u32) -> bool {
        Span::new(start, end).text(self.source).trim().is_empty()
    }

    /// Comments behind something, on its line.
    pub(super) fn trailing(&mut self, end: u32, until: u32) -> Vec<Doc> {
        let mut parts = Vec::new();
        while let Some(comment) = self.comment_before(until) {
            let text = self.comment_text(comment);
            let same_line = !comment.own_line && !self.line_end_between(end, comment.span.start);
            if !same_line || text.starts_with('"') {
                break;
            }
            self.take_comment(until);
            parts.push(self.docs.suffix(text));
        }
        parts
    }

    /// A comment on a line of its own. A text in quotes keeps its period.
    pub(super) fn own_line_comment(&mut self, comment: &Comment) -> Doc {
        let text = self.comment_text(comment);
        let after = &self.source[comment.span.end as usize..];
        if text.starts_with('"') && after.trim_start().starts_with('.') {
            return self.text(format!("{text}."));
        }
        self.docs.own_line(text)
    }
}
