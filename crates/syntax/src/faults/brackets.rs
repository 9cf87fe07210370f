//! Brackets that do not match: which one is missing, by the indentation of the lines.
//!
//! A line that opens a bracket and does not close it has a body that is indented more; the line
//! that closes it is indented as the one that opens it. In
//!
//! ```text
//! class A {
//!     -a { list do: { :x | x foo. }
//!     -b { 2 }
//! }
//! ```
//!
//! a brace of line 2 is never closed, although the brace of line 4 is the one that has no pair.

use super::scan::Line;
use crate::{Diagnostic, Span, TokenKind};

/// A bracket and its line.
#[derive(Clone, Copy)]
struct Bracket {
    /// The kind of the closing one.
    closer: TokenKind,
    span: Span,
    line: usize,
}

/// What is missing.
#[derive(Clone, Copy)]
enum Missing {
    /// The pair of an opening bracket, and a place before which it belongs.
    Closer(Bracket, Option<Span>),
    /// The pair of a closing bracket; it belongs on the line of this number.
    Opener(Bracket, usize),
}

/// The one message for a region whose brackets do not match.
pub(super) fn unbalanced(lines: &[Line], found: &[Diagnostic]) -> Option<Diagnostic> {
    let surplus = Surplus::of(lines)?;
    let first = found.first()?;
    let by_layout = unclosed_line(lines, &surplus).or_else(|| unopened_line(lines, &surplus));
    let Some(missing) = by_layout.or_else(|| by_pairs(lines, &surplus)) else {
        return Some(first.clone());
    };
    let line = match missing {
        Missing::Closer(open, _) => open.line,
        Missing::Opener(_, line) => line,
    };
    let start = lines[line].span.start;
    let end = lines.get(line + 1).map_or(u32::MAX, |next| next.span.start);
    let early = found.iter().find(|one| !is_of_bracket(one));
    if let Some(early) = early.filter(|one| one.label.span.start < start) {
        return Some(early.clone());
    }
    let on_line = found.iter().find(|one| (start..end).contains(&one.label.span.start));
    Some(on_line.cloned().unwrap_or_else(|| message(missing, lines)))
}

/// Whether the parser reports a bracket: its place depends on all that follows.
pub(super) fn is_of_bracket(fault: &Diagnostic) -> bool {
    fault.title.ends_with("is never closed") || fault.title.ends_with("closes nothing")
}

/// How many more brackets of each kind open than close.
struct Surplus([(TokenKind, i64); 3]);

impl Surplus {
    /// `None` when all match.
    fn of(lines: &[Line]) -> Option<Self> {
        let mut surplus = Surplus([
            (TokenKind::CloseParen, 0),
            (TokenKind::CloseBracket, 0),
            (TokenKind::CloseBrace, 0),
        ]);
        for (kind, _) in lines.iter().flat_map(|line| &line.tokens) {
            for (closer, count) in &mut surplus.0 {
                *count += i64::from(kind.closer() == Some(*closer));
                *count -= i64::from(kind == closer);
            }
        }
        surplus.0.iter().any(|(_, count)| *count != 0).then_some(surplus)
    }

    fn count(&self, closer: TokenKind) -> i64 {
        self.0.iter().find(|(kind, _)| *kind == closer).map_or(0, |(_, count)| *count)
    }

    fn too_few_closers(&self, bracket: &Bracket) -> bool {
        self.count(bracket.closer) > 0
    }

    fn too_few_openers(&self, bracket: &Bracket) -> bool {
        self.count(bracket.closer) < 0
    }
}

/// The brackets of one line that have no pair on it: closing ones with whether something stands
/// before them, and opening ones.
fn unpaired(lines: &[Line], number: usize) -> (Vec<(Bracket, bool)>, Vec<Bracket>) {
    let mut closing = Vec::new();
    let mut opening: Vec<Bracket> = Vec::new();
    let mut leading = true;
    for (kind, span) in &lines[number].tokens {
        if let Some(closer) = kind.closer() {
            opening.push(Bracket { closer, span: *span, line: number });
        } else if kind.closes() {
            let at = opening.iter().rposition(|open| open.closer == *kind);
            match at {
                Some(at) => drop(opening.remove(at)),
                None => {
                    let bracket = Bracket { closer: *kind, span: *span, line: number };
                    closing.push((bracket, !leading));
                }
            }
        }
        leading &= kind.closes();
    }
    (closing, opening)
}

