//! A comparison in query brackets that names no field: `people[{ name = 'Ann' }]` where `name` is a
//! variable around it.

use super::names::Names;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, SentMessage};
use runnel_syntax::walk::walk_statements;

const COMPARISONS: [&str; 8] = ["=", "==", "!=", "~=", "<", ">", "<=", ">="];

pub(super) fn warnings(block: &Block, names: &Names, found: &mut Vec<Diagnostic>) {
    if !block.parameters.is_empty() {
        return;
    }
    walk_statements(&block.statements, &mut |expression| {
        let ExpressionKind::Send { receiver, message: SentMessage::Binary(word, argument) } =
            &expression.kind
        else {
            return;
        };
        if !COMPARISONS.contains(&word.text.as_str()) || !is_literal(argument) {
            return;
        }
        let ExpressionKind::Name(name) = &receiver.kind else { return };
        if !names.is_variable(name) {
            return;
        }
        let title = format!("`{name}` is a variable here, and may be a field as well");
        found.push(
            Diagnostic::warning(receiver.span, title, "the comparison depends on no element").hint(
                format!("write `{{ :each | each {name} … }}` for the field, or `var:{name}`"),
            ),
        );
    });
}

fn is_literal(expression: &Expression) -> bool {
    matches!(
        expression.kind,
        ExpressionKind::Integer(_) | ExpressionKind::Float(_) | ExpressionKind::Text(_)
    )
}
