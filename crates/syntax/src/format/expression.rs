//! Operands, assignments and connections.

use super::builder::Builder;
use super::document::Doc;
use super::list::ListLayout;
use crate::ast::{Expression, ExpressionKind, Pair, Word};

/// Something in brackets that can stand on one line or be broken.
#[derive(Clone, Copy)]
pub(super) struct Bracketed {
    pub(super) inner: Doc,
    /// Whether it is broken even if it would fit.
    pub(super) forced: bool,
}

impl Builder<'_> {
    /// Something in brackets, on one line if it fits and may.
    pub(super) fn bracket(&mut self, bracketed: Bracketed) -> Doc {
        match bracketed.forced {
            true => self.docs.broken(bracketed.inner),
            false => self.docs.group(bracketed.inner),
        }
    }

    pub(super) fn expression(&mut self, expression: &Expression) -> Doc {
        match &expression.kind {
            ExpressionKind::Assign { target, mark, value, .. } => {
                let target = self.expression(target);
                let mark = self.mark(mark);
                let value = self.expression(value);
                self.concat(vec![target, mark, value])
            }
            ExpressionKind::Connect { .. } => self.connection(expression),
            _ => self.chain(expression),
        }
    }

    pub(super) fn mark(&mut self, mark: &Word) -> Doc {
        let mut parts = self.gap(mark.span.start);
        parts.push(self.text(format!(" {} ", mark.text)));
        self.concat(parts)
    }

    /// `a → b → c`, each arrow on a line of its own when it does not fit.
    fn connection(&mut self, expression: &Expression) -> Doc {
        let mut parts = Vec::new();
        let mut rest = expression;
        let mut forced = false;
        let mut first = None;
        while let ExpressionKind::Connect { left, mark, right } = &rest.kind {
            let left = self.chain(left);
            match first {
                None => first = Some(left),
                Some(_) => parts.push(left),
            }
            forced |= self.line_before(mark.span.start, &mut parts);
            parts.push(self.text(format!("{} ", mark.text)));
            rest = right;
        }
        parts.push(self.chain(rest));
        let parts = self.concat(parts);
        let indented = self.docs.indent(parts);
        let mut all: Vec<Doc> = first.into_iter().collect();
        all.push(indented);
        let inner = self.concat(all);
        self.bracket(Bracketed { inner, forced })
    }

    /// A place for a line end in the middle of an expression, with the comments that stand there;
    /// `true` when there are some, for then the line must end.
    pub(super) fn line_before(&mut self, start: u32, parts: &mut Vec<Doc>) -> bool {
        let forced = self.comment_before(start).is_some();
        let mut below = false;
        while let Some(comment) = self.comment_before(start) {
            below |= comment.own_line;
            if below {
                self.take_comment(start);
                parts.push(self.docs.hard_line());
                parts.push(self.own_line_comment(comment));
            } else {
                let until = comment.span.end;
                parts.extend(self.gap(until));
            }
        }
        parts.push(if forced { self.docs.hard_line() } else { self.docs.line() });
        forced
    }

    /// An expression that is no chain of messages.
    pub(super) fn operand(&mut self, expression: &Expression) -> Doc {
        if let Some(bracketed) = self.bracketed(expression) {
            return self.bracket(bracketed);
        }
        match &expression.kind {
            ExpressionKind::Parenthesized(inner) => {
                let mut parts = self.gap(expression.span.start);
                parts.push(self.text("("));
                parts.push(self.expression(inner));
                parts.extend(self.gap(expression.span.end));
                parts.push(self.text(")"));
                self.concat(parts)
            }
            ExpressionKind::Assign { .. } | ExpressionKind::Connect { .. } => {
                self.expression(expression)
            }
            _ => self.verbatim(expression.span),
        }
    }

    /// An operand in brackets that can be broken; `None` for all others.
    pub(super) fn bracketed(&mut self, expression: &Expression) -> Option<Bracketed> {
        let (start, end) = (expression.span.start, expression.span.end);
        match &expression.kind {
            ExpressionKind::Block(block) => Some(self.block(block, false)),
            ExpressionKind::Array { class, elements } => {
                let written = &self.source[start as usize..];
                let name = class.as_ref().map_or("", |class| class.text.as_str());
                let hash = if written.starts_with('#') { "#" } else { "" };
                let opened = hash.len() + name.len();
                let (open, close) = match written[opened..].starts_with('(') {
                    true => ("(", ")"),
                    false => ("[", "]"),
                };
                let opened = start + opened as u32 + 1;
                let open = format!("{hash}{name}{open}");
                Some(self.elements(open, elements, close, opened, end))
            }
            ExpressionKind::Dictionary(pairs) => {
                Some(self.pairs("#{".to_owned(), pairs, start + 2, end))
            }
            ExpressionKind::Object { class, pairs, children } => {
                Some(self.object(class, pairs.as_deref(), children.as_deref(), end))
            }
            _ => None,
        }
    }

    fn object(
        &mut self,
        class: &Word,
        pairs: Option<&[Pair]>,
        children: Option<&[Expression]>,
        end: u32,
    ) -> Bracketed {
        let mut open = format!("#{}", class.text);
        let mut opened = class.span.end + 1;
        let mut attributes = None;
        if let Some(pairs) = pairs {
            let last = pairs.last().map_or(opened, |pair| pair.value.span.end);
            let brace = self.source[last as usize..].find('}').map_or(0, |at| at as u32 + 1);
            let pairs_end = if children.is_some() { last + brace } else { end };
            let bracketed = self.pairs(format!("{open}{{"), pairs, opened, pairs_end);
            if children.is_none() {
                return bracketed;
            }
            open = String::new();
            opened = pairs_end + 1;
            attributes = Some(self.bracket(bracketed));
        }
        let children = children.unwrap_or(&[]);
        let mut bracketed = self.elements(format!("{open}["), children, "]", opened, end);
        if let Some(attributes) = attributes {
            bracketed.inner = self.concat(vec![attributes, bracketed.inner]);
        }
        bracketed
    }

    /// Elements in brackets. Short ones without structure fill their lines.
    fn elements(
        &mut self,
        open: String,
        elements: &[Expression],
        close: &str,
        opened: u32,
        end: u32,
    ) -> Bracketed {
        let end = end.saturating_sub(1);
        let open = self.text(open);
        let mut list = ListLayout::new(self, Some(opened), end);
        let plain = elements.len() > 1
            && elements.iter().all(is_plain)
            && self.comment_before(end).is_none()
            && list.is_empty();
        if plain {
            let items = elements.iter().map(|element| self.verbatim(element.span)).collect();
            let doc = self.docs.fill(items);
            let span = elements.first().map_or(0, |first| first.span.start);
            list.item(self, doc, (span, end), end);
        } else {
            for (at, element) in elements.iter().enumerate() {
                list.comments(self, element.span.start);
                let next = elements.get(at + 1).map(|next| next.span.start);
                let doc = self.expression(element);
                self.list_item(&mut list, doc, (element.span.start, element.span.end), next, end);
            }
            list.comments(self, end);
        }
        let first = elements.first().map_or(end, |element| element.span.start);
        self.list_brackets(list, open, close, first)
    }

    fn pairs(&mut self, open: String, pairs: &[Pair], opened: u32, end: u32) -> Bracketed {
        let end = end.saturating_sub(1);
        let open = self.text(open);
        let mut list = ListLayout::new(self, Some(opened), end);
        for (at, pair) in pairs.iter().enumerate() {
            let start = pair.key.span.start;
            list.comments(self, start);
            let next = pairs.get(at + 1).map(|next| next.key.span.start);
            let key = self.key(&pair.key);
            let value = self.expression(&pair.value);
            let doc = self.concat(vec![key, value]);
            self.list_item(&mut list, doc, (start, pair.value.span.end), next, end);
        }
        list.comments(self, end);
        let first = pairs.first().map_or(end, |pair| pair.key.span.start);
        self.list_brackets(list, open, "}", first)
    }

    fn list_item(
        &mut self,
        list: &mut ListLayout,
        doc: Doc,
        span: (u32, u32),
        next: Option<u32>,
        end: u32,
    ) {
        let mut parts = vec![doc];
        parts.extend(self.gap(span.1));
        if next.is_some() {
            parts.push(self.text(","));
        }
        let doc = self.concat(parts);
        let doc = self.docs.group(doc);
        list.item(self, doc, span, next.unwrap_or(end));
    }

    fn list_brackets(&mut self, list: ListLayout, open: Doc, close: &str, first: u32) -> Bracketed {
        if list.is_empty() {
            let close = self.text(close);
            return Bracketed { inner: self.concat(vec![open, close]), forced: false };
        }
        let forced = list.must_break(self) || self.begins_on_new_line(first);
        Bracketed { inner: list.bracketed(self, open, close), forced }
    }

    /// `key: `; a symbol that is a plain name has no `#`.
    fn key(&mut self, key: &Expression) -> Doc {
        let name = match &key.kind {
            ExpressionKind::Symbol(name) if crate::lexer::name_length(name) == name.len() => {
                self.text(name.clone())
            }
            _ => self.operand(key),
        };
        let colon = self.text(": ");
        self.concat(vec![name, colon])
    }
}

/// A number, a name or the like.
fn is_plain(expression: &Expression) -> bool {
    const SHORT: u32 = 20;
    let length = expression.span.end - expression.span.start;
    length <= SHORT
        && matches!(
            expression.kind,
            ExpressionKind::Integer(_)
                | ExpressionKind::Float(_)
                | ExpressionKind::Text(_)
                | ExpressionKind::Symbol(_)
                | ExpressionKind::Pattern(_)
                | ExpressionKind::Name(_)
        )
}
