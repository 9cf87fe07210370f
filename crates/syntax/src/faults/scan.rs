//! The tokens of a text line by line, without reading its meaning.
//!
//! A text may go over lines. Where its quotes are out of step, it ends with its line here, so that
//! one forgotten quote does not turn the rest of the program inside out.

use crate::lexer::{Lexer, line_end, text_length};
use crate::parser::quoted_length;
use crate::{Span, TokenKind};

/// Words that continue a statement of another language at the start of a line.
pub(super) const CONTINUING: [&str; 9] =
    ["else", "elif", "elsif", "elseif", "catch", "except", "finally", "end", "endif"];

/// A text whose quotes are out of step.
#[derive(Clone, Copy)]
pub(super) struct BrokenText {
    /// Its opening quote.
    pub(super) quote: Span,
    /// The quote looks like the end of a text whose beginning is missing.
    pub(super) closes: bool,
}

/// A line that begins outside of texts and has tokens on it.
pub(super) struct Line {
    /// From its first token on.
    pub(super) span: Span,
    /// Its indentation, in characters.
    pub(super) indent: usize,
    /// Its tokens; texts are one each.
    pub(super) tokens: Vec<(TokenKind, Span)>,
}

/// The lines of a region, and its first text that is out of step.
pub(super) struct Scan {
    pub(super) lines: Vec<Line>,
    pub(super) broken: Option<BrokenText>,
}

/// Scans a region. Takes time in proportion to its length: from the first text of its kind that
/// never ends or is out of step, a text ends on its line.
pub(super) fn scan(source: &str, region: Span) -> Scan {
    let source = &source[..region.end as usize];
    let lexer = Lexer::new(source);
    let mut result = Scan { lines: Vec::new(), broken: None };
    let mut ends_on_line = Vec::new();
    let mut at = region.start;
    let mut begins = true;
    loop {
        let mut next = lexer.next(at, &mut Vec::new());
        if next.kind == TokenKind::End {
            return result;
        }
        if begins || next.newline {
            begins = false;
            result.lines.push(line(source, next.span.start));
        }
        if matches!(next.kind, TokenKind::Text | TokenKind::Quote) {
            let start = next.span.start as usize;
            let length = text(source, start, ends_on_line.contains(&next.kind));
            next.span.end = length.map_or(line_end(source, start), |length| start + length) as u32;
            if length.is_none() {
                ends_on_line.push(next.kind);
                let width = source[start..].chars().next().map_or(1, char::len_utf8);
                let quote = Span::new(start as u32, (start + width) as u32);
                let closes = !opens(source, start);
                result.broken.get_or_insert(BrokenText { quote, closes });
            }
        }
        if let Some(line) = result.lines.last_mut() {
            line.span.end = next.span.end;
            line.tokens.push((next.kind, next.span));
        }
        at = next.span.end;
    }
}

/// The length of the text at the place; `None` when it does not end, or is out of step.
fn text(source: &str, start: usize, on_line: bool) -> Option<usize> {
    let end = if on_line { line_end(source, start) } else { source.len() };
    let text = &source[start..end];
    let length = match text.starts_with('"') {
        true => quoted_length(text),
        false => text_length(text),
    }?;
    let is_sound = !text[..length].contains('\n') || is_in_step(source, start, length);
    is_sound.then_some(length)
}

fn line(source: &str, start: u32) -> Line {
    let before = source[..start as usize].rsplit('\n').next().unwrap_or("");
    Line { span: Span::new(start, start), indent: before.chars().count(), tokens: Vec::new() }
}

/// Whether a quote at the place can open a text.
fn opens(source: &str, at: usize) -> bool {
    let before = source[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "([{#:,<=>+*/|-←".contains(c))
}

/// Whether a text that goes over lines begins and ends where a text can.
fn is_in_step(source: &str, start: usize, length: usize) -> bool {
    let end = start + length;
    let after = source[end..].chars().next();
    let last = &source[..end - 1];
    let ends_word = !last.ends_with(|c: char| c == ' ' || "([{:".contains(c))
        || crate::lexer::begins_line(source, end - 1);
    opens(source, start) && ends_word && after.is_none_or(|c| !c.is_alphanumeric() && c != '\'')
}
