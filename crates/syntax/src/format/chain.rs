//! Chains of messages. They are long to the left in the tree, so they are taken apart in a loop,
//! not by recursion, and put together from the receiver on.

use super::builder::Builder;
use super::document::Doc;
use super::expression::Bracketed;
use crate::ast::{Expression, ExpressionKind, SentMessage, Word};

impl Builder<'_> {
    /// A receiver with the messages to it, its results and so on.
    pub(super) fn chain(&mut self, expression: &Expression) -> Doc {
        self.chain_and_operators(expression).0
    }

    /// The same, and when it ends in binary messages, how to break it before each of them.
    fn chain_and_operators(&mut self, expression: &Expression) -> (Doc, Option<Doc>) {
        let mut links = Vec::new();
        let mut receiver = expression;
        while let Some(next) = receiver_of(receiver) {
            links.push(receiver);
            receiver = next;
        }
        let mut doc = self.operand(receiver);
        let mut operators = None;
        while let Some(link) = links.pop() {
            operators = None;
            doc = match &link.kind {
                ExpressionKind::Send { message: SentMessage::Binary(word, argument), .. } => {
                    let mut parts = vec![(word, &**argument)];
                    while let Some(Expression {
                        kind:
                            ExpressionKind::Send {
                                message: SentMessage::Binary(word, argument), ..
                            },
                        ..
                    }) = links.last()
                    {
                        parts.push((word, argument));
                        links.pop();
                    }
                    let bracketed = self.operators(doc, &parts);
                    operators = Some(self.docs.broken(bracketed.inner));
                    self.bracket(bracketed)
                }
                ExpressionKind::Pipe { message, .. } => {
                    let mut messages = vec![message];
                    while let Some(Expression {
                        kind: ExpressionKind::Pipe { message, .. }, ..
                    }) = links.last()
                    {
                        messages.push(message);
                        links.pop();
                    }
                    self.pipes(doc, &messages)
                }
                _ => self.link(doc, link),
            };
        }
        (doc, operators)
    }

    fn link(&mut self, receiver: Doc, link: &Expression) -> Doc {
        match &link.kind {
            ExpressionKind::Send { receiver: to, message: SentMessage::Keyword(parts) } => {
                self.keywords(receiver, is_omitted(to), parts)
            }
            ExpressionKind::Send { message, .. } => {
                let space = self.text(" ");
                let message = self.message(message);
                self.concat(vec![receiver, space, message])
            }
            ExpressionKind::Cascade { messages, .. } => self.cascade(receiver, messages),
            ExpressionKind::Subscript { index, .. } => {
                let open = self.text("[");
                let index = self.expression(index);
                let gap = self.gap(link.span.end);
                let close = self.text("]");
                let mut parts = vec![receiver, open, index];
                parts.extend(gap);
                parts.push(close);
                self.concat(parts)
            }
            _ => {
                let mark = self.text(" ?");
                self.concat(vec![receiver, mark])
            }
        }
    }

    /// `a + b - c`, with the operators at the start of lines when it does not fit.
    fn operators(&mut self, receiver: Doc, parts: &[(&Word, &Expression)]) -> Bracketed {
        let mut inner = Vec::new();
        let mut forced = false;
        for (word, argument) in parts {
            forced |= self.line_before(word.span.start, &mut inner);
            inner.push(self.text(format!("{} ", word.text)));
            inner.push(self.chain(argument));
        }
        let inner = self.hanging(receiver, inner);
        Bracketed { inner, forced }
    }

    fn pipes(&mut self, left: Doc, messages: &[&SentMessage]) -> Doc {
        let mut inner = Vec::new();
        let mut forced = false;
        for message in messages {
            forced |= self.line_before(start(message), &mut inner);
            inner.push(self.text("| "));
            inner.push(self.message(message));
        }
        let inner = self.hanging(left, inner);
        self.bracket(Bracketed { inner, forced })
    }

    /// `a add: 1; add: 2`, with each message after the first on a line of its own when it does
    /// not fit.
    fn cascade(&mut self, receiver: Doc, messages: &[SentMessage]) -> Doc {
        let mut inner = Vec::new();
        let mut forced = false;
        for (at, message) in messages.iter().enumerate() {
            if at > 0 {
                inner.push(self.text(";"));
                forced |= self.line_before(start(message), &mut inner);
            } else {
                inner.push(self.text(" "));
            }
            inner.push(self.message(message));
        }
        let inner = self.hanging(receiver, inner);
        self.bracket(Bracketed { inner, forced })
    }

    /// A part, and further ones that are indented when they stand on lines of their own.
    fn hanging(&mut self, first: Doc, inner: Vec<Doc>) -> Doc {
        let inner = self.concat(inner);
        let inner = self.docs.indent(inner);
        self.concat(vec![first, inner])
    }

    /// One message without its receiver; its keywords begin lines when they do not fit.
    fn message(&mut self, message: &SentMessage) -> Doc {
        match message {
            SentMessage::Unary(word) => self.word(word),
            SentMessage::Binary(word, argument) => {
                let word = self.word(word);
                let space = self.text(" ");
                let argument = self.chain(argument);
                self.concat(vec![word, space, argument])
            }
            SentMessage::Keyword(parts) => {
                let mut inner = Vec::new();
                let mut forced = false;
                for (at, (word, argument)) in parts.iter().enumerate() {
                    if at > 0 {
                        forced |= self.line_before(word.span.start, &mut inner);
                    }
                    inner.push(self.text(format!("{}: ", word.text)));
                    inner.push(self.chain(argument));
                }
                let inner = self.concat(inner);
                let inner = self.docs.indent(inner);
                self.bracket(Bracketed { inner, forced })
            }
        }
    }

    /// A keyword message. Where it does not fit on one line, the blocks and literals that are its
    /// arguments are broken if the last argument is one, and the only argument if it is a chain of
    /// binary messages; otherwise each keyword begins a line.
    fn keywords(&mut self, receiver: Doc, omitted: bool, parts: &[(Word, Expression)]) -> Doc {
        let mut flat = vec![receiver];
        let mut opened = vec![receiver];
        let mut hanging = Vec::new();
        let mut forced = false;
        let mut last_opens = false;
        for (at, (word, argument)) in parts.iter().enumerate() {
            let mut line = Vec::new();
            forced |= self.line_before(word.span.start, &mut line);
            let keyword = self.text(format!("{}: ", word.text));
            let (normal, open) = match self.bracketed(argument) {
                Some(bracketed) => {
                    (self.bracket(bracketed), Some(self.docs.broken(bracketed.inner)))
                }
                None => self.chain_and_operators(argument),
            };
            last_opens = open.is_some() && (is_bracketed(argument) || parts.len() == 1);
            let open = if is_bracketed(argument) || last_opens { open } else { None };
            if at > 0 || !omitted {
                let space = self.text(" ");
                flat.push(space);
                opened.push(space);
                hanging.extend(line);
            }
            flat.extend([keyword, normal]);
            opened.extend([keyword, open.unwrap_or(normal)]);
            hanging.extend([keyword, normal]);
        }
        let hanging = self.hanging(receiver, hanging);
        let hanging = self.docs.broken(hanging);
        if forced {
            return hanging;
        }
        let flat = self.concat(flat);
        let opened = if last_opens { self.concat(opened) } else { flat };
        self.docs.choice([flat, opened, hanging])
    }
}

