//! Marks of other languages: operators, blocks, literals, declarations.

use super::habit::{Found, Habit};
use super::view::{FAR, View};
use crate::{Span, TokenKind};

/// Words before a declared variable.
const DECLARING: [&str; 11] =
    ["let", "const", "var", "val", "int", "float", "double", "string", "String", "bool", "auto"];

pub(super) const HABITS: &[Habit] = &[
    Habit {
        title: "a block stands in braces",
        label: "a block of another language",
        hint: "write `{ ‹0=:x | ›‹1=…› }`",
        find: bracket_block,
    },
    Habit {
        title: "a block stands in braces",
        label: "a function of another language",
        hint: "write `{ ‹0=:x | ›‹1=…› }`",
        find: arrow_function,
    },
    Habit {
        title: "a dictionary begins with `#{`",
        label: "a block begins here",
        hint: "write `#{ ‹0=key: value› }`",
        find: dictionary,
    },
    Habit {
        title: "there is no `? :`",
        label: "a condition is sent a message",
        hint: "write `‹0=condition› ifTrue: { ‹1=…› } ifFalse: { ‹2=…› }`",
        find: ternary,
    },
    Habit {
        title: "there is no `‹0=++›`",
        label: "not an operator",
        hint: "write `‹1=i› ← ‹1=i› ‹2=+› 1`",
        find: increment,
    },
    Habit {
        title: "there is no `‹0=||›`",
        label: "not an operator",
        hint: "the second condition is a block: `‹1=a› ‹3=or:› { ‹2=b› }`",
        find: logic,
    },
    Habit {
        title: "there is no `!` before a value",
        label: "not an operator",
        hint: "send the value a message: `‹0=x› not`",
        find: not,
    },
    Habit {
        title: "there is no `‹0=let›` with a value",
        label: "not a word of the language",
        hint: "a variable begins with its first value: `‹1=x› ← ‹2=…›`",
        find: declaration,
    },
    Habit {
        title: "`=` compares two values",
        label: "no value is assigned here",
        hint: "a variable gets its value by `←` or `:=`: `‹0=x› ← ‹1=…›`",
        find: assignment,
    },
    Habit {
        title: "a statement ends with a period",
        label: "a semicolon sends one more message",
        hint: "write `.` instead of `;`",
        find: semicolon,
    },
];

/// `[ :x | … ]`
fn bracket_block(view: &View<'_>, at: usize) -> Option<Found> {
    let named = view.is(at + 1, TokenKind::Colon) && view.is(at + 2, TokenKind::Name);
    if !view.is(at, TokenKind::OpenBracket) || !named {
        return None;
    }
    let close = view.closer(at);
    let bar = view.find_on_line(at, |next| view.is(next, TokenKind::Bar));
    let parameters = bar.and_then(|bar| view.shown(at + 1, bar + 1)).map(|text| text + " ");
    let body = bar.zip(close).and_then(|(bar, close)| view.shown(bar + 1, close));
    let end = close.map_or(view.line_end(at), |close| view.span(close).end);
    Some(Found { span: view.span(at), end, parts: vec![parameters, body], ..Found::default() })
}

/// `x => …`, `(a, b) => …`, `lambda x: …`
fn arrow_function(view: &View<'_>, at: usize) -> Option<Found> {
    let is_arrow = |at: usize| view.is_one_of(at, &["=>", "->"]);
    let (names, body) = if view.is_word(at, "lambda") {
        let colon = view.find_on_line(at, |next| view.text(next).ends_with(':'))?;
        let names: Vec<&str> = (at + 1..=colon)
            .map(|next| view.text(next).trim_end_matches(':'))
            .filter(|name| !name.is_empty() && *name != ",")
            .collect();
        (names, colon + 1)
    } else if view.is(at, TokenKind::OpenParen) {
        let close = view.closer(at).filter(|close| is_arrow(close + 1))?;
        let names = view.arguments(at, close).into_iter().map(|(from, _)| view.text(from));
        (names.collect(), close + 2)
    } else if view.is(at, TokenKind::Name) && view.is_word(at + 1, "=>") {
        (vec![view.text(at)], at + 2)
    } else {
        return None;
    };
    let parameters: String = names.iter().map(|name| format!(":{name} ")).collect();
    let parameters = if names.is_empty() { String::new() } else { format!("{parameters}| ") };
    let is_block = view.is(body, TokenKind::OpenBrace);
    let ends = |next| {
        view.kind(next).closes()
            || matches!(
                view.kind(next),
                TokenKind::Comma | TokenKind::Period | TokenKind::Semicolon
            )
    };
    let last = view.find_on_line(body - 1, ends).unwrap_or(view.line_last(at) + 1);
    let text = if is_block { None } else { super::calls::argument(view, body, last) };
    let end = view.body_end(at);
    let parts = vec![Some(parameters), text];
    Some(Found { span: view.span(at), end, parts, ..Found::default() })
}

