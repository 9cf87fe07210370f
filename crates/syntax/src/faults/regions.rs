//! Where the statements of a text begin, whatever is wrong before: the lines in the first column.

use super::scan::{CONTINUING, Line, scan};
use crate::{Diagnostic, Span, TokenKind};

/// Whether a fault is one of the characters of the whole text.
pub(super) fn is_of_all(fault: &Diagnostic) -> bool {
    fault.title == "an invisible control character"
}

/// The parts of the text that are read on their own, in order and without gaps.
pub(super) fn of(source: &str) -> Vec<Span> {
    let lines = scan(source, Span::new(0, source.len() as u32)).lines;
    let mut starts: Vec<u32> = vec![0];
    // The signature and the first statement are one region.
    let mut in_head = true;
    let mut depth = 0_i64;
    // In a body that is not indented: up to the end of its brackets.
    let mut flat = false;
    for (number, line) in lines.iter().enumerate() {
        let goes_on = number > 0 && goes_on(&lines[number - 1], line);
        if line.indent == 0 && begins(source, line) && !goes_on && !(flat && depth > 0) {
            if !in_head {
                starts.push(line.span.start);
            }
            (in_head, flat, depth) = (is_signature(line), false, 0);
        }
        for (kind, _) in &line.tokens {
            depth += i64::from(kind.closer().is_some()) - i64::from(kind.closes());
        }
        let opens = line.tokens.last().is_some_and(|(kind, _)| kind.closer().is_some());
        flat |= line.indent == 0 && opens && lines.get(number + 1).is_some_and(is_flat);
    }
    let ends = starts.iter().skip(1).copied().chain([source.len() as u32]);
    starts.iter().zip(ends).map(|(start, end)| Span::new(*start, end)).collect()
}

fn is_signature(line: &Line) -> bool {
    line.tokens.first().is_some_and(|(kind, _)| *kind == TokenKind::Signature)
}

/// Whether a line stands in the first column and closes nothing.
fn is_flat(line: &Line) -> bool {
    line.indent == 0 && !line.tokens.first().is_some_and(|(kind, _)| kind.closes())
}

/// Whether a line ends with something that wants a value, and the next one begins with one.
fn goes_on(line: &Line, next: &Line) -> bool {
    let wants = line.tokens.last().is_some_and(|(kind, _)| {
        matches!(kind, TokenKind::Operator | TokenKind::Comma | TokenKind::Assign | TokenKind::Bar)
    });
    let mut tokens = next.tokens.iter().map(|(kind, _)| *kind);
    let is_value = matches!(tokens.next(), Some(TokenKind::Number | TokenKind::Name));
    wants && is_value && tokens.next() != Some(TokenKind::Assign)
}

/// Whether a line in the first column begins a statement, and does not continue one.
fn begins(source: &str, line: &Line) -> bool {
    let Some((kind, span)) = line.tokens.first() else { return false };
    let after = source[span.end as usize..].chars().next();
    match kind {
        // `else`, but not `end := 3`.
        _ if CONTINUING.contains(&span.text(source).trim_end_matches(':')) => {
            line.tokens.get(1).is_some_and(|(kind, _)| *kind == TokenKind::Assign)
        }
        TokenKind::Name | TokenKind::Signature | TokenKind::Hash | TokenKind::Implicit => true,
        TokenKind::Caret | TokenKind::Number => true,
        TokenKind::Keyword => after.is_some_and(|c| !c.is_whitespace() && c != '('),
        TokenKind::Operator => span.text(source) == "!",
        _ => false,
    }
}
