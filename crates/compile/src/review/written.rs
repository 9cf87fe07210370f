//! Computed text where only written text may become code, and values of requests that would choose a reference
//! or a message. A receiver that is known only at run time refuses computed text there (`text/written.lua`).

use super::names::Names;
use crate::expressions::control::selector;
use crate::expressions::written::{is_raw, takes_code};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage, TextPart, Word};
use runnel_syntax::walk::bare;

/// What a message makes of its text, and what it does with the `{x}` in it.
struct CodeKind {
    code: &'static str,
    values: &'static str,
}

const SQL: CodeKind = CodeKind { code: "SQL", values: "bound" };
const COMMAND: CodeKind = CodeKind { code: "command", values: "quoted" };
const MARKUP: CodeKind = CodeKind { code: "markup", values: "escaped" };
const PROGRAM: CodeKind = CodeKind { code: "program", values: "refused" };

pub(super) fn diagnostic(
    receiver: &Expression,
    message: &SentMessage,
    names: &Names,
) -> Option<Diagnostic> {
    match message {
        SentMessage::Unary(word) if word.text == "asReference" => {
            let title = "a value of a request cannot become a reference";
            let hint = "write the reference in the program, with the value as a segment: `file:folder/{x}`; \
                        or look it up: `places at: x`";
            refused(receiver, names, title, "it would choose the scheme and the path", hint)
        }
        SentMessage::Keyword(parts) => {
            let (word, argument) = parts.first()?;
            match word.text.as_str() {
                "bindingForString" => {
                    let title = "a value of a request cannot become a reference";
                    let hint = "write the reference in the program, with the value as a segment: `ref:file:folder/{x}`";
                    refused(argument, names, title, "it would choose the scheme and the path", hint)
                }
                "perform" | "performSelector" => {
                    let title = "a value of a request cannot choose a message";
                    let hint = "choose among blocks: `(actions at: x) value`, where `actions` is a dictionary";
                    refused(argument, names, title, "it would call any method", hint)
                }
                _ => computed(receiver, parts, names),
            }
        }
        _ => None,
    }
}

fn refused(
    value: &Expression,
    names: &Names,
    title: &str,
    label: &str,
    hint: &str,
) -> Option<Diagnostic> {
    let carries = names.carries_request(value);
    carries.then(|| Diagnostic::error(value.span, title, label).hint(hint))
}

fn computed(
    receiver: &Expression,
    parts: &[(Word, Expression)],
    names: &Names,
) -> Option<Diagnostic> {
    let (word, argument) = parts.first()?;
    let selector = selector(parts);
    if !takes_code(receiver, &selector) {
        return None;
    }
    if is_written(argument) {
        return quoted(&selector, argument);
    }
    let kind = kind_of(receiver, &selector, names)?;
    let CodeKind { code, values } = kind;
    let title = format!("`{}:` takes text written here; its `{{x}}` are {values}", word.text);
    let hint = format!("computed {code}: `computed: text`");
    Some(Diagnostic::error(argument.span, title, "computed").hint(hint))
}

/// Words with which a statement of SQL begins that may have values.
const STATEMENTS: [&str; 9] =
    ["select", "insert", "update", "delete", "with", "values", "merge", "explain", "replace"];

/// A `{x}` between the quotes of a text of SQL, where no value can be bound. The receiver need not be known: no
/// other code begins with these words.
fn quoted(selector: &str, argument: &Expression) -> Option<Diagnostic> {
    let ExpressionKind::Interpolated(parts) = &bare(argument).kind else { return None };
    let first = parts.first().and_then(literal)?.split_whitespace().next()?;
    let is_sql = STATEMENTS.iter().any(|word| first.eq_ignore_ascii_case(word));
    if !is_sql || !selector.starts_with("run:") {
        return None;
    }
    let mut open = None;
    for part in parts {
        match (literal(part), open) {
            (Some(text), _) => open = open_quote(text, open),
            (None, Some(quote)) => {
                let title = format!("a `{{x}}` within {quote} … {quote} of SQL is not a value");
                let hint = "leave out the quotes: `where title = {x}`; a name or a piece of SQL needs \
                            `computed: text`";
                let label = "a value stands in quotes";
                return Some(Diagnostic::error(argument.span, title, label).hint(hint));
            }
            (None, None) => {}
        }
    }
    None
}

fn literal(part: &TextPart) -> Option<&str> {
    match part {
        TextPart::Text(text) => Some(text),
        TextPart::Expression(_) => None,
    }
}

/// The quote that is open behind a piece of SQL, as `text/written.lua` finds it.
fn open_quote(text: &str, mut open: Option<char>) -> Option<char> {
    let mut rest = text.char_indices();
    while let Some((at, character)) = rest.next() {
        match open {
            Some(quote) if character == quote => open = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => open = Some(character),
            None if text[at..].starts_with("--") => _ = rest.find(|(_, end)| *end == '\n'),
            None => {}
        }
    }
    open
}

fn kind_of(receiver: &Expression, selector: &str, names: &Names) -> Option<CodeKind> {
    let name = match &bare(receiver).kind {
        ExpressionKind::Name(name) if !names.is_variable(name) => name.as_str(),
        _ => "",
    };
    match (name, selector) {
        ("shell", "run:") => Some(COMMAND),
        ("context", "evaluateScriptString:") => Some(PROGRAM),
        (_, "text:") if is_raw(name) => Some(MARKUP),
        ("self" | "super", _) => None,
        // `run:` of other classes takes a time, a number or a window.
        _ if selector.starts_with("run:") && names.is_database(receiver) => Some(SQL),
        _ => None,
    }
}

fn is_written(expression: &Expression) -> bool {
    matches!(
        bare(expression).kind,
        ExpressionKind::Text(_) | ExpressionKind::Symbol(_) | ExpressionKind::Interpolated(_)
    )
}