/// `{ "a": 1 }`, `{ a: 1 }`
fn dictionary(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is(at, TokenKind::OpenBrace) || (view.touches(at) && at > 0) {
        return None;
    }
    let is_object = at > 1 && view.is(at - 2, TokenKind::Hash);
    let text = matches!(view.kind(at + 1), TokenKind::Text | TokenKind::Quote);
    let pair = (text && view.is(at + 2, TokenKind::Colon)) || is_key(view, at + 1);
    let close = view.closer(at)?;
    if is_object || !pair {
        return None;
    }
    let pairs = view.shown(at + 1, close).map(|pairs| pairs.replace("\": ", ": ").replace('"', ""));
    let pairs = pairs.filter(|pairs| !pairs.contains(['{', '[']));
    let end = view.line_end(close);
    Some(Found { span: view.span(at), end, parts: vec![pairs], ..Found::default() })
}

/// `a: 1,` or `a: 1 }`
fn is_key(view: &View<'_>, at: usize) -> bool {
    let ends = |next| matches!(view.kind(next), TokenKind::Comma | TokenKind::CloseBrace);
    view.is(at, TokenKind::Keyword) && ends(at + 2)
}

fn ternary(view: &View<'_>, at: usize) -> Option<Found> {
    // In `/path?:parameter` and `<int?>` it touches what stands before.
    if !view.is(at, TokenKind::Question) || !view.on_same_line(at + 1) || view.touches(at) {
        return None;
    }
    let colon = view.find_on_line(at + 1, |next| {
        view.text(next).ends_with(':') && view.on_same_line(next + 1)
    })?;
    let from = operand_start(view, at);
    let last = operand_end(view, colon);
    // In `a ? b: c` the colon belongs to a keyword.
    let first = match view.is(colon, TokenKind::Keyword) {
        true => view.shown(at + 1, colon + 1).map(|text| text.trim_end_matches(':').to_owned()),
        false => view.shown(at + 1, colon),
    };
    let parts = vec![view.shown(from, at), first, view.shown(colon + 1, last)];
    Some(Found { span: view.span(at), end: view.line_end(at), parts, ..Found::default() })
}

/// The token where the operand before a token begins.
fn operand_start(view: &View<'_>, at: usize) -> usize {
    let mut from = at;
    let mut depth = 0_u32;
    while from > 0 && at - from < FAR && view.on_same_line(from) {
        let before = from - 1;
        match view.kind(before) {
            kind if kind.closes() => depth += 1,
            kind if kind.closer().is_some() && depth == 0 => break,
            kind if kind.closer().is_some() => depth -= 1,
            TokenKind::Assign
            | TokenKind::Keyword
            | TokenKind::Period
            | TokenKind::Semicolon
            | TokenKind::Comma
            | TokenKind::Caret
            | TokenKind::Bar
                if depth == 0 =>
            {
                break;
            }
            _ if depth == 0 && view.is_one_of(before, &["=", "&&"]) => break,
            _ => {}
        }
        from = before;
    }
    from
}

/// Behind the last token of the operand behind a token.
fn operand_end(view: &View<'_>, at: usize) -> usize {
    let mut depth = 0_u32;
    for next in at + 1..=view.line_last(at).min(at + FAR) {
        match view.kind(next) {
            kind if kind.closes() && depth == 0 => return next,
            kind if kind.closes() => depth -= 1,
            kind if kind.closer().is_some() => depth += 1,
            TokenKind::Period
            | TokenKind::Semicolon
            | TokenKind::Comma
            | TokenKind::Keyword
            | TokenKind::Bar
                if depth == 0 =>
            {
                return next;
            }
            _ if depth == 0 && view.is_word(next, "&&") => return next,
            _ => {}
        }
    }
    view.line_last(at) + 1
}

