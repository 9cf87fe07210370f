//! Calls of other languages: `print(x)`, `list.add(3)`, `new Task()`.

use super::habit::{Found, Habit};
use super::view::View;
use crate::TokenKind;

/// What writes a line in other languages.
const PRINTING: [&str; 11] = [
    "print",
    "println",
    "printf",
    "puts",
    "echo",
    "console.log",
    "console.error",
    "alert",
    "System.out.println",
    "fmt.Println",
    "document.write",
];

/// Functions and methods of other languages, and the message that does the same.
const MESSAGES: [(&str, &str); 18] = [
    ("len", "count"),
    ("size", "count"),
    ("str", "asString"),
    ("toString", "asString"),
    ("int", "intValue"),
    ("parseInt", "intValue"),
    ("float", "asNumber"),
    ("push", "add"),
    ("append", "add"),
    ("map", "collect"),
    ("filter", "select"),
    ("forEach", "do"),
    ("each", "do"),
    ("find", "detect"),
    ("toUpperCase", "uppercaseString"),
    ("upper", "uppercaseString"),
    ("toLowerCase", "lowercaseString"),
    ("lower", "lowercaseString"),
];

pub(super) const HABITS: &[Habit] = &[
    Habit {
        title: "there is no `‹0=print›`",
        label: "not a word of the language",
        hint: "a stream takes the text: `stdout println: ‹1=…›`",
        find: print,
    },
    Habit {
        title: "there is no `new` before a class",
        label: "not a word of the language",
        hint: "`#‹0=Task›{ name: value }` makes an object, `‹0=Task› new` an empty one",
        find: new_object,
    },
    Habit {
        title: "there is no call with parentheses",
        label: "called here",
        hint: "send a message: `‹0=list add: 3›`",
        find: method_call,
    },
    Habit {
        title: "there is no call with parentheses",
        label: "called here",
        hint: "a block is called by a message: `‹0=f› ‹1=value›`",
        find: block_call,
    },
];

fn print(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &PRINTING) || !view.begins(at) || !view.on_same_line(at + 1) {
        return None;
    }
    let word = Some(view.text(at).to_owned());
    let found = |end, text| {
        Some(Found { span: view.span(at), end, parts: vec![word, text], ..Found::default() })
    };
    if view.is(at + 1, TokenKind::OpenParen) {
        let close = view.closer(at + 1)?;
        let text = match view.arguments(at + 1, close).as_slice() {
            [(from, to)] => argument(view, *from, *to),
            several => joined(view, several),
        };
        return found(view.line_end(close), text);
    }
    let value = matches!(
        view.kind(at + 1),
        TokenKind::Text | TokenKind::Quote | TokenKind::Name | TokenKind::Number
    );
    let ends = |next| matches!(view.kind(next), TokenKind::Period | TokenKind::Semicolon);
    let to = view.find_on_line(at, ends).unwrap_or(view.line_last(at) + 1);
    if value { found(view.line_end(at), argument(view, at + 1, to)) } else { None }
}

/// `a, b` as one text, where all are names.
fn joined(view: &View<'_>, parts: &[(usize, usize)]) -> Option<String> {
    let is_name = |part: &(usize, usize)| view.is(part.0, TokenKind::Name) && part.1 == part.0 + 1;
    let names = parts.iter().map(|part| format!("{{{}}}", view.text(part.0)));
    let text = names.collect::<Vec<String>>().join(" ");
    (!parts.is_empty() && parts.iter().all(is_name)).then(|| format!("\"{text}\""))
}

fn new_object(view: &View<'_>, at: usize) -> Option<Found> {
    let class = view.text(at + 1);
    let capital = class.starts_with(|c: char| c.is_ascii_uppercase());
    if !view.is_word(at, "new") || !capital || !view.on_same_line(at + 1) {
        return None;
    }
    let parts = vec![Some(class.to_owned())];
    Some(Found { span: view.span(at), end: view.line_end(at), parts, ..Found::default() })
}

