//! Statements of other languages: conditions, loops, functions, classes.

use super::habit::{Found, Habit};
use super::view::View;
use crate::TokenKind;
use crate::faults::scan::CONTINUING;

/// Words for functions.
const FUNCTIONS: [&str; 6] = ["function", "func", "fn", "fun", "def", "sub"];
/// Words before a member of a class.
const MODIFIERS: [&str; 6] = ["public", "private", "protected", "static", "abstract", "override"];
/// Names of constructors.
const CONSTRUCTORS: [&str; 4] = ["constructor", "__init__", "init", "initialize"];

pub(super) const HABITS: &[Habit] = &[
    Habit {
        title: "there is no `if` statement",
        label: "a condition is a value here",
        hint: "send the condition a message: `‹0=condition› ifTrue: { … }‹1=›`",
        find: condition,
    },
    Habit {
        title: "there is no `‹0=else›`",
        label: "not a word of the language",
        hint: "both blocks are in one message: `x > 2 ifTrue: { … } ifFalse: { … }`",
        find: alternative,
    },
    Habit {
        title: "there is no `‹0=while›` statement",
        label: "a loop is a message here",
        hint: "send the condition, in a block, a message: `{ ‹1=condition› } ‹2=whileTrue:› { … }`",
        find: while_loop,
    },
    Habit {
        title: "there is no `‹2=for›` statement",
        label: "a loop is a message here",
        hint: "a collection visits its elements: `‹1=list› do: { :‹0=x› | … }`",
        find: for_each,
    },
    Habit {
        title: "there is no `for` statement",
        label: "a loop is a message here",
        hint: "a range visits its numbers: `‹0=1› to: ‹1=…› do: { :‹2=i› | … }`",
        find: for_range,
    },
    Habit {
        title: "there is no `return`",
        label: "not a word of the language",
        hint: "write `^ ‹0=value›`; without it a block answers its last value",
        find: return_value,
    },
    Habit {
        title: "a class has no constructor",
        label: "not a member of a class",
        hint: "declare the variables, `‹0=var name.›`, and make objects with `#‹1=Task›{ ‹2=name: …› }`",
        find: constructor,
    },
    Habit {
        title: "a method begins with a minus sign",
        label: "a method of another language",
        hint: "write `-‹0=name: value› { … }`",
        find: method,
    },
    Habit {
        title: "there is no `‹0=function›`",
        label: "not a word of the language",
        hint: "give a block a name, `‹1=f› ← { ‹2=:a | ›… }`, and call it with `‹1=f› ‹3=value: …›`",
        find: function,
    },
    Habit {
        title: "there is no `‹0=import›`",
        label: "not a word of the language",
        hint: "a reference loads another program: `ref:file:‹1=name›.st load`",
        find: import,
    },
    Habit {
        title: "there is no `try` statement",
        label: "a block handles its own errors",
        hint: "write `{ … } onError: { :error | … }`, and `{ … } ensure: { … }` for what always runs",
        find: try_catch,
    },
    Habit {
        title: "there is no `‹0=throw›`",
        label: "not a word of the language",
        hint: "send the class a message: `Error signal: ‹1='…'›`",
        find: throw,
    },
    Habit {
        title: "there is no `‹0=switch›` statement",
        label: "a condition is a value here",
        hint: "compare one value after the other: `‹1=value› = 1 ifTrue: { … } ifFalse: { … }`",
        find: switch,
    },
    Habit {
        title: "there is no `extends`",
        label: "not a word of the language",
        hint: "the superclass stands behind a colon: `class ‹0=Name› : ‹1=Base› { … }`",
        find: extends,
    },
    Habit {
        title: "the members of a class stand in braces",
        label: "expected `{ … }`",
        hint: "write `class ‹0=Name›‹1=› { var name. -method { … } }`",
        find: class_head,
    },
    Habit {
        title: "there is no `‹0=public›`",
        label: "not a word of the language",
        hint: "leave it out: a variable is declared by `var name.`, a method by `-name { … }`",
        find: modifier,
    },
    Habit {
        title: "there is no `‹0=await›`",
        label: "not a word of the language",
        hint: "leave it out: a message that waits lets other tasks run",
        find: await_word,
    },
];