/// A line with an open bracket and no body: the next line is not indented more.
fn unclosed_line(lines: &[Line], surplus: &Surplus) -> Option<Missing> {
    (0..lines.len()).find_map(|number| {
        let (_, opening) = unpaired(lines, number);
        let open = opening.into_iter().rfind(|open| surplus.too_few_closers(open))?;
        let line = &lines[number];
        let next = lines.get(number + 1)?;
        let closes = next.tokens.first().is_some_and(|(kind, _)| kind.closes());
        let has_body = next.indent > line.indent || (closes && next.indent == line.indent);
        (!has_body).then_some(Missing::Closer(open, Some(next.span)))
    })
}

/// A line that closes a bracket behind other things without opening it.
fn unopened_line(lines: &[Line], surplus: &Surplus) -> Option<Missing> {
    (0..lines.len()).find_map(|number| {
        let (closing, _) = unpaired(lines, number);
        let (bracket, _) =
            closing.into_iter().find(|(one, inside)| *inside && surplus.too_few_openers(one))?;
        Some(Missing::Opener(bracket, number))
    })
}

/// The first bracket that has a pair of another kind or indentation.
fn by_pairs(lines: &[Line], surplus: &Surplus) -> Option<Missing> {
    let mut open: Vec<Bracket> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        for (at, (kind, span)) in line.tokens.iter().enumerate() {
            let bracket = Bracket { closer: *kind, span: *span, line: number };
            if let Some(closer) = kind.closer() {
                open.push(Bracket { closer, ..bracket });
            } else if kind.closes() {
                let missing = close(&mut open, lines, bracket, at == 0);
                let fits = missing.filter(|missing| match missing {
                    Missing::Closer(one, _) => surplus.too_few_closers(one),
                    Missing::Opener(one, _) => surplus.too_few_openers(one),
                });
                if fits.is_some() {
                    return fits;
                }
            }
        }
    }
    open.first().map(|open| Missing::Closer(*open, None))
}

/// Closes a bracket; answers what is missing where its pair does not fit.
fn close(
    open: &mut Vec<Bracket>,
    lines: &[Line],
    bracket: Bracket,
    is_first: bool,
) -> Option<Missing> {
    let Some(at) = open.iter().rposition(|open| open.closer == bracket.closer) else {
        return Some(Missing::Opener(bracket, head(lines, bracket.line)));
    };
    if let Some(inner) = open.get(at + 1).copied() {
        open.truncate(at);
        return Some(Missing::Closer(inner, Some(bracket.span)));
    }
    let opened = open[at];
    let (indent, opened_indent) = (lines[bracket.line].indent, lines[opened.line].indent);
    if !is_first || opened.line == bracket.line || indent == opened_indent {
        open.truncate(at);
        return None;
    }
    if indent < opened_indent {
        let is_outer =
            |one: &Bracket| one.closer == bracket.closer && lines[one.line].indent <= indent;
        open.truncate(open.iter().rposition(is_outer).unwrap_or(at));
        return Some(Missing::Closer(opened, Some(bracket.span)));
    }
    Some(Missing::Opener(bracket, head(lines, bracket.line)))
}

/// The line above that is not indented more than a line: the one whose body ends there.
fn head(lines: &[Line], line: usize) -> usize {
    let above = (0..line).rev().find(|above| lines[*above].indent <= lines[line].indent);
    above.unwrap_or(line)
}

fn message(missing: Missing, lines: &[Line]) -> Diagnostic {
    let (Missing::Closer(bracket, _) | Missing::Opener(bracket, _)) = missing;
    let (name, opener, closer) = match bracket.closer {
        TokenKind::CloseBrace => ("brace", "{", "}"),
        TokenKind::CloseBracket => ("bracket", "[", "]"),
        _ => ("parenthesis", "(", ")"),
    };
    match missing {
        Missing::Closer(open, before) => {
            let title = format!("this {name} is never closed");
            let fault = Diagnostic::error(open.span, title, "opened here")
                .hint(format!("add `{closer}` where the part ends"));
            match before {
                Some(before) => fault.also(before, format!("expected `{closer}` before this")),
                None => fault,
            }
        }
        Missing::Opener(close, line) if line == close.line => {
            Diagnostic::error(close.span, format!("this `{closer}` closes nothing"), "here")
                .hint(format!("remove it, or write the `{opener}` that it should close"))
        }
        Missing::Opener(close, line) => {
            let title = format!("`{opener}` is missing in this line");
            Diagnostic::error(lines[line].span, title, format!("expected `{opener}` here"))
                .also(close.span, "this closes it")
                .hint(format!("write `{opener}` where the part begins, or remove `{closer}`"))
        }
    }
}