/// `a.b(c)`, `'text'.length()`, `(a + b).c()`, `len(x)`.
fn method_call(view: &View<'_>, at: usize) -> Option<Found> {
    let name = method_name(view, at)?;
    let close = view.closer(name + 1)?;
    let arguments = view.arguments(name + 1, close);
    let (receiver, method) = match view.text(name).rsplit_once('.') {
        Some((receiver, method)) => (Some(receiver.to_owned()), method),
        None if name == at => (None, view.text(name)),
        None => (Some(receiver(view, at)), view.text(name)),
    };
    let message = MESSAGES.iter().find(|known| known.0 == method).map(|known| known.1);
    let mut words: Vec<String> = arguments
        .iter()
        .map(|(from, to)| argument(view, *from, *to).unwrap_or_else(|| "…".to_owned()))
        .collect();
    let text = match receiver {
        Some(receiver) => sent(&receiver, message.unwrap_or(method), &words),
        // A function of one value that is a message here.
        None if words.len() == 1 => format!("{} {}", words.remove(0), message?),
        None => return None,
    };
    let span = view.span(name);
    Some(Found { span, end: view.line_end(close), parts: vec![Some(text)], ..Found::default() })
}

/// The name before the parenthesis of a call whose receiver begins at a token.
fn method_name(view: &View<'_>, at: usize) -> Option<usize> {
    let is_call = |name: usize| {
        view.is(name, TokenKind::Name)
            && view.is(name + 1, TokenKind::OpenParen)
            && view.touches(name + 1)
    };
    if is_call(at) {
        return Some(at);
    }
    let is_value = matches!(
        view.kind(at),
        TokenKind::Text | TokenKind::Quote | TokenKind::CloseParen | TokenKind::CloseBracket
    );
    let dotted = view.is(at + 1, TokenKind::Period) && view.touches(at + 1) && view.touches(at + 2);
    (is_value && dotted && is_call(at + 2)).then_some(at + 2)
}

fn receiver(view: &View<'_>, at: usize) -> String {
    let text = match view.kind(at) {
        TokenKind::CloseParen | TokenKind::CloseBracket => None,
        _ => view.shown(at, at + 1),
    };
    text.unwrap_or_else(|| "(…)".to_owned())
}

/// A message with its arguments; what the parts behind the first are called is not known.
fn sent(receiver: &str, method: &str, arguments: &[String]) -> String {
    let mut text = format!("{receiver} {method}");
    for (at, argument) in arguments.iter().enumerate() {
        text.push_str(if at == 0 { ": " } else { " with: " });
        text.push_str(argument);
    }
    text
}

/// An argument in this language; `x => x * 2` is a block.
pub(super) fn argument(view: &View<'_>, from: usize, to: usize) -> Option<String> {
    if view.is_word(from + 1, "=>") {
        let body = view.shown(from + 2, to)?;
        return Some(format!("{{ :{} | {body} }}", view.text(from)));
    }
    let text = view.shown(from, to)?;
    let foreign = ["&&", "||", "!", "(", "`", "=>", "lambda"];
    (!foreign.iter().any(|mark| text.contains(mark))).then_some(text)
}

fn block_call(view: &View<'_>, at: usize) -> Option<Found> {
    let is_name = view.is(at, TokenKind::Name) && !view.text(at).contains('.');
    if !is_name || !view.is(at + 1, TokenKind::OpenParen) || !view.touches(at + 1) {
        return None;
    }
    let close = view.closer(at + 1)?;
    let arguments: Vec<String> = view
        .arguments(at + 1, close)
        .into_iter()
        .map(|(from, to)| {
            let shown = argument(view, from, to);
            format!("value: {}", shown.unwrap_or_else(|| "…".to_owned()))
        })
        .collect();
    let message = (!arguments.is_empty()).then(|| arguments.join(" "));
    let parts = vec![Some(view.text(at).to_owned()), message];
    Some(Found { span: view.span(at), end: view.line_end(close), parts, ..Found::default() })
}