/// A condition up to its body: in parentheses, or up to a brace, `:`, `then` or the line end.
fn head(view: &View<'_>, at: usize) -> Option<(usize, usize)> {
    if !view.on_same_line(at + 1) || view.is(at + 1, TokenKind::Assign) {
        return None;
    }
    if view.is(at + 1, TokenKind::OpenParen)
        && let Some(close) = view.closer(at + 1)
        && (close == view.line_last(at) || !is_operator(view, close + 1))
    {
        return Some((at + 2, close));
    }
    let ends = |next: usize| {
        view.is(next, TokenKind::OpenBrace)
            || view.is(next, TokenKind::Colon)
            || view.is_one_of(next, &["then", "do"])
            || (view.is(next, TokenKind::Keyword) && next == view.line_last(at))
    };
    Some((at + 1, view.find_on_line(at, ends).unwrap_or(view.line_last(at) + 1)))
}

fn is_operator(view: &View<'_>, at: usize) -> bool {
    view.is(at, TokenKind::Operator) || view.is(at, TokenKind::Bar)
}

/// A condition for a message: not one with marks that the language does not have.
fn shown_condition(view: &View<'_>, (from, to): (usize, usize)) -> Option<String> {
    let text = view.shown(from, to)?;
    let foreign = ["&&", "||", "!", "(", "`", ".", " and ", " or ", "not "];
    (!foreign.iter().any(|mark| text.contains(mark))).then_some(text)
}

fn word(view: &View<'_>, at: usize, end: u32, mut parts: Vec<Option<String>>) -> Found {
    parts.insert(0, Some(view.text(at).trim_end_matches(':').to_owned()));
    Found { span: view.span(at), end, parts, ..Found::default() }
}

fn condition(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["if", "unless"]) || !view.begins(at) {
        return None;
    }
    let condition = shown_condition(view, head(view, at)?);
    let end = view.body_end(at);
    let has_else = (at..view.count())
        .take_while(|next| view.span(*next).start < end)
        .any(|next| CONTINUING[..4].contains(&view.text(next).trim_end_matches(':')));
    let other = has_else.then(|| " ifFalse: { … }".to_owned());
    Some(Found { span: view.span(at), end, parts: vec![condition, other], ..Found::default() })
}

fn alternative(view: &View<'_>, at: usize) -> Option<Found> {
    let text = view.text(at).trim_end_matches(':');
    if !CONTINUING[..4].contains(&text) || !view.begins(at) || view.is(at + 1, TokenKind::Assign) {
        return None;
    }
    Some(word(view, at, view.body_end(at), Vec::new()))
}

fn while_loop(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["while", "until"]) || !view.begins(at) {
        return None;
    }
    let condition = shown_condition(view, head(view, at)?);
    let message = if view.is_word(at, "until") { "whileFalse:" } else { "whileTrue:" };
    Some(word(view, at, view.body_end(at), vec![condition, Some(message.to_owned())]))
}

/// `for x in xs`, `for (const x of xs)`, `foreach (xs as x)`.
fn for_each(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["for", "foreach"]) || !view.begins(at) {
        return None;
    }
    let of = view.find_on_line(at, |next| view.is_one_of(next, &["in", "of", "as"]))?;
    let (_, to) = head(view, at)?;
    let end = view.body_end(at);
    let word = Some(view.text(at).to_owned());
    let (mut name, mut list) = (view.text(of - 1), (of + 1, to));
    if view.is_word(of, "as") {
        list = (at + 2, of);
        name = view.text(of + 1).trim_start_matches('$');
    }
    let list = shown_condition(view, list).filter(|list| !list.contains(' '));
    let list = list.map(|list| list.trim_start_matches('$').to_owned());
    if view.is_word(of + 1, "range") || view.text(of + 1).contains("..") {
        return None;
    }
    Some(Found {
        span: view.span(at),
        end,
        parts: vec![Some(name.to_owned()), list, word],
        ..Found::default()
    })
}

