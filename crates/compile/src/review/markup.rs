//! A handler that answers a text which begins with `<`: text is sent as `text/plain`.

use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Block, Expression, ExpressionKind, Program, PropertyPath, Segment, SentMessage, StatementKind,
    TextPart,
};

pub(super) fn warning(path: &PropertyPath, body: &Block) -> Option<Diagnostic> {
    // An extension, or the handler itself, says what the text is.
    let named =
        matches!(path.segments.last(), Some(Segment::Literal(word)) if word.text.contains('.'));
    if named || sets_type(body) {
        return None;
    }
    let last = body.statements.len().checked_sub(1)?;
    let answers =
        body.statements.iter().enumerate().filter_map(|(at, statement)| match &statement.kind {
            StatementKind::Return(value) => Some(value),
            StatementKind::Expression(value) if at == last => Some(value),
            _ => None,
        });
    let value = answers.map(leftmost).find(|value| begins_with_tag(value))?;
    let title = "a handler's text is sent as text/plain, and this one begins with `<`";
    Some(
        Diagnostic::warning(value.span, title, "a browser shows it as it is")
            .hint("answer elements, as in `#p[ 'Hello' ]`, or say `asHTML`"),
    )
}

/// Whether a program has all its texts sent as HTML.
pub(super) fn is_chosen(program: &Program) -> bool {
    let mut chosen = false;
    runnel_syntax::walk::walk_deep(&program.statements, &mut |expression| {
        if let ExpressionKind::Object { class, pairs: Some(pairs), .. } = &expression.kind {
            chosen |= class.text == "HTTPServer"
                && pairs.iter().any(
                    |pair| matches!(&pair.key.kind, ExpressionKind::Symbol(key) if key == "textType"),
                );
        }
    });
    chosen
}

/// Whether a handler writes the header `Content-Type`.
pub(super) fn sets_type(body: &Block) -> bool {
    let mut sets = false;
    runnel_syntax::walk::walk_deep(&body.statements, &mut |expression| {
        if let ExpressionKind::Assign { target, .. } = &expression.kind
            && let ExpressionKind::Reference(path) = &target.kind
        {
            sets |= path.scheme.as_ref().is_some_and(|word| word.text == "response")
                && path.literal().is_some_and(|name| name.eq_ignore_ascii_case("content-type"));
        }
    });
    sets
}

/// What a text that is put together begins with.
fn leftmost(mut value: &Expression) -> &Expression {
    loop {
        value = match &value.kind {
            ExpressionKind::Parenthesized(inner) => inner,
            ExpressionKind::Send { receiver, message: SentMessage::Binary(word, _) }
                if matches!(word.text.as_str(), "," | "+") =>
            {
                receiver
            }
            _ => return value,
        }
    }
}

fn begins_with_tag(value: &Expression) -> bool {
    let text = match &value.kind {
        ExpressionKind::Text(text) => Some(text),
        ExpressionKind::Interpolated(parts) => match parts.first() {
            Some(TextPart::Text(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    text.is_some_and(|text| text.trim_start().starts_with('<'))
}
