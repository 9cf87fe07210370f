//! Statements that do nothing: a value that nothing uses, and what stands behind `^`.

use crate::checker::Checker;
use crate::kernel::canonical;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage, Statement, StatementKind};

/// Operators that only compute: `,` adds to a `MutableArray`.
const COMPUTING: [&str; 19] = [
    "=", "==", "!=", "~=", "≠", "<", ">", "≤", "≥", "<=", ">=", "+", "-", "*", "/", "×", "÷", "%",
    "@",
];

impl<'a> Checker<'a> {
    /// A statement whose value nothing uses, and that does nothing else. The last one of a body keeps a
    /// loop busy unless it compares.
    pub(crate) fn without_effect(&mut self, statement: &'a Statement, is_last: bool) {
        if !self.reporting || self.protected > 0 {
            return;
        }
        let StatementKind::Expression(value) = &statement.kind else { return };
        let (first, last) = (self.index.line(value.span.start), self.index.line(value.span.end));
        if (first..=last).any(|line| self.shown_lines.contains(&line)) {
            return;
        }
        let Some((what, hint)) = self.computed(value) else { return };
        if is_last && what != "comparison" {
            return;
        }
        let title = format!("this {what} has no effect");
        let found = Diagnostic::warning(value.span, title, "nothing uses its value");
        self.report(found.hint(hint).code("no-effect"));
    }

    fn computed(&self, value: &Expression) -> Option<(&'static str, &'static str)> {
        let remove = "use the value, or remove the statement";
        match &value.kind {
            ExpressionKind::Parenthesized(inner) => self.computed(inner),
            ExpressionKind::Send { receiver, message: SentMessage::Binary(word, argument) } => {
                let operator = word.text.as_str();
                // A program may define operators that do something, and stand-ins send them on.
                let defined = self
                    .world
                    .classes
                    .iter()
                    .any(|class| class.of_program && class.defines_own(canonical(operator)));
                let plain = self.is_plain(receiver) && self.is_plain(argument);
                if !COMPUTING.contains(&operator) || defined || !plain {
                    return None;
                }
                match operator {
                    "=" | "==" => {
                        Some(("comparison", "to assign write `:=`; to test write `should:`"))
                    }
                    _ => Some(("calculation", remove)),
                }
            }
            _ => None,
        }
    }

    /// Whether an operand only gives a value.
    fn is_plain(&self, operand: &Expression) -> bool {
        match &operand.kind {
            ExpressionKind::Integer(_)
            | ExpressionKind::Float(_)
            | ExpressionKind::Text(_)
            | ExpressionKind::Symbol(_)
            | ExpressionKind::Name(_) => true,
            ExpressionKind::Interpolated(_) => true,
            ExpressionKind::Parenthesized(inner) => self.is_plain(inner),
            ExpressionKind::Reference(path) => path
                .scheme
                .as_ref()
                .is_some_and(|word| matches!(word.text.as_str(), "this" | "var")),
            ExpressionKind::Send { receiver, message } => match message {
                SentMessage::Binary(word, argument) => {
                    COMPUTING.contains(&word.text.as_str())
                        && self.is_plain(receiver)
                        && self.is_plain(argument)
                }
                SentMessage::Unary(word) => {
                    matches!(word.text.as_str(), "count" | "length" | "size" | "not")
                        && self.is_plain(receiver)
                }
                SentMessage::Keyword(_) => false,
            },
            _ => false,
        }
    }

    /// What stands behind `^` in the same block.
    pub(crate) fn unreachable(&mut self, statement: &'a Statement, next: &'a Statement) {
        let leaves = matches!(statement.kind, StatementKind::Return(_));
        if !self.reporting || !leaves || self.around.forwards || self.around.class.is_none() {
            return;
        }
        let found = Diagnostic::warning(next.span, "this is never run", "behind `^`")
            .also(statement.span, "the method ends here");
        self.report(found.hint("remove it, or move it before the `^`").code("unreachable"));
    }
}