/// `for (let i = 0; i < 10; i++)`, `for i in range(10)`.
fn for_range(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_word(at, "for") || !view.begins(at) || !view.on_same_line(at + 1) {
        return None;
    }
    let end = view.body_end(at);
    let text = |at: Option<usize>| at.map(|at| view.text(at).to_owned());
    let found = |name, from, to| {
        Some(Found { span: view.span(at), end, parts: vec![from, to, name], ..Found::default() })
    };
    if let Some(of) = view.find_on_line(at, |next| view.is_word(next, "in")) {
        let range = view.is_word(of + 1, "range") && view.is(of + 2, TokenKind::OpenParen);
        let numbers = match view.closer(of + 2).filter(|_| range) {
            Some(close) => view.arguments(of + 2, close),
            None => Vec::new(),
        };
        let number =
            |part: Option<&(usize, usize)>| part.and_then(|part| view.shown(part.0, part.1));
        return match numbers.len() {
            1 => found(text(Some(of - 1)), Some("0".into()), below(number(numbers.first()))),
            _ => found(text(Some(of - 1)), number(numbers.first()), below(number(numbers.get(1)))),
        };
    }
    let equal = view.find_on_line(at, |next| view.is_one_of(next, &["=", ":="]))?;
    let less = view.find_on_line(at, |next| view.is_one_of(next, &["<", "<="]));
    let most = less.filter(|less| view.is_word(*less, "<=")).map(|less| less + 1);
    let limit = less.filter(|less| view.is_word(*less, "<")).map(|less| less + 1);
    found(text(Some(equal - 1)), text(Some(equal + 1)), text(most).or(below(text(limit))))
}

/// The last number below a limit.
fn below(limit: Option<String>) -> Option<String> {
    limit.map(|limit| match limit.parse::<u64>() {
        Ok(number) => number.saturating_sub(1).to_string(),
        Err(_) => format!("({limit} - 1)"),
    })
}

fn return_value(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_word(at, "return") || !view.begins(at) || view.is(at + 1, TokenKind::Assign) {
        return None;
    }
    let ends = |next: usize| {
        matches!(view.kind(next), TokenKind::Semicolon | TokenKind::Period)
            || view.is(next, TokenKind::CloseBrace)
    };
    let end = view.find_on_line(at, ends).unwrap_or(view.line_last(at) + 1);
    let value = shown_condition(view, (at + 1, end));
    let extent = view.line_end(at);
    Some(Found { span: view.span(at), end: extent, parts: vec![value], ..Found::default() })
}

/// The name and the parameters of `name(a, b) {`, `name(a, b):`.
fn declared(view: &View<'_>, name: usize) -> Option<(Vec<String>, usize)> {
    match view.is(name, TokenKind::Name) && view.is(name + 1, TokenKind::OpenParen) {
        true => parameters(view, name + 1),
        false => None,
    }
}

/// The names between the parenthesis at a token and its pair.
fn parameters(view: &View<'_>, open: usize) -> Option<(Vec<String>, usize)> {
    let close = view.closer(open)?;
    let parameters = view.arguments(open, close).into_iter().map(|(from, to)| {
        // `a`, `a: int`, `int a`, `a = 3`
        let typed = view.is(from, TokenKind::Name) && view.is(from + 1, TokenKind::Name);
        let at = if typed && from + 1 < to { from + 1 } else { from };
        view.text(at).trim_end_matches(':').to_owned()
    });
    Some((parameters.filter(|name| !matches!(name.as_str(), "self" | "this")).collect(), close))
}

