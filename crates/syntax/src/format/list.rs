//! Things one after the other: statements, members, elements. Each may have comments and an
//! empty line before it.

use super::builder::Builder;
use super::document::Doc;

/// An entry of a list: a thing, or a comment on a line of its own.
struct ListEntry {
    doc: Doc,
    empty_line: bool,
}

/// Entries in order, while they are collected.
pub(super) struct ListLayout {
    entries: Vec<ListEntry>,
    /// Comments behind the opening bracket, on its line.
    opening: Vec<Doc>,
    /// Where the last entry ends in the text of the author.
    last_end: Option<u32>,
    has_comments: bool,
}

impl ListLayout {
    /// Begins a list whose bracket opens at the place, or a list without brackets.
    pub(super) fn new(builder: &mut Builder<'_>, opened: Option<u32>, end: u32) -> Self {
        let opening = match opened {
            Some(at) => builder.opening(at, end),
            None => Vec::new(),
        };
        let has_comments = !opening.is_empty();
        ListLayout { entries: Vec::new(), opening, last_end: None, has_comments }
    }

    /// Adds the comments before the place.
    pub(super) fn comments(&mut self, builder: &mut Builder<'_>, until: u32) {
        while let Some(comment) = builder.take_comment(until) {
            let doc = builder.own_line_comment(comment);
            self.push(builder, doc, comment.span.start, comment.span.end);
            self.has_comments = true;
        }
    }

    fn push(&mut self, builder: &Builder<'_>, doc: Doc, start: u32, end: u32) {
        let empty_line = self.last_end.is_some_and(|last| builder.empty_line_between(last, start));
        self.entries.push(ListEntry { doc, empty_line });
        self.last_end = Some(end);
    }

    /// Adds a thing, given the document that ends with its separator, and the comments on its
    /// line. `until` is where the next thing begins.
    pub(super) fn item(
        &mut self,
        builder: &mut Builder<'_>,
        doc: Doc,
        (start, end): (u32, u32),
        until: u32,
    ) {
        let mut parts = vec![doc];
        parts.extend(builder.trailing(end, until));
        self.has_comments |= parts.len() > 1;
        let doc = builder.concat(parts);
        self.push(builder, doc, start, end);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.opening.is_empty()
    }

    /// Whether the entries do not fit on one line: one of them is a comment or has several lines.
    pub(super) fn must_break(&self, builder: &Builder<'_>) -> bool {
        self.has_comments || self.entries.iter().any(|entry| builder.docs.breaks(entry.doc))
    }

    /// The entries with line ends between them.
    pub(super) fn joined(self, builder: &mut Builder<'_>) -> Doc {
        let mut parts = self.opening;
        for (at, entry) in self.entries.into_iter().enumerate() {
            if at > 0 {
                parts.push(builder.docs.line());
            }
            if entry.empty_line {
                parts.push(builder.docs.blank());
            }
            parts.push(entry.doc);
        }
        builder.concat(parts)
    }

    /// The entries in brackets, indented when they are on lines of their own.
    pub(super) fn bracketed(self, builder: &mut Builder<'_>, open: Doc, close: &str) -> Doc {
        let ListLayout { entries, mut opening, .. } = self;
        opening.insert(0, open);
        let mut inner = vec![builder.docs.line()];
        let body = ListLayout { entries, opening: Vec::new(), last_end: None, has_comments: false };
        inner.push(body.joined(builder));
        let inner = builder.concat(inner);
        opening.push(builder.docs.indent(inner));
        opening.push(builder.docs.line());
        opening.push(builder.text(close));
        builder.concat(opening)
    }
}
