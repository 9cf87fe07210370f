//! A value that a client sends compared with a variable of the environment: where both are missing,
//! they are equal.

use super::names::reads_request;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage};

pub(super) fn warning(
    whole: &Expression,
    receiver: &Expression,
    message: &SentMessage,
) -> Option<Diagnostic> {
    let SentMessage::Binary(word, argument) = message else { return None };
    if !["=", "==", "!=", "~=", "≠"].contains(&word.text.as_str()) {
        return None;
    }
    let both = |one: &Expression, other: &Expression| reads_request(one) && is_environment(other);
    if !both(receiver, argument) && !both(argument, receiver) {
        return None;
    }
    let title = "with neither of them set these two are equal";
    let hint = "use `isSecret:`, which is false for nil and the empty text";
    Some(Diagnostic::warning(whole.span, title, "a request without the value passes").hint(hint))
}

fn is_environment(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Reference(path) => {
            path.scheme.as_ref().is_some_and(|word| word.text == "env")
        }
        ExpressionKind::Parenthesized(inner) => is_environment(inner),
        _ => false,
    }
}