/// `name: a with: b`
fn selector(name: &str, parameters: &[String]) -> String {
    let mut selector = name.to_owned();
    for (at, parameter) in parameters.iter().enumerate() {
        let part = if at == 0 { ": " } else { " with: " };
        selector.push_str(part);
        selector.push_str(parameter);
    }
    selector
}

fn is_in_class(view: &View<'_>) -> bool {
    view.is_word(0, "class")
}

fn has_body(view: &View<'_>, close: usize) -> bool {
    let after = close + 1;
    let typed = view.find_on_line(close, |next| view.is(next, TokenKind::OpenBrace));
    view.is(after, TokenKind::OpenBrace) || view.is(after, TokenKind::Colon) || typed.is_some()
}

fn constructor(view: &View<'_>, at: usize) -> Option<Found> {
    let name = at + usize::from(view.is_one_of(at, &FUNCTIONS));
    if !is_in_class(view) || !view.begins(at) || !view.is_one_of(name, &CONSTRUCTORS) {
        return None;
    }
    let (parameters, close) = declared(view, name)?;
    if !has_body(view, close) {
        return None;
    }
    let declarations: Vec<String> = parameters.iter().map(|name| format!("var {name}.")).collect();
    let pairs: Vec<String> = parameters.iter().map(|name| format!("{name}: …")).collect();
    let some = |parts: Vec<String>, by: &str| (!parts.is_empty()).then(|| parts.join(by));
    let class = Some(view.text(1).trim_end_matches(':').to_owned());
    let parts = vec![some(declarations, " "), class, some(pairs, ", ")];
    Some(Found { span: view.span(name), end: view.body_end(at), parts, ..Found::default() })
}

/// `name(a) {` in a class, with or without a word before.
fn method(view: &View<'_>, at: usize) -> Option<Found> {
    let is_function = view.is_one_of(at, &FUNCTIONS);
    let name = at + usize::from(is_function);
    if !is_in_class(view) || !view.begins(at) || view.is_one_of(name, &["if", "while", "for"]) {
        return None;
    }
    let (parameters, close) = declared(view, name)?;
    if !has_body(view, close) {
        return None;
    }
    let head = selector(view.text(name), &parameters);
    Some(Found {
        span: view.span(at),
        end: view.body_end(at),
        parts: vec![Some(head)],
        ..Found::default()
    })
}

/// Puts the parameters of a block and the message that calls it behind its name.
fn add_parameters(parts: &mut [Option<String>], parameters: &[String]) {
    if !parameters.is_empty() {
        let names: String = parameters.iter().map(|name| format!(":{name} ")).collect();
        parts[1] = Some(format!("{names}| "));
        parts[2] = Some(vec!["value: …"; parameters.len()].join(" "));
    }
}

fn function(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &FUNCTIONS) || !view.on_same_line(at + 1) {
        return None;
    }
    let mut parts = vec![None, Some(String::new()), Some("value".to_owned())];
    if let Some((parameters, _)) = declared(view, at + 1) {
        parts[0] = Some(view.text(at + 1).to_owned());
        add_parameters(&mut parts, &parameters);
    } else if view.is(at + 1, TokenKind::OpenParen) {
        // `f = function(a) { … }`
        let is_value = at > 1 && (view.is(at - 1, TokenKind::Assign) || view.is_word(at - 1, "="));
        parts[0] = is_value.then(|| view.text(at - 2).to_owned());
        add_parameters(&mut parts, &parameters(view, at + 1)?.0);
    } else {
        return None;
    }
    Some(word(view, at, view.body_end(at), parts))
}