fn increment(view: &View<'_>, at: usize) -> Option<Found> {
    let double = view.is_word(at + 1, "-") && view.is_word(at + 2, "-") && view.touches(at + 2);
    let last = at + 1 + usize::from(double);
    if !view.is(at, TokenKind::Name) || !(double || view.is_one_of(at + 1, &["++", "--"])) {
        return None;
    }
    let ends = !view.on_same_line(last + 1)
        || matches!(view.kind(last + 1), TokenKind::Period | TokenKind::Semicolon)
        || view.kind(last + 1).closes();
    let span = Span::new(view.span(at + 1).start, view.span(last).end);
    let operator = span.text(view.source());
    let parts = [operator, view.text(at), &operator[..1]].map(|part| Some(part.to_owned()));
    // The fault may show on the next line only, where the operand is missing.
    let until = view.line_end(view.line_last(at) + 1);
    ends.then(|| Found { span, end: view.line_end(at), parts: parts.to_vec(), until })
}

fn logic(view: &View<'_>, at: usize) -> Option<Found> {
    let bars =
        view.is(at, TokenKind::Bar) && view.is(at + 1, TokenKind::Bar) && view.touches(at + 1);
    if !bars && !view.is_word(at, "&&") {
        return None;
    }
    let last = at + usize::from(bars);
    let from = operand_start(view, at);
    let operand = |from, to| super::calls::argument(view, from, to);
    let message = if bars { "or:" } else { "and:" };
    let span = Span::new(view.span(at).start, view.span(last).end);
    let parts = vec![
        Some(span.text(view.source()).to_owned()),
        operand(from, at),
        operand(last + 1, operand_end(view, last)),
        Some(message.to_owned()),
    ];
    Some(Found { span, end: view.line_end(at), parts, ..Found::default() })
}

fn not(view: &View<'_>, at: usize) -> Option<Found> {
    let is_operand = matches!(view.kind(at + 1), TokenKind::Name | TokenKind::OpenParen);
    if !view.is_word(at, "!") || !is_operand || !view.touches(at + 1) {
        return None;
    }
    let last = match view.is(at + 1, TokenKind::OpenParen) {
        true => view.closer(at + 1)? + 1,
        false => at + 2,
    };
    let parts = vec![view.shown(at + 1, last)];
    Some(Found { span: view.span(at), end: view.line_end(at), parts, ..Found::default() })
}

fn is_equal(view: &View<'_>, at: usize) -> bool {
    view.is(at, TokenKind::Assign) || view.is_word(at, "=")
}

fn declaration(view: &View<'_>, at: usize) -> Option<Found> {
    // In a class, `var name ← value.` is right.
    let is_equal = match view.is_word(at, "var") {
        true => view.is_word(at + 2, "="),
        false => is_equal(view, at + 2),
    };
    let is_declared = view.is(at + 1, TokenKind::Name) && is_equal;
    if !view.is_one_of(at, &DECLARING) || !view.begins(at) || !is_declared {
        return None;
    }
    let value = super::calls::argument(view, at + 3, operand_end(view, at + 2));
    let word = view.text(at);
    let parts = vec![Some(word.to_owned()), Some(view.text(at + 1).to_owned()), value];
    let until = view.line_end(view.line_last(at) + 1);
    Some(Found { span: view.span(at), end: view.line_end(at), parts, until })
}

/// `x = 3` where the line has a fault.
fn assignment(view: &View<'_>, at: usize) -> Option<Found> {
    let is_name = view.is(at, TokenKind::Name) && view.begins(at);
    if !is_name || !view.is_word(at + 1, "=") || !view.is(view.line_last(at), TokenKind::Semicolon)
    {
        return None;
    }
    let value = super::calls::argument(view, at + 2, operand_end(view, at + 1));
    let parts = vec![Some(view.text(at).to_owned()), value];
    let until = view.line_end(view.line_last(at) + 1);
    Some(Found { span: view.span(at + 1), end: view.line_end(at), parts, until })
}

/// A semicolon at the end of a line.
fn semicolon(view: &View<'_>, at: usize) -> Option<Found> {
    let is_last = view.line_last(at) == at || view.is(at + 1, TokenKind::CloseBrace);
    if !view.is(at, TokenKind::Semicolon) || !is_last {
        return None;
    }
    let until = view.line_end(view.line_last(at) + 1);
    Some(Found { span: view.span(at), end: view.line_end(at), parts: Vec::new(), until })
}