/// The receiver of a message, a subscript or the like.
fn receiver_of(expression: &Expression) -> Option<&Expression> {
    match &expression.kind {
        ExpressionKind::Send { receiver, .. }
        | ExpressionKind::Cascade { receiver, .. }
        | ExpressionKind::Subscript { receiver, .. }
        | ExpressionKind::Next(receiver) => Some(receiver),
        ExpressionKind::Pipe { left, .. } => Some(left),
        _ => None,
    }
}

/// Whether the author left the receiver out, as in `every: 1 minute do: { … }`.
fn is_omitted(receiver: &Expression) -> bool {
    receiver.span.start == receiver.span.end
}

/// Where a message begins.
fn start(message: &SentMessage) -> u32 {
    match message {
        SentMessage::Unary(word) | SentMessage::Binary(word, _) => word.span.start,
        SentMessage::Keyword(parts) => parts.first().map_or(0, |(word, _)| word.span.start),
    }
}

/// Whether an argument has brackets that can stand on lines of their own.
fn is_bracketed(expression: &Expression) -> bool {
    matches!(
        expression.kind,
        ExpressionKind::Block(_)
            | ExpressionKind::Array { .. }
            | ExpressionKind::Dictionary(_)
            | ExpressionKind::Object { .. }
    )
}