fn import(view: &View<'_>, at: usize) -> Option<Found> {
    let words = ["import", "require", "from", "use", "using", "include"];
    if !view.is_one_of(at, &words) || !(view.begins(at) || view.is_word(at, "require")) {
        return None;
    }
    let name = at + 1 + usize::from(view.is(at + 1, TokenKind::OpenParen));
    let is_name = matches!(view.kind(name), TokenKind::Name | TokenKind::Text | TokenKind::Quote);
    if !view.on_same_line(at + 1) || !is_name {
        return None;
    }
    let is_file = !view.is(name, TokenKind::Name);
    let name = match view.is(name, TokenKind::Quote) {
        true => view.text(name).trim_matches('"'),
        false => view.text(name).trim_matches('\''),
    };
    // The stem of a file, or the last part of a module.
    let name = name.rsplit('/').next().unwrap_or(name);
    let part = if is_file { name.split('.').next() } else { name.rsplit('.').next() };
    let name = part.filter(|name| !name.is_empty()).map(str::to_owned);
    Some(word(view, at, view.line_end(at), vec![name]))
}

fn try_catch(view: &View<'_>, at: usize) -> Option<Found> {
    let opens = view.is_word(at, "try:")
        || (view.is_word(at, "try") && view.is(at + 1, TokenKind::OpenBrace));
    (opens && view.begins(at)).then(|| Found {
        span: view.span(at),
        end: view.body_end(at),
        ..Found::default()
    })
}

fn throw(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["throw", "raise"]) || !view.begins(at) || !view.on_same_line(at + 1) {
        return None;
    }
    let text = |next: usize| matches!(view.kind(next), TokenKind::Text | TokenKind::Quote);
    let text = view.find_on_line(at, text).map(|text| view.text(text).to_owned());
    Some(word(view, at, view.line_end(at), vec![text]))
}

fn switch(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["switch", "match", "case"]) || !view.begins(at) {
        return None;
    }
    let head = head(view, at)?;
    if !view.is(view.line_last(at), TokenKind::OpenBrace) && !view.is_word(at, "case") {
        return None;
    }
    Some(word(view, at, view.body_end(at), vec![shown_condition(view, head)]))
}

fn extends(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_word(at, "extends") || !view.is_word(at.checked_sub(2)?, "class") {
        return None;
    }
    let parts = vec![Some(view.text(at - 1).to_owned()), Some(view.text(at + 1).to_owned())];
    Some(Found { span: view.span(at), end: view.body_end(at), parts, ..Found::default() })
}

/// `class Name:`, `class Name(Base):`
fn class_head(view: &View<'_>, at: usize) -> Option<Found> {
    let name = at + 1;
    let last = view.line_last(at);
    let ends =
        view.is(last, TokenKind::Colon) || (last == name && view.is(last, TokenKind::Keyword));
    if !view.is_word(at, "class") || !view.begins(at) || !ends || !view.on_same_line(name) {
        return None;
    }
    let is_base = view.is(at + 2, TokenKind::OpenParen) && view.is(at + 3, TokenKind::Name);
    let base = is_base.then(|| format!(" : {}", view.text(at + 3)));
    let name = Some(view.text(name).trim_end_matches(':').to_owned());
    Some(Found {
        span: view.span(at),
        end: view.body_end(at),
        parts: vec![name, base],
        ..Found::default()
    })
}

fn modifier(view: &View<'_>, at: usize) -> Option<Found> {
    let is_member = view.is(at + 1, TokenKind::Name) && view.on_same_line(at + 1);
    if !view.is_one_of(at, &MODIFIERS) || !view.begins(at) || !is_member {
        return None;
    }
    Some(word(view, at, view.body_end(at), Vec::new()))
}

fn await_word(view: &View<'_>, at: usize) -> Option<Found> {
    if !view.is_one_of(at, &["await", "async", "yield"]) || !view.on_same_line(at + 1) {
        return None;
    }
    let is_value = view.begins(at)
        || matches!(view.kind(at - 1), TokenKind::Assign)
        || view.is_word(at - 1, "=");
    is_value.then(|| word(view, at, view.body_end(at), Vec::new()))
}
