//! Statements and blocks.

use super::builder::Builder;
use super::document::Doc;
use super::expression::Bracketed;
use super::list::ListLayout;
use crate::ast::{
    Block, Expression, ExpressionKind, Program, SentMessage, Statement, StatementKind,
    VariableDeclaration,
};
use crate::declared::in_brackets;
use crate::lexer::is_commented_statement;

impl Builder<'_> {
    /// A whole program: one statement below the other.
    pub(super) fn program(&mut self, program: &Program) -> Doc {
        let end = self.source.len() as u32 + 1;
        let first = program.statements.first().map_or(end, |statement| statement.span.start);
        let mut list = ListLayout::new(self, None, end);
        if let Some(signature) = &program.signature {
            list.comments(self, signature.span.start);
            let doc = self.signature(signature);
            let span = signature.span;
            list.item(self, doc, (span.start, span.end), first);
        }
        self.statements(&mut list, &program.statements, end, true);
        let doc = list.joined(self);
        self.docs.broken(doc)
    }

    /// Adds statements and comments up to the end. The last statement has a period where the
    /// block is broken, and otherwise with `last_period`.
    fn statements(
        &mut self,
        list: &mut ListLayout,
        all: &[Statement],
        end: u32,
        last_period: bool,
    ) {
        for (at, statement) in all.iter().enumerate() {
            list.comments(self, statement.span.start);
            let next = all.get(at + 1).map(|next| next.span.start);
            let mut parts = Vec::new();
            // In the first column the statement would become a comment.
            if is_commented_statement(self.source, statement.span.start as usize) {
                parts.push(self.text("    "));
            }
            parts.push(self.statement(statement));
            parts.extend(self.gap(statement.span.end));
            let doc = self.concat(parts);
            let mut parts = vec![self.docs.group(doc)];
            if !ends_itself(statement) {
                let period = if ends_in_empty_path(statement) { " ." } else { "." };
                parts.push(match next.is_some() || last_period {
                    true => self.text(period),
                    false => self.docs.if_broken(period),
                });
            }
            let doc = self.concat(parts);
            let span = (statement.span.start, statement.span.end);
            list.item(self, doc, span, next.unwrap_or(end));
        }
        list.comments(self, end);
    }

    fn statement(&mut self, statement: &Statement) -> Doc {
        match &statement.kind {
            StatementKind::Expression(expression) => self.expression(expression),
            StatementKind::Return(expression) => {
                let mark = self.text("^");
                let value = self.expression(expression);
                self.concat(vec![mark, value])
            }
            StatementKind::Class(class) => self.class(class),
            StatementKind::Template { name, value } => {
                let head = self.text(format!("object {} : ", name.text));
                let value = self.expression(value);
                self.concat(vec![head, value])
            }
            StatementKind::Variables(variables) => self.variables(variables),
            StatementKind::Temporaries(names) => {
                let names: String = names.iter().map(|name| format!("{} ", name.text)).collect();
                self.text(format!("| {names}|"))
            }
            StatementKind::Test { name, body } => {
                let head = self.text("test ");
                let name = self.verbatim(name.span);
                let space = self.text(" ");
                let body = self.body(body);
                self.concat(vec![head, name, space, body])
            }
            StatementKind::Shell(_) | StatementKind::Error => self.verbatim(statement.span),
        }
    }

    pub(super) fn variables(&mut self, variables: &VariableDeclaration) -> Doc {
        let names: Vec<&str> = variables.names.iter().map(|name| name.text.as_str()).collect();
        let kind = variables.kind.as_ref();
        let kind = kind.map_or(String::new(), |kind| in_brackets(kind, &variables.marks) + " ");
        let head = self.text(format!("var {kind}{}", names.join(", ")));
        let Some((mark, value)) = &variables.default else { return head };
        let mark = self.mark(mark);
        let value = self.expression(value);
        self.concat(vec![head, mark, value])
    }

    /// The body of a method, a verb, a filter or a test.
    pub(super) fn body(&mut self, block: &Block) -> Doc {
        let body = self.block(block, true);
        self.bracket(body)
    }

    /// A block; `last_period` says whether its last statement has a period on one line, too.
    pub(super) fn block(&mut self, block: &Block, last_period: bool) -> Bracketed {
        let start = block.span.start;
        let end = block.span.end.saturating_sub(1);
        let mut head = self.gap(start);
        let opened = block.parameters.last().map_or(start + 1, |last| last.name.span.end);
        let mut text = String::from("{");
        for parameter in &block.parameters {
            text.push_str(" :");
            text.push_str(&Builder::parameter(parameter));
        }
        if !block.parameters.is_empty() {
            text.push_str(" |");
        }
        head.push(self.text(text));
        let open = self.concat(head);
        let mut list = ListLayout::new(self, Some(opened), end);
        self.statements(&mut list, &block.statements, end, last_period);
        if list.is_empty() {
            let text = if block.parameters.is_empty() { "}" } else { " }" };
            let close = self.text(text);
            return Bracketed { inner: self.concat(vec![open, close]), forced: false };
        }
        let first = block.statements.first().map_or(end, |statement| statement.span.start);
        let forced = list.must_break(self) || self.begins_on_new_line(first);
        Bracketed { inner: list.bracketed(self, open, "}"), forced }
    }
}

/// Whether a statement has no period behind it.
fn ends_itself(statement: &Statement) -> bool {
    matches!(
        statement.kind,
        StatementKind::Class(_)
            | StatementKind::Test { .. }
            | StatementKind::Temporaries(_)
            | StatementKind::Shell(_)
    )
}

/// Whether a statement ends in a reference without a path, such as `tasks:`, to whose path a
/// period that touches it would belong.
fn ends_in_empty_path(statement: &Statement) -> bool {
    let mut expression = match &statement.kind {
        StatementKind::Expression(expression) | StatementKind::Return(expression) => expression,
        _ => return false,
    };
    loop {
        expression = match &expression.kind {
            ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
                return path.parts.is_empty();
            }
            ExpressionKind::Assign { value, .. } => value,
            ExpressionKind::Connect { right, .. } => right,
            ExpressionKind::Send { message, .. } | ExpressionKind::Pipe { message, .. } => {
                match last_argument(message) {
                    Some(argument) => argument,
                    None => return false,
                }
            }
            ExpressionKind::Cascade { messages, .. } => {
                match messages.last().and_then(last_argument) {
                    Some(argument) => argument,
                    None => return false,
                }
            }
            _ => return false,
        };
    }
}

fn last_argument(message: &SentMessage) -> Option<&Expression> {
    match message {
        SentMessage::Unary(_) => None,
        SentMessage::Binary(_, argument) => Some(argument),
        SentMessage::Keyword(parts) => parts.last().map(|(_, argument)| argument),
    }
}
